package grpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// TestTLS: members that have certificates of one authority speak; one that has none,
// and one that speaks in plain text, do not.
func TestTLS(t *testing.T) {
	authority := newAuthority(t)
	with := func(c *tls.Config) func(*Config) { return func(config *Config) { config.TLS = c } }
	a, b := start(t, 1, with(authority.config(t))), start(t, 2, with(authority.config(t)))
	meet(t, a, b)
	nobody := authority.config(t)
	nobody.Certificates = nil
	for id, change := range map[int]func(*Config){3: with(nobody), 4: nil} {
		c := prepare(t, identityAt(5, listenAgain(t, "127.0.0.1:0")), change)
		c.served <- nil // it only calls
		c.Listen(c.inbox.deliver)
		c.Send(at(a.identity.Address, id))
		c.counts.await(t, "dropped unreachable", 1)
		c.stop()
	}
	if n := a.counts.get("received"); n != 1 {
		t.Errorf("heard %q", a.inbox.all())
	}
}

// authority signs certificates for 127.0.0.1.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &authority{certificate, key, pool}
}

// config returns a member's configuration for both directions.
func (a *authority) config(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "member"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      a.pool, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}
