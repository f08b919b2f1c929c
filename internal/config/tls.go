package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// Requirements on clients with TLS.
const (
	authRequire = "require" // a certificate signed by their authority
	authVerify  = "verify"  // if it shows one, it must be signed by their authority
	authNone    = "none"    // no certificate is requested
)

// The lowest versions of TLS that can be chosen.
const (
	version12 = "1.2"
	version13 = "1.3"
)

// on reports whether TLS is on.
func (t TLS) on() bool { return t.Cert != "" }

// Open reads the material, and returns a store that reloads it when the files change; nil without TLS.
func (t TLS) Open(logger *slog.Logger) (*certificate.Store, error) {
	if !t.on() {
		return nil, nil
	}
	options := certificate.Options{
		Files:  certificate.Files{Cert: t.Cert, Key: t.Key, Members: t.CA, Clients: t.ClientCA},
		Names:  t.Members,
		Logger: logger,
	}
	if t.MinVersion == version12 {
		options.MinVersion = tls.VersionTLS12
	}
	switch t.ClientAuth {
	case authRequire:
		options.ClientAuth = tls.RequireAndVerifyClientCert
	case authVerify:
		options.ClientAuth = tls.VerifyClientCertIfGiven
	case authNone:
		options.ClientAuth = tls.NoClientCert
	default:
		return nil, fmt.Errorf("tls.client_auth %q: want require, verify or none", t.ClientAuth)
	}
	store, err := certificate.Open(options)
	if err != nil {
		return nil, fmt.Errorf("read the TLS files: %w", err)
	}
	return store, nil
}

// checkTLS reads the material once, so that faults are reported at the start.
func (l *loader) checkTLS() {
	const file = "a PEM file that can be read, or empty"
	t := &l.config.TLS
	if !l.good("tls.cert", "tls.key", "tls.ca", "tls.client_ca") {
		return
	}
	readable := func(key, path string) []byte {
		if path == "" {
			return nil
		}
		data, err := readFile(path)
		if err != nil {
			l.refuse(key, "it cannot be read: "+reason(err), file, "correct the path or its permissions")
		}
		return data
	}
	cert, key := readable("tls.cert", t.Cert), readable("tls.key", t.Key)
	if cert != nil && key != nil {
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			l.refuse("tls.cert", "it does not make a pair with tls.key "+quote(t.Key)+": "+err.Error(), file,
				"give a certificate and its own private key")
		}
	}
	var open *private.Error
	if l.good("insecure_files") && !l.config.InsecureFiles && errors.As(private.CheckFile(t.Key), &open) {
		l.refuse("tls.key", open.Wrong, "a file for its owner alone", "run "+open.Fix+", or accept it with --insecure-files")
	}
	for _, one := range []struct{ key, path string }{{"tls.ca", t.CA}, {"tls.client_ca", t.ClientCA}} {
		if data := readable(one.key, one.path); data != nil && !x509.NewCertPool().AppendCertsFromPEM(data) {
			l.refuse(one.key, certificate.ErrNoneInPEM.Error(), file, "give the certificates of the authorities")
		}
	}
	l.checkTLSTogether(file)
}

// checkTLSTogether finds contradictions, and missing keys.
func (l *loader) checkTLSTogether(file string) {
	t := &l.config.TLS
	switch {
	case t.Cert != "" && t.Key == "":
		l.refuse("tls.key", "tls.cert needs its private key", file, "give --tls-key FILE")
	case t.Cert == "" && t.Key != "":
		l.refuse("tls.cert", "tls.key needs its certificate", file, "give --tls-cert FILE")
	case t.Cert == "" && t.CA != "":
		l.refuse("tls.cert", "tls.ca alone does not turn TLS on", file, "give --tls-cert FILE and --tls-key FILE, or leave tls.ca out")
	case t.Cert == "" && t.ClientCA != "":
		l.refuse("tls.cert", "tls.client_ca alone does not turn TLS on", file, "give --tls-cert FILE and --tls-key FILE, or leave tls.client_ca out")
	}
	if l.good("tls.members") && len(t.Members) > 0 && !t.on() {
		l.refuse("tls.members", "without TLS nothing proves a member's name", "empty without TLS", "give --tls-cert FILE and --tls-key FILE, or leave tls.members out")
	}
	if l.good("tls.client_auth") && t.on() && t.CA == "" && t.ClientCA == "" && t.ClientAuth != authNone {
		l.refuse("tls.client_auth", "clients' certificates can only be checked against tls.ca or tls.client_ca", "none while both are empty",
			"give --tls-ca FILE, or --tls-client-auth none")
	} else if t.on() && t.CA == "" && l.good("join") && l.config.Clustered() {
		l.refuse("tls.ca", "members with TLS know one another by the authority that has signed their certificates", "a PEM file that can be read",
			"give --tls-ca FILE")
	}
}
