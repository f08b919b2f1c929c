package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// Common settings: TLS 1.3, or 1.2 with AEAD suites alone if that is allowed; no resumption; and full-size records,
// since single writes are small anyway and each record costs a system call.
func (s *Store) common(m *Material) *tls.Config {
	c := &tls.Config{}
	if s.fixed != nil {
		c = s.fixed.Clone()
		c.GetConfigForClient = nil
	} else if m.Certificate != nil {
		c.Certificates = []tls.Certificate{*m.Certificate}
	}
	if c.MinVersion = max(s.lowest, tls.VersionTLS12); c.MinVersion == tls.VersionTLS12 && c.CipherSuites == nil {
		c.CipherSuites = slices.Clone(aead)
	}
	c.SessionTicketsDisabled = true
	c.DynamicRecordSizingDisabled = true
	return c
}

// aead are the suites of TLS 1.2 that authenticate what they encrypt, and whose keys do not last.
var aead = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// sharedConfig is for the port of members and clients. It asks every caller for a certificate if there can be members,
// who must show one; Member and Client evaluate it.
func (s *Store) sharedConfig(m *Material) *tls.Config {
	c := s.common(m)
	c.NextProtos = []string{"h2"}
	c.ClientCAs = m.either
	if c.ClientAuth = s.auth; s.auth == tls.NoClientCert && m.Members != nil {
		c.ClientAuth, c.ClientCAs = tls.RequestClientCert, m.Members
	}
	if s.fixed != nil && s.auth >= tls.VerifyClientCertIfGiven && m.Members != nil && m.twoAuthorities() {
		s.acceptEither(c, m)
	}
	return c
}

// acceptEither verifies as crypto/tls does with one pool, for two that cannot be merged.
func (s *Store) acceptEither(c *tls.Config, m *Material) {
	c.ClientAuth, c.ClientCAs = tls.RequireAnyClientCert, nil
	if s.auth == tls.VerifyClientCertIfGiven {
		c.ClientAuth = tls.RequestClientCert
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil
		}
		err := verifyAgainst(&state, m.Clients, x509.ExtKeyUsageClientAuth)
		if err == nil || verifyAgainst(&state, m.Members, x509.ExtKeyUsageClientAuth) == nil {
			return nil
		}
		return explain(err, "its certificate for %s does not do: %v", Names(state.PeerCertificates[0]), err)
	}
}

// webConfig is for the port of clients alone.
func (s *Store) webConfig(m *Material) *tls.Config {
	c := s.common(m)
	c.NextProtos = []string{"http/1.1"}
	c.ClientCAs, c.ClientAuth = m.Clients, s.auth
	return c
}

// Shared returns the configuration for a listener of members and clients. It follows the files.
func (s *Store) Shared() *tls.Config {
	return s.following(func(m *made) *tls.Config { return m.shared })
}

// Web returns the configuration for a listener of clients alone. It follows the files.
func (s *Store) Web() *tls.Config { return s.following(func(m *made) *tls.Config { return m.web }) }

func (s *Store) following(of func(*made) *tls.Config) *tls.Config {
	c := of(s.current.Load()).Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return of(s.newest()), nil }
	return c
}

// Membership returns the configuration for a listener of members alone: every caller must show a certificate signed by
// their authority.
func (s *Store) Membership() *tls.Config {
	return s.following(func(m *made) *tls.Config {
		c := m.shared.Clone()
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, m.Members
		if m.Members == nil {
			c.ClientCAs = x509.NewCertPool()
		}
		return c
	})
}

// Calling returns the current configuration for calling another member: the answering process must be a member, at any
// address. Member checks its name, once it has sent it.
func (s *Store) Calling() *tls.Config {
	m := s.newest()
	c := s.common(m.Material)
	c.NextProtos = []string{"h2"}
	alwaysPresent(c)
	c.InsecureSkipVerify = true // VerifyConnection verifies instead, without a host
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if m.Members == nil {
			return errNoMembers
		}
		if err := chain(&state, m.Members, x509.ExtKeyUsageServerAuth); err != nil { // as in crypto/tls
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		leaf := state.PeerCertificates[0]
		if err := lacking(leaf); err != nil {
			return explain(err, "its certificate for %s is no member's: %v", Names(leaf), err)
		}
		return nil
	}
	return c
}

// Dialling returns the current configuration for a client, whose server's certificate must be for the dialled host.
// Without Members it trusts the machine's authorities.
func (s *Store) Dialling() *tls.Config {
	m := s.newest()
	c := s.common(m.Material)
	if s.fixed == nil {
		c.RootCAs = m.Members
	}
	c.NextProtos = []string{"h2"}
	alwaysPresent(c)
	return c
}

// alwaysPresent shows the certificate to every peer that asks for one, whichever authorities it lists: its refusal is
// more informative than a missing certificate.
func alwaysPresent(c *tls.Config) {
	if len(c.Certificates) > 0 && c.GetClientCertificate == nil {
		own := &c.Certificates[0]
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
}
