package target

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// material has the certificates of one run, of an authority that ends with it.
type material struct {
	folder    string
	authority *issuer.Authority
	ca        string // file of its certificate
	client    *tls.Config
}

// encryption makes the run's certificates on first use.
func (b *Harness) encryption() (*material, error) {
	if b.material != nil {
		return b.material, nil
	}
	m := &material{folder: b.fresh("tls")}
	if err := os.Mkdir(m.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for certificates: %w", err)
	}
	var err error
	if m.authority, err = issuer.New("holdfast bench"); err != nil {
		return nil, err
	}
	if m.ca, err = m.authority.Write(m.folder, "ca"); err != nil {
		return nil, err
	}
	own, err := m.authority.Issue(issuer.Request{Name: "bench"})
	if err != nil {
		return nil, err
	}
	m.client = &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: m.authority.Pool(), Certificates: []tls.Certificate{own.TLS()}}
	b.material = m
	return m, nil
}

// certificate makes the files of a server's certificate, and returns the path of its authority's.
func (b *Harness) certificate(name string) (files issuer.Files, ca string, err error) {
	m, err := b.encryption()
	if err != nil {
		return files, "", err
	}
	issued, err := m.authority.Issue(issuer.Request{Name: name, Hosts: []string{"127.0.0.1"}, Member: true})
	if err != nil {
		return files, "", err
	}
	files, err = issued.Write(m.folder, name)
	return files, m.ca, err
}

// mutual returns a listener's configuration with a certificate that also requires one.
func mutual(cert, key, ca string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("load a certificate: %w", err)
	}
	trusted, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("load an authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("load an authority: %s has no certificate", ca)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
