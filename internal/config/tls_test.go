package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files are the paths of a certificate and its key.
type files struct{ cert, key string }

// material writes a new certificate and its key.
func material(t testing.TB) files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return files{write(t, "cert.pem", encode("CERTIFICATE", cert)), write(t, "key.pem", encode("PRIVATE KEY", private))}
}

func copied(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "copy.pem", string(data))
}

func TestServerTLS(t *testing.T) {
	pem := material(t)
	for _, test := range []struct {
		tls  TLS
		want tls.ClientAuthType
	}{
		{TLS{pem.cert, pem.key, pem.cert, "require"}, tls.RequireAndVerifyClientCert},
		{TLS{pem.cert, pem.key, pem.cert, "verify"}, tls.VerifyClientCertIfGiven},
		{TLS{pem.cert, pem.key, pem.cert, "none"}, tls.NoClientCert},
		{TLS{pem.cert, pem.key, "", "none"}, tls.NoClientCert},
	} {
		got, err := test.tls.Server()
		if err != nil || got.ClientAuth != test.want || len(got.Certificates) != 1 || (got.ClientCAs != nil) != (test.tls.CA != "") {
			t.Errorf("%+v: got %+v, %v", test.tls, got, err)
		}
	}
	if got, err := (TLS{ClientAuth: "require"}).Server(); got != nil || err != nil {
		t.Errorf("without a certificate: %v, %v; want no TLS", got, err)
	}
	for _, bad := range []TLS{
		{pem.cert, pem.key, "", "require"}, // would trust every public authority
		{pem.cert, pem.key, "", "verify"},
		{pem.cert, pem.key, pem.cert, ""},
		{pem.cert, pem.key, pem.key, "require"},
		{pem.cert, pem.cert, "", "none"},
		{pem.cert, "", "", "none"},
		{pem.cert + "x", pem.key, "", "none"},
		{pem.cert, pem.key, pem.cert + "x", "none"},
	} {
		if got, err := bad.Server(); got != nil || err == nil {
			t.Errorf("%+v: got %+v; want an error", bad, got)
		}
	}
}

func TestTLSRefused(t *testing.T) {
	pem, other := material(t), material(t)
	absent := filepath.Join(t.TempDir(), "absent.pem")
	huge := write(t, "huge.pem", strings.Repeat("x", maxFileBytes+1))
	for _, test := range []struct {
		tls   TLS
		key   string
		parts string
	}{
		{TLS{Cert: pem.cert, ClientAuth: "none"}, "tls.key", "tls.cert needs its private key|give --tls-key FILE"},
		{TLS{Key: pem.key, ClientAuth: "none"}, "tls.cert", "tls.key needs its certificate|give --tls-cert FILE"},
		{TLS{CA: pem.cert, ClientAuth: "none"}, "tls.cert", "tls.ca alone does not turn TLS on"},
		{TLS{Cert: pem.cert, Key: pem.key, ClientAuth: "require"}, "tls.client_auth", "only be checked against tls.ca|--tls-client-auth none"},
		{TLS{Cert: pem.cert, Key: pem.key, ClientAuth: "verify"}, "tls.client_auth", "only be checked against tls.ca"},
		{TLS{Cert: pem.cert, Key: other.key, ClientAuth: "none"}, "tls.cert", "does not make a pair with tls.key|private key does not match"},
		{TLS{Cert: pem.key, Key: pem.key, ClientAuth: "none"}, "tls.cert", "does not make a pair"},
		{TLS{Cert: absent, Key: pem.key, ClientAuth: "none"}, "tls.cert", absent + "|cannot be read: no such file|correct the path"},
		{TLS{Cert: pem.cert, Key: t.TempDir(), ClientAuth: "none"}, "tls.key", "cannot be read: is a directory"},
		{TLS{Cert: pem.cert, Key: pem.key, CA: huge, ClientAuth: "none"}, "tls.ca", "more than 1048576 bytes"},
		{TLS{Cert: pem.cert, Key: pem.key, CA: pem.key, ClientAuth: "none"}, "tls.ca", "no certificate in PEM form"},
	} {
		flags := map[string]string{}
		for key, text := range map[string]string{"tls.cert": test.tls.Cert, "tls.key": test.tls.Key, "tls.ca": test.tls.CA, "tls.client_auth": test.tls.ClientAuth} {
			if text != "" {
				flags[key] = text
			}
		}
		found := problems(t, Sources{Flags: flags})
		if len(found) != 1 {
			t.Errorf("%+v: %d problems: %v; want one", test.tls, len(found), found)
		}
		matches(t, found[0], test.key, test.parts)
	}
}

// matches checks that a problem is about key and says all the parts, separated by |.
func matches(t testing.TB, p Problem, key, parts string) {
	t.Helper()
	if p.Key != key {
		t.Errorf("the problem is about %s, want %s: %v", p.Key, key, p)
	}
	for part := range strings.SplitSeq(parts, "|") {
		if !strings.Contains(p.String(), part) {
			t.Errorf("the problem does not say %q: %v", part, p)
		}
	}
}

// TestPeer: a member shows the others the certificate of its own listener, and trusts
// whom tls.ca has signed.
func TestPeer(t *testing.T) {
	if peer, err := (TLS{}).Peer(); peer != nil || err != nil {
		t.Errorf("without a certificate: %v, %v", peer, err)
	}
	pem := material(t)
	peer, err := TLS{Cert: pem.cert, Key: pem.key, CA: pem.cert}.Peer()
	if err != nil {
		t.Fatal(err)
	}
	if len(peer.Certificates) != 1 || peer.RootCAs == nil {
		t.Errorf("it shows %d certificates, and trusts %v", len(peer.Certificates), peer.RootCAs)
	}
	for _, wrong := range []TLS{{Cert: pem.key, Key: pem.key}, {Cert: pem.cert, Key: pem.key, CA: pem.key}} {
		if _, err := wrong.Peer(); err == nil || !strings.Contains(err.Error(), "load tls.") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
