package certificate

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// memberURI is the prefix of the URI that names a member.
const memberURI = "urn:holdfast:member:"

// mostNameBytes bounds a client's name.
const mostNameBytes = 256

// Carries reports whether a certificate carries a member's name.
func Carries(leaf *x509.Certificate, name string) bool {
	switch {
	case name == "":
		return false
	case slices.Contains(leaf.DNSNames, name), leaf.Subject.CommonName == name:
		return true
	}
	if slices.ContainsFunc(leaf.URIs, func(uri *url.URL) bool { said, is := memberOf(uri); return is && said == name }) {
		return true
	}
	return slices.ContainsFunc(leaf.IPAddresses, func(ip net.IP) bool { return isAt(name, ip) })
}

// memberOf returns the member that a URI names.
func memberOf(uri *url.URL) (string, bool) {
	text, is := strings.CutPrefix(uri.String(), memberURI)
	if !is {
		return "", false
	}
	name, err := url.PathUnescape(text)
	return name, err == nil
}

// isAt reports whether a name is an IP address and a port: HOST:PORT, or HOST-PORT with the colons of an IPv6 address
// replaced as well.
func isAt(name string, ip net.IP) bool {
	cut := strings.LastIndexAny(name, ":-")
	if cut < 0 {
		return false
	}
	port := name[cut+1:]
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return false
	}
	host := ip.String()
	return name == net.JoinHostPort(host, port) || name == strings.TrimLeft(strings.ReplaceAll(host, ":", "-"), "-")+"-"+port
}

// rawNames lists the names in a certificate as they are, the common name first.
func rawNames(leaf *x509.Certificate) []string {
	all := slices.Concat([]string{leaf.Subject.CommonName}, leaf.DNSNames, leaf.EmailAddresses)
	for _, uri := range leaf.URIs {
		all = append(all, uri.String())
	}
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// namesOf is rawNames with unreadable names quoted.
func namesOf(leaf *x509.Certificate) []string {
	all := rawNames(leaf)
	for i := range all {
		all[i] = printable(all[i])
	}
	return all
}

// Names lists all names in a certificate, for people.
func Names(leaf *x509.Certificate) string {
	all := slices.Sorted(slices.Values(namesOf(leaf)))
	return cmp.Or(strings.Join(slices.Compact(all), ", "), "no name")
}

// Name returns the primary name of a certificate's owner; "" if it has none.
func Name(leaf *x509.Certificate) string {
	return append(namesOf(leaf), "")[0]
}

// printable quotes unreadable names.
func printable(name string) string {
	if strings.ToValidUTF8(name, "") != name || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// signer names the issuer of a certificate, for people.
func signer(leaf *x509.Certificate) string {
	if signed := cmp.Or(leaf.Issuer.CommonName, leaf.Issuer.String()); signed != "" {
		return printable(signed)
	}
	return "a certificate without a name"
}

// NameError reports that a certificate does not carry the name of the member that shows it.
type NameError struct {
	Member string // the member's claimed name
	Names  string // the certificate's names
}

// Error returns a sentence with both.
func (e *NameError) Error() string {
	return fmt.Sprintf("member %s shows a certificate for %s, which does not carry its name; give it a certificate with the DNS name %s",
		printable(e.Member), e.Names, printable(e.Member))
}
