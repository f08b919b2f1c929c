package certmagic_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// issuer is a certificate authority in memory. It checks that no name is issued twice at the same time.
type issuer struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	during func(name string) // called while a certificate is issued; nil does nothing

	mu     sync.Mutex
	busy   map[string]bool
	issued map[string]int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t: t, key: key, busy: map[string]bool{}, issued: map[string]int{}}
}

// IssuerKey names the issuer in the storage.
func (i *issuer) IssuerKey() string { return "test" }

// Issue signs a request.
func (i *issuer) Issue(_ context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	name := request.DNSNames[0]
	i.set(name, true)
	defer i.set(name, false)
	if i.during != nil {
		i.during(name)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: request.DNSNames, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}, nil
}

func (i *issuer) set(name string, busy bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if busy {
		if i.busy[name] {
			i.t.Errorf("two servers obtain %q at the same time", name)
		}
		i.issued[name]++
	}
	i.busy[name] = busy
}

// newCache returns a cache of certificates, which ends with the test.
func newCache(t *testing.T) *certmagic.Cache {
	t.Helper()
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return &certmagic.Default, nil },
		Logger:           zap.NewNop(),
	})
	t.Cleanup(cache.Stop)
	return cache
}
