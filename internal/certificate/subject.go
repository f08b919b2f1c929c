package certificate

import (
	"crypto/x509"
	"strings"
)

// Subject returns the name of a client's certificate for policies: its SPIFFE id if it has exactly one (SPIFFE X.509
// SVID, section 2), as in spiffe://example/worker, and otherwise cert: and its name.
func Subject(leaf *x509.Certificate) string {
	found := ""
	for _, uri := range leaf.URIs {
		if !strings.EqualFold(uri.Scheme, "spiffe") {
			continue
		}
		if found != "" || uri.Host == "" || uri.User != nil || uri.RawQuery != "" || uri.Fragment != "" || uri.Port() != "" {
			return "cert:" + Name(leaf)
		}
		found = uri.String()
	}
	if found != "" {
		return found
	}
	return "cert:" + Name(leaf)
}
