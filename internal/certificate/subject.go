package certificate

import (
	"crypto/x509"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a SPIFFE id (SPIFFE-ID §2.3).
const (
	spiffeScheme     = "spiffe://"
	mostSPIFFEBytes  = 2048
	mostDomainsBytes = 255
)

// Subject returns the subject of a client's certificate for access control: its SPIFFE id, if its only URI is one, or
// else "cert:" and its [Name]; "" if it has no name.
func Subject(leaf *x509.Certificate) string {
	if len(leaf.URIs) == 1 {
		if id := leaf.URIs[0].String(); isSPIFFE(id) {
			return id
		}
	}
	if name := Name(leaf); name != "" {
		return "cert:" + name
	}
	return ""
}

// isSPIFFE reports whether a URI is a valid SPIFFE id: a trust domain in lower case, and a path without empty, "." or
// ".." segments, a query or a fragment.
func isSPIFFE(uri string) bool {
	rest, is := strings.CutPrefix(uri, spiffeScheme)
	if !is || len(uri) > mostSPIFFEBytes {
		return false
	}
	domain, path, hasPath := strings.Cut(rest, "/")
	if domain == "" || len(domain) > mostDomainsBytes || strings.ContainsFunc(domain, func(r rune) bool { return !isLower(r) }) {
		return false
	}
	if !hasPath {
		return true
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." ||
			strings.ContainsFunc(segment, func(r rune) bool { return !isLower(r) && (r < 'A' || r > 'Z') }) {
			return false
		}
	}
	return true
}

func isLower(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_'
}

// checkName returns what is wrong with the name of a client's certificate: characters that are invisible or turn the
// direction of text could make it look like another one.
func checkName(leaf *x509.Certificate) error {
	raw := append(rawNames(leaf), "")[0]
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
	}) {
		return fmt.Errorf("the certificate's name %s has control or invisible format characters; give it another common name", printable(raw))
	}
	return nil
}
