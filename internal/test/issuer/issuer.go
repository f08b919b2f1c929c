package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// day is the default validity of a certificate, and that of an authority.
const day = 24 * time.Hour

// grace is how far the validity begins in the past: the clock of another machine may be behind.
const grace = time.Hour

// Authority is a certificate authority, made by New.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority with a name for people.
func New(name string) (*Authority, error) {
	key, template, err := begin(pkix.Name{CommonName: name}, time.Now().Add(-grace), time.Now().Add(day))
	if err != nil {
		return nil, fmt.Errorf("make the authority %q: %w", name, err)
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	certificate, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("make the authority %q: %w", name, err)
	}
	return &Authority{certificate, key}, nil
}

// Request describes a certificate.
type Request struct {
	// Name is the owner's name: its common name, and a DNS name. Empty means no name.
	Name string
	// Hosts are the DNS names and IP addresses of the owner.
	Hosts []string
	// URIs are further names.
	URIs []string
	// Member makes a member's certificate: for servers as well as clients. The zero value is a client's.
	Member bool
	// Unlimited leaves the extended key usage out, so that the certificate is good for everything.
	Unlimited bool
	// NotBefore and NotAfter bound its validity. Zero means an hour ago, and in a day.
	NotBefore, NotAfter time.Time
}

// Issue makes a key, and signs a certificate for it.
func (a *Authority) Issue(request Request) (*Certificate, error) {
	from, until := request.NotBefore, request.NotAfter
	if from.IsZero() {
		from = time.Now().Add(-grace)
	}
	if until.IsZero() {
		until = time.Now().Add(day)
	}
	key, template, err := begin(pkix.Name{CommonName: request.Name}, from, until)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", request.Name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if request.Member {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if request.Unlimited {
		template.ExtKeyUsage = nil
	}
	if err := request.name(template); err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", request.Name, err)
	}
	leaf, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", request.Name, err)
	}
	return &Certificate{leaf, key}, nil
}

// name writes the names of the owner into a template.
func (w *Request) name(template *x509.Certificate) error {
	if w.Name != "" {
		template.DNSNames = []string{w.Name}
	}
	for _, host := range w.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	for _, text := range w.URIs {
		uri, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("read a URI: %w", err)
		}
		template.URIs = append(template.URIs, uri)
	}
	return nil
}

// Pool returns a pool with only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Write writes the authority's certificate into a folder, as BASE.pem, and returns its
// path.
func (a *Authority) Write(folder, base string) (string, error) {
	path := filepath.Join(folder, base+".pem")
	return path, replace(path, a.PEM())
}

// Certificate is a certificate with its private key.
type Certificate struct {
	Leaf *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// TLS returns the certificate for crypto/tls.
func (c *Certificate) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{c.Leaf.Raw}, PrivateKey: c.Key, Leaf: c.Leaf}
}

// Files are the paths of a certificate and its key.
type Files struct{ Cert, Key string }

// Write writes both into a folder, as BASE.pem and BASE-key.pem. Existing files are replaced atomically, the key first.
func (c *Certificate) Write(folder, base string) (Files, error) {
	files := Files{filepath.Join(folder, base+".pem"), filepath.Join(folder, base+"-key.pem")}
	private, err := x509.MarshalPKCS8PrivateKey(c.Key)
	if err != nil {
		return files, fmt.Errorf("write a private key: %w", err)
	}
	return files, errors.Join(
		replace(files.Key, encode("PRIVATE KEY", private)),
		replace(files.Cert, encode("CERTIFICATE", c.Leaf.Raw)))
}

// begin makes a key, and the common part of all certificates.
func begin(subject pkix.Name, from, until time.Time) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	return key, &x509.Certificate{SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: subject, NotBefore: from, NotAfter: until}, nil
}

func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func encode(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}

// replace writes a file atomically.
func replace(path string, data []byte) error {
	half := path + ".new"
	if err := os.WriteFile(half, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(half, path)
}
