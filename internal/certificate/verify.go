package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Member returns nil if the other side of a connection is a member with this name. The error is a *NameError if the
// certificate belongs to another member.
func (s *Store) Member(state *tls.ConnectionState, name string) error {
	m := s.Material()
	if m.Members == nil {
		return errNoMembers
	}
	if state == nil || len(state.PeerCertificates) == 0 {
		return fmt.Errorf("member %s shows no certificate; members need one that the members' authority (tls.ca) has signed", printable(name))
	}
	leaf := state.PeerCertificates[0]
	if err := m.member(state); err != nil {
		return fmt.Errorf("member %s shows a certificate for %s that is no member's: %w", printable(name), Names(leaf), err)
	}
	if !Carries(leaf, name) {
		return &NameError{Member: name, Names: Names(leaf)}
	}
	return s.listed(name)
}

// member returns why the other side's certificate is no member's, without a look at its names.
func (m *Material) member(state *tls.ConnectionState) error {
	err := chain(state, m.Members, x509.ExtKeyUsageServerAuth)
	lacks := lacking(state.PeerCertificates[0])
	var invalid x509.CertificateInvalidError
	if err == nil || lacks != nil && errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage {
		return lacks
	}
	return unverified(state.PeerCertificates[0], err, x509.ExtKeyUsageServerAuth)
}

// lacking returns which extended key usage a certificate lacks that a member's must list. One without any is good for
// everything (RFC 5280, 4.2.1.12), and therefore says nothing about members.
func lacking(leaf *x509.Certificate) error {
	if len(leaf.ExtKeyUsage) == 0 && len(leaf.UnknownExtKeyUsage) == 0 {
		return errors.New("it has no extended key usage; sign it for serverAuth and clientAuth")
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if !slices.Contains(leaf.ExtKeyUsage, usage) {
			return fmt.Errorf("its extended key usage lacks %s; sign it for serverAuth and clientAuth", usageName(usage))
		}
	}
	return nil
}

// listed returns nil if the names have a member's, or are empty.
func (s *Store) listed(name string) error {
	for _, pattern := range s.names {
		if is, err := path.Match(pattern, name); is || err != nil { // list has checked the pattern
			return err
		}
	}
	if len(s.names) == 0 {
		return nil
	}
	return fmt.Errorf("%s does not list member %s; it has %s: add the name there, at each member", s.key, printable(name), strings.Join(s.names, ", "))
}

// Warnings returns a sentence for each choice that lets too many join as members; none if all is well.
func (s *Store) Warnings() []string {
	m := s.Material()
	if m.Members == nil || s.auth == tls.NoClientCert || len(s.names) > 0 || !m.overlap {
		return nil
	}
	return []string{"one authority signs the certificates of members and of clients, and tls.members lists no names: each of its certificates that is valid for " +
		"serverAuth and clientAuth can join as a member; give the clients an authority of their own with tls.client_ca, or list the members in tls.members"}
}

var errNoMembers = errors.New("this member has no authority to check other members with; give it one with --tls-ca FILE")

// Client returns the name of the client at the other side of a connection: "" if it shows no certificate and none is
// required.
func (s *Store) Client(state *tls.ConnectionState) (name string, err error) {
	if s.auth == tls.NoClientCert {
		return "", nil
	}
	m := s.Material()
	if len(state.PeerCertificates) == 0 {
		if s.auth == tls.RequireAndVerifyClientCert {
			return "", errors.New("clients must show a certificate; give one with --tls-cert FILE and --tls-key FILE")
		}
		return "", nil
	}
	leaf := state.PeerCertificates[0]
	name = Name(leaf)
	// The handshake also accepts certificates of members' authorities. If those are the clients', too, it has already
	// verified everything.
	if m.twoAuthorities() || len(state.VerifiedChains) == 0 {
		if err := verifyAgainst(state, m.Clients, x509.ExtKeyUsageClientAuth); err != nil {
			return "", fmt.Errorf("the certificate for %s is no client's: %w; show one that the clients' authority (tls.client_ca) has signed", Names(leaf), err)
		}
	}
	if err := checkName(leaf); err != nil {
		return "", err
	}
	switch {
	case name == "":
		return "", errors.New("the certificate has no name; give it a common name")
	case len(name) > mostNameBytes:
		return "", fmt.Errorf("the certificate's name has %d bytes; at most %d are taken", len(name), mostNameBytes)
	}
	return name, nil
}

// verifyAgainst verifies the other side's certificate against the authorities of a pool.
func verifyAgainst(state *tls.ConnectionState, by *x509.CertPool, usage x509.ExtKeyUsage) error {
	if by == nil {
		return errors.New("there is no authority for that")
	}
	return unverified(state.PeerCertificates[0], chain(state, by, usage), usage)
}

// unverified explains why the other side's certificate is not verified; nil if it is.
func unverified(leaf *x509.Certificate, err error, usage x509.ExtKeyUsage) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		return fmt.Errorf("it was signed by %s, which is no authority for members", signer(leaf))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("its extended key usage does not have %s", usageName(usage))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return validity(leaf, time.Now())
	}
	return err
}

// chain looks for a chain from the other side's certificates to a pool.
func chain(state *tls.ConnectionState, by *x509.CertPool, usage x509.ExtKeyUsage) error {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: by, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func usageName(usage x509.ExtKeyUsage) string {
	if usage == x509.ExtKeyUsageServerAuth {
		return "serverAuth"
	}
	return "clientAuth"
}

// validity returns why a certificate is not valid at now.
func validity(leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) {
		return fmt.Errorf("it is not valid before %s; set the clocks, or sign it again", instant(leaf.NotBefore))
	}
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("it has expired at %s; renew it", instant(leaf.NotAfter))
	}
	return errors.New("a certificate authority above it has expired; renew it")
}

// own returns why this side's certificate is unsuitable for a member with a name.
func (m *Material) own(name string) error {
	if m.Certificate == nil {
		return errors.New("there is no certificate; a server needs one")
	}
	leaf := m.Certificate.Leaf
	if !Carries(leaf, name) {
		return fmt.Errorf("the certificate is for %s and does not carry this member's own name %s; give it the DNS name %s, or give the member a name that it carries",
			Names(leaf), printable(name), printable(name))
	}
	if err := lacking(leaf); err != nil {
		return fmt.Errorf("the certificate for %s cannot be a member's: %w", Names(leaf), err)
	}
	return nil
}
