package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
)

// Files are the paths of PEM files, empty for none.
type Files struct {
	// Cert and Key are this side's certificate with its chain, and its private key.
	Cert, Key string
	// Members are the authorities that sign members' certificates.
	Members string
	// Clients are the authorities that sign clients' certificates. Empty means Members.
	Clients string
}

// list returns the paths that are set.
func (f Files) list() []string {
	return slices.DeleteFunc([]string{f.Cert, f.Key, f.Members, f.Clients}, func(path string) bool { return path == "" })
}

// mostBytes bounds a file.
const mostBytes = 1 << 20

// Material is the content of the files at one moment. It is immutable.
type Material struct {
	// Certificate is this side's own, with its Leaf; nil if there is none.
	Certificate *tls.Certificate
	// Members vouches for members; nil without such an authority.
	Members *x509.CertPool
	// Clients vouches for clients. It is Members if there is one authority for both.
	Clients *x509.CertPool

	either  *x509.CertPool // both of them
	overlap bool           // an authority vouches for members and for clients
	data    [][]byte       // of the files, in order
}

// FileError is a fault of a file.
type FileError struct {
	Path string
	Err  error
}

// Error returns a sentence.
func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the fault.
func (e *FileError) Unwrap() error { return e.Err }

// ErrNoneInPEM is the fault of a file of authorities.
var ErrNoneInPEM = errors.New("it has no certificate in PEM form")

// Read reads the files. The error names the file.
func Read(files Files) (*Material, error) {
	m := &Material{}
	for _, path := range files.list() {
		data, _, err := follow.Read(path, mostBytes, nil, time.Time{}) // a pipe will do
		if err != nil {
			return nil, &FileError{path, err}
		}
		m.data = append(m.data, data)
	}
	rest := m.data
	next := func() []byte {
		data := rest[0]
		rest = rest[1:]
		return data
	}
	if files.Cert != "" && files.Key != "" {
		pair, err := tls.X509KeyPair(next(), next())
		if err != nil {
			return nil, &FileError{files.Cert, fmt.Errorf("it does not make a pair with %s: %w", files.Key, err)}
		}
		m.Certificate = &pair
	}
	m.either = x509.NewCertPool()
	var err error
	var ofMembers []byte
	if files.Members != "" {
		ofMembers = next()
		if m.Members, err = m.pool(files.Members, ofMembers); err != nil {
			return nil, err
		}
		m.Clients, m.overlap = m.Members, true
	}
	if files.Clients != "" {
		ofClients := next()
		if m.Clients, err = m.pool(files.Clients, ofClients); err != nil {
			return nil, err
		}
		m.overlap = haveCommon(ofMembers, ofClients)
	}
	return m, nil
}

// haveCommon reports whether two PEM files have a certificate in common.
func haveCommon(a, b []byte) bool {
	blocks := func(data []byte) (all []string) {
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			all = append(all, string(block.Bytes))
		}
		return all
	}
	of := blocks(b)
	return slices.ContainsFunc(blocks(a), func(one string) bool { return slices.Contains(of, one) })
}

// pool makes a pool of a file's certificates, and adds them to the common pool.
func (m *Material) pool(path string, data []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, &FileError{path, ErrNoneInPEM}
	}
	m.either.AppendCertsFromPEM(data)
	return pool, nil
}

// Same reports whether two readings found the same bytes.
func (m *Material) Same(other *Material) bool {
	return slices.EqualFunc(m.data, other.data, bytes.Equal)
}

// twoAuthorities reports whether clients have other authorities than members.
func (m *Material) twoAuthorities() bool { return m.Members == nil || !m.Members.Equal(m.Clients) }

// expired returns why this side's own certificate is not valid at a time; nil if it is.
func (m *Material) expired(at time.Time) error {
	switch {
	case m.Certificate == nil || m.Certificate.Leaf == nil:
		return nil
	case at.After(m.Certificate.Leaf.NotAfter):
		return fmt.Errorf("the certificate of %s has expired at %s; renew it", Name(m.Certificate.Leaf), instant(m.Certificate.Leaf.NotAfter))
	case at.Before(m.Certificate.Leaf.NotBefore):
		return fmt.Errorf("the certificate of %s is not valid before %s; set the clock, or sign it again", Name(m.Certificate.Leaf), instant(m.Certificate.Leaf.NotBefore))
	}
	return nil
}

// instant formats a time for sentences.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
