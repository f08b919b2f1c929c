package realstore

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// TLS makes a server use only TLS.
type TLS struct {
	// Authority signs the server's certificate. Required.
	Authority *issuer.Authority
	// Host is the host that the certificate is for. Empty means 127.0.0.1.
	Host string
	// Mutual requires clients to show a certificate of the same authority.
	Mutual bool
}

// The files of a server, in its folder.
const (
	serverBase    = "server" // server.pem and server-key.pem
	authorityBase = "authority"
)

func certFile(folder string) string { return filepath.Join(folder, serverBase+".pem") }
func keyFile(folder string) string  { return filepath.Join(folder, serverBase+"-key.pem") }
func caFile(folder string) string   { return filepath.Join(folder, authorityBase+".pem") }

// hbaFile says who may come to a PostgreSQL, and how.
func hbaFile(folder string) string { return filepath.Join(folder, "hba.conf") }

func (s *TLS) host() string { return cmp.Or(s.Host, "127.0.0.1") }

// write writes what a server needs into its folder, for the user that it runs as.
func (s *TLS) write(folder string, user, group int) error {
	certificate, err := s.Authority.Issue(issuer.Request{Hosts: []string{s.host()}, Member: true})
	if err != nil {
		return err
	}
	if _, err := certificate.Write(folder, serverBase); err != nil {
		return err
	}
	if _, err := s.Authority.Write(folder, authorityBase); err != nil {
		return err
	}
	rule := "hostssl all all 127.0.0.1/32 trust"
	if s.Mutual {
		rule += " clientcert=verify-ca"
	}
	if err := os.WriteFile(hbaFile(folder), []byte(rule+"\n"), 0o600); err != nil {
		return fmt.Errorf("say who may come to the server: %w", err)
	}
	for _, file := range []string{certFile(folder), keyFile(folder), caFile(folder), hbaFile(folder)} {
		if user == 0 {
			break
		}
		if err := os.Chown(file, user, group); err != nil {
			return fmt.Errorf("give the server its certificate: %w", err)
		}
	}
	return nil
}

// clientConfig is how a server is asked whether it serves.
func (s *TLS) clientConfig(t testing.TB) *tls.Config {
	t.Helper()
	certificate, err := s.Authority.Issue(issuer.Request{Name: "realstore"})
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: s.Authority.Pool(), ServerName: s.host(), Certificates: []tls.Certificate{certificate.TLS()}}
}
