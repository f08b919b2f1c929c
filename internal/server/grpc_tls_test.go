package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	transport "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestTLS serves clients that speak TLS, and no others.
func TestTLS(t *testing.T) {
	certificate, pool := selfSigned(t)
	b := newHarness(t, func(c *Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	}, nil)
	conn, err := grpc.NewClient("passthrough:///"+b.address, grpc.WithTransportCredentials(transport.NewTLS(&tls.Config{RootCAs: pool})))
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	c := b.call(conn)
	c.welcome(&schema.Hello{})
	c.serves(1)
	_, err = schema.NewLocksClient(b.conn).Status(t.Context(), &schema.StatusRequest{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a client without TLS was answered with %v", err)
	}
	c.serves(2)
}

// selfSigned makes a certificate for the loopback address and a pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
