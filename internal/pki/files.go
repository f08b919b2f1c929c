package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-locks/holdfast/internal/private"
)

// CertFile and KeyFile return the paths of a certificate and its key in a folder.
func CertFile(folder, name string) string { return filepath.Join(folder, name+".pem") }

// KeyFile returns the path of a private key in a folder.
func KeyFile(folder, name string) string { return filepath.Join(folder, name+"-key.pem") }

// pair is a certificate with its private key.
type pair struct {
	leaf *x509.Certificate
	key  *ecdsa.PrivateKey
}

// load reads a pair; nil if neither file exists.
func load(folder, name string) (*pair, error) {
	cert, certErr := os.ReadFile(CertFile(folder, name))
	key, keyErr := os.ReadFile(KeyFile(folder, name))
	switch {
	case errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist):
		return nil, nil
	case certErr != nil || keyErr != nil:
		return nil, fmt.Errorf("read the authority %s: %w", name, errors.Join(certErr, keyErr))
	}
	var open *private.Error
	if errors.As(private.CheckFile(KeyFile(folder, name)), &open) {
		return nil, errors.New(open.Advice())
	}
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s does not make a pair with %s: %w", CertFile(folder, name), KeyFile(folder, name), err)
	}
	signing, is := both.PrivateKey.(*ecdsa.PrivateKey)
	if !is || !both.Leaf.IsCA {
		return nil, fmt.Errorf("%s is no authority that this command has made; give another --dir", CertFile(folder, name))
	}
	return &pair{both.Leaf, signing}, nil
}

// absent returns an error if a file of a pair exists.
func absent(folder, name string) error {
	for _, path := range []string{CertFile(folder, name), KeyFile(folder, name)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists, and is not overwritten; give another name, or remove it with its pair", path)
		}
	}
	return nil
}

// write writes a pair into new files, the key first, and removes what it has made if that fails.
func (p *pair) write(folder, name string) error {
	secret, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	if err := create(KeyFile(folder, name), 0o600, "PRIVATE KEY", secret); err != nil {
		return err
	}
	if err := create(CertFile(folder, name), 0o644, "CERTIFICATE", p.leaf.Raw); err != nil {
		return errors.Join(err, os.Remove(KeyFile(folder, name)))
	}
	return nil
}

// create writes a new file in PEM form.
func create(path string, mode fs.FileMode, kind string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
