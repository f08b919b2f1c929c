package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// What a client must show, once there is TLS.
const (
	authRequire = "require" // a certificate that CA signed
	authVerify  = "verify"  // if it shows one, CA must have signed it
	authNone    = "none"    // it is not asked for one
)

// Server returns what a listener needs, or nil if there is no TLS. The files are
// read again at every call, so that a certificate can be replaced.
func (t TLS) Server() (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	pair, err := t.pair()
	if err != nil {
		return nil, fmt.Errorf("load tls.cert and tls.key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if t.CA != "" {
		if config.ClientCAs, err = t.authorities(); err != nil {
			return nil, fmt.Errorf("load tls.ca: %w", err)
		}
	}
	switch t.ClientAuth {
	case authRequire, authVerify:
		if config.ClientCAs == nil { // with none, crypto/tls would trust every public authority
			return nil, fmt.Errorf("tls.client_auth %s needs tls.ca", t.ClientAuth)
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
		if t.ClientAuth == authRequire {
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
	case authNone:
		config.ClientAuth = tls.NoClientCert
	default:
		return nil, fmt.Errorf("tls.client_auth %q: want require, verify or none", t.ClientAuth)
	}
	return config, nil
}

// Peer returns what a member needs to reach another one, or nil if there is no TLS: it
// shows the certificate of its own listener, and trusts what CA has signed, or without
// CA what the machine trusts. The files are read again at every call.
func (t TLS) Peer() (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	pair, err := t.pair()
	if err != nil {
		return nil, fmt.Errorf("load tls.cert and tls.key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if t.CA != "" {
		if config.RootCAs, err = t.authorities(); err != nil {
			return nil, fmt.Errorf("load tls.ca: %w", err)
		}
	}
	return config, nil
}

func (t TLS) pair() (tls.Certificate, error) {
	cert, err := readFile(t.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readFile(t.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func (t TLS) authorities() (*x509.CertPool, error) {
	data, err := readFile(t.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("it has no certificate in PEM form")
	}
	return pool, nil
}

// checkTLS reads the material once, so that what will not do is refused at start.
func (l *loader) checkTLS() {
	const file = "a PEM file that can be read, or empty"
	t := &l.config.TLS
	if !l.good("tls.cert", "tls.key", "tls.ca") {
		return
	}
	readable := func(key, path string) bool {
		if path == "" {
			return false
		}
		_, err := readFile(path)
		if err != nil {
			l.refuse(key, "it cannot be read: "+reason(err), file, "correct the path or its permissions")
		}
		return err == nil
	}
	cert, key, ca := readable("tls.cert", t.Cert), readable("tls.key", t.Key), readable("tls.ca", t.CA)
	if cert && key {
		if _, err := t.pair(); err != nil {
			l.refuse("tls.cert", "it does not make a pair with tls.key "+quote(t.Key)+": "+err.Error(), file,
				"give a certificate and its own private key")
		}
	}
	if ca {
		if _, err := t.authorities(); err != nil {
			l.refuse("tls.ca", err.Error(), file, "give the certificates of the authorities")
		}
	}
	switch {
	case t.Cert != "" && t.Key == "":
		l.refuse("tls.key", "tls.cert needs its private key", file, "give --tls-key FILE")
	case t.Cert == "" && t.Key != "":
		l.refuse("tls.cert", "tls.key needs its certificate", file, "give --tls-cert FILE")
	case t.Cert == "" && t.CA != "":
		l.refuse("tls.cert", "tls.ca alone does not turn TLS on", file, "give --tls-cert FILE and --tls-key FILE, or leave tls.ca out")
	}
	if l.good("tls.client_auth") && t.Cert != "" && t.CA == "" && t.ClientAuth != authNone {
		l.refuse("tls.client_auth", "clients' certificates can only be checked against tls.ca", "none while tls.ca is empty",
			"give --tls-ca FILE, or --tls-client-auth none")
	}
}
