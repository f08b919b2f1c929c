package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// explained is a handshake error in plain words, with advice. It wraps the original error.
type explained struct {
	sentence string
	err      error
}

// Error returns the sentence.
func (e *explained) Error() string { return e.sentence }

// Unwrap returns the original error.
func (e *explained) Unwrap() error { return e.err }

func explain(err error, format string, arguments ...any) error {
	return &explained{fmt.Sprintf(format, arguments...), err}
}

// alert returns the other side's alert about a handshake, or later, in the words of crypto/tls.
func alert(err error) (string, bool) {
	var said *net.OpError
	if !errors.As(err, &said) || said.Op != "remote error" {
		return "", false
	}
	return strings.TrimPrefix(said.Err.Error(), "tls: "), true
}

// ExplainDialling explains why a server was not reached over TLS, or has hung up. It returns an unknown error
// unchanged.
func (s *Store) ExplainDialling(err error) error {
	var known *explained
	var header tls.RecordHeaderError
	said, isAlert := alert(err)
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case isAlert:
		return s.explainAlert(err, said)
	case errors.As(err, &header):
		return explain(err, "it does not speak TLS; leave the TLS flags out")
	case strings.Contains(err.Error(), "selected unsupported protocol version"):
		return s.explainVersion(err)
	case errors.Is(err, io.EOF):
		return explain(err, "it closed the connection during the TLS handshake")
	}
	return explainCertificate(err, "its certificate", "give that authority with --tls-ca FILE")
}

// versions names the versions of TLS that this side speaks.
func (s *Store) versions() string {
	if s.lowest >= tls.VersionTLS13 {
		return "TLS 1.3"
	}
	return "TLS 1.2 or 1.3"
}

// explainVersion explains that the other side speaks none of these versions.
func (s *Store) explainVersion(err error) error {
	return explain(err, "it does not speak %s; update it, or the proxy in front of it, or allow TLS 1.2 at both ends: in members with tls.min_version, in programs with MinVersion of client.TLS",
		s.versions())
}

// explainAlert explains an alert, which is usually about this side's certificate.
func (s *Store) explainAlert(err error, said string) error {
	own := s.current.Load().Certificate
	switch said {
	case "certificate required":
		return explain(err, "it demands a client certificate; give one with --tls-cert FILE and --tls-key FILE")
	case "handshake failure":
		if own == nil {
			return explain(err, "it refuses the TLS handshake without a client certificate; give one with --tls-cert FILE and --tls-key FILE")
		}
	case "protocol version not supported":
		return s.explainVersion(err)
	}
	if own == nil || own.Leaf == nil {
		return explain(err, "it ends the TLS connection: %s", said)
	}
	names := Names(own.Leaf)
	switch said {
	case "unknown certificate authority":
		return explain(err, "it does not know the authority %s that has signed our certificate for %s; give one that its own authority has signed with --tls-cert FILE and --tls-key FILE",
			signer(own.Leaf), names)
	case "expired certificate":
		return explain(err, "it says that our certificate for %s has expired (it is valid until %s); renew it", names, instant(own.Leaf.NotAfter))
	case "bad certificate":
		return explain(err, "it refuses our certificate for %s; give one that its authority has signed for clients with --tls-cert FILE and --tls-key FILE", names)
	}
	return explain(err, "it ends the TLS connection: %s", said)
}

// explainCertificate explains a fault of the other side's certificate.
func explainCertificate(err error, whose, fix string) error {
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) || len(refused.UnverifiedCertificates) == 0 {
		return err
	}
	leaf := refused.UnverifiedCertificates[0]
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return explain(err, "%s for %s was signed by %s, an authority that is not known here; %s", whose, Names(leaf), signer(leaf), fix)
	case errors.As(err, &host):
		return explain(err, "%s is for %s and not for %s; address it by one of those, or say with --tls-server-name NAME for which it must be",
			whose, Names(leaf), printable(host.Host))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return explain(err, "%s for %s does not do: %v", whose, Names(leaf), validity(leaf, time.Now()))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return explain(err, "%s for %s does not do: its extended key usage is for another purpose; sign a member's for serverAuth and clientAuth, and a client's for clientAuth",
			whose, Names(leaf))
	}
	return err
}

// ExplainAccepting explains why a connection to this server was refused.
func ExplainAccepting(err error) error {
	var known *explained
	var header tls.RecordHeaderError
	said, isAlert := alert(err)
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case isAlert:
		return explain(err, "%s", explainTheirs(said))
	case errors.As(err, &header):
		return explain(err, "it does not speak TLS; clients need --tls-ca FILE")
	case strings.Contains(err.Error(), "client didn't provide a certificate"):
		return explain(err, "it shows no certificate, and tls.client_auth demands one; clients need --tls-cert FILE and --tls-key FILE")
	case strings.Contains(err.Error(), "client offered only unsupported versions"):
		return explain(err, "it speaks no version of TLS from tls.min_version on (1.3, unless that is set); update it, or set tls.min_version to 1.2")
	case errors.Is(err, io.EOF):
		return explain(err, "it closed the connection during the TLS handshake")
	}
	return explainCertificate(err, "its certificate", "the authorities are in tls.ca and tls.client_ca")
}

// explainTheirs explains the other side's alert about this server's certificate.
func explainTheirs(said string) string {
	switch said {
	case "unknown certificate authority":
		return "it does not know the authority that has signed this member's certificate; clients need --tls-ca FILE"
	case "expired certificate":
		return "it says that this member's certificate has expired; renew tls.cert"
	case "bad certificate":
		return "it refuses this member's certificate: it does not know its authority, or the certificate has expired, or is for other hosts than the one that was asked for"
	}
	return "it ends the TLS connection: " + said
}

// Worth reports whether operators should learn of a refused connection: the peer had a certificate, or could not accept
// this one.
func Worth(err error) bool {
	var header tls.RecordHeaderError
	return !errors.As(err, &header) && !errors.Is(err, io.EOF)
}
