package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
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
	if err := verifyAgainst(state, m.Members, x509.ExtKeyUsageServerAuth); err != nil {
		return fmt.Errorf("member %s shows a certificate for %s that is no member's: %w", printable(name), Names(leaf), err)
	}
	if !Carries(leaf, name) {
		return &NameError{Member: name, Names: Names(leaf)}
	}
	return nil
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
	leaf := state.PeerCertificates[0]
	err := chain(state, by, usage)
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

// own returns why this side's certificate is unsuitable for a member with a name. Calls means that it calls other
// members, too.
func (m *Material) own(name string, calls bool) error {
	if m.Certificate == nil {
		return errors.New("there is no certificate; a server needs one")
	}
	leaf := m.Certificate.Leaf
	if !Carries(leaf, name) {
		return fmt.Errorf("the certificate is for %s and does not carry this member's own name %s; give it the DNS name %s, or give the member a name that it carries",
			Names(leaf), printable(name), printable(name))
	}
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if calls {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	for _, usage := range usages {
		if !allows(leaf, usage) {
			return fmt.Errorf("the certificate for %s cannot be a member's: its extended key usage lacks %s; sign it for serverAuth and clientAuth",
				Names(leaf), usageName(usage))
		}
	}
	return nil
}

// allows reports whether a certificate allows a usage by itself.
func allows(leaf *x509.Certificate, usage x509.ExtKeyUsage) bool {
	if len(leaf.ExtKeyUsage) == 0 && len(leaf.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.Contains(leaf.ExtKeyUsage, usage) || slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny)
}
