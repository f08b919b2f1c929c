package access

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Subject is a caller that was authenticated.
type Subject struct {
	// Name identifies the caller in logs, listings and the audit:
	//
	//	cert:NAME         a client's certificate
	//	spiffe://…        a client's certificate with a SPIFFE id
	//	token:NAME        a bearer token of this cluster
	//	jwt:ISSUER#SUB    a JWT; an issuer has no "#", so the first one ends it
	//	uid:N             a user of this machine, through a Unix socket
	//	member:NAME       another member
	//	anonymous         a caller without any of these
	Name string
	// Also has further names that a grant may match: gid:N for each group of a user, group:ISSUER#GROUP for each group
	// of a JWT.
	Also []string
	// Near reports that the caller is on this machine (a Unix socket, loopback) or is a member. Only the policy without
	// a file considers it: see [Default].
	Near bool
}

// Anonymous is the name of a caller without credentials.
const Anonymous = "anonymous"

// kinds has what names of subjects begin with, and an example of each.
var kinds = []struct{ prefix, example string }{
	{"cert:", "cert:NAME"},
	{"spiffe://", "spiffe://DOMAIN/PATH"},
	{"token:", "token:NAME"},
	{"jwt:", "jwt:ISSUER#SUB"},
	{"group:", "group:ISSUER#GROUP"},
	{"uid:", "uid:N"},
	{"gid:", "gid:N"},
	{"member:", "member:NAME"},
	{Anonymous, Anonymous},
}

// kindsText lists the forms of subjects, for errors.
func kindsText() string {
	var all []string
	for _, kind := range kinds {
		all = append(all, kind.example)
	}
	return strings.Join(all, ", ")
}

// maxSubject bounds the pattern of a subject, in bytes.
const maxSubject = 1024

// Check returns an error unless the subject has the form of one, as a person types it. A subject that a member has
// authenticated needs no check.
func (s Subject) Check() error {
	if strings.HasPrefix(s.Name, "gid:") || strings.HasPrefix(s.Name, "group:") {
		return fmt.Errorf("%s is a group; name a subject, and give its groups in addition", quote(s.Name))
	}
	for _, name := range append([]string{s.Name}, s.Also...) {
		if err := checkSubject(name); err != nil {
			return err
		}
	}
	return nil
}

// checkSubject checks the form of one name of a subject or a group.
func checkSubject(name string) error {
	if err := checkVisible(name, maxSubject); err != nil {
		return err
	}
	for _, kind := range kinds {
		rest, is := strings.CutPrefix(name, kind.prefix)
		switch {
		case !is:
			continue
		case kind.prefix == Anonymous && rest == "":
			return nil
		case kind.prefix == Anonymous:
			continue
		case rest == "":
			return fmt.Errorf("%s names nothing after %s; write %s", quote(name), strconv.Quote(kind.prefix), kind.example)
		}
		return checkRest(name, kind.prefix, rest)
	}
	return fmt.Errorf("%s is no subject; write one of %s", quote(name), kindsText())
}

// checkRest checks a name after the prefix of its kind.
func checkRest(name, prefix, rest string) error {
	switch prefix {
	case "uid:", "gid:":
		if n, err := strconv.ParseUint(rest, 10, 32); err != nil || strconv.FormatUint(n, 10) != rest {
			return fmt.Errorf("%s: %s is no number of a user or group; write %sN, as in %s1000",
				quote(name), quote(rest), prefix, prefix)
		}
	case "jwt:", "group:":
		issuer, own, found := strings.Cut(rest, "#")
		if !found || issuer == "" || own == "" {
			return fmt.Errorf("%s does not have the form ISSUER#NAME after %q; write it as in %shttps://login.example#ops",
				quote(name), prefix, prefix)
		}
	}
	return nil
}

// checkSubjectPattern checks the pattern of a subject: it has the form of a subject or could match one.
func checkSubjectPattern(pattern string) error {
	before, _, wild := strings.Cut(pattern, "*")
	if !wild {
		return checkSubject(pattern)
	}
	if err := checkVisible(pattern, maxSubject); err != nil {
		return err
	}
	for _, kind := range kinds {
		if strings.HasPrefix(before, kind.prefix) && kind.prefix != Anonymous || strings.HasPrefix(kind.prefix, before) {
			return nil
		}
	}
	return fmt.Errorf(`%s matches no subject; write a pattern of one of %s, or "*"`, quote(pattern), kindsText())
}

// checkVisible returns an error unless text has 1 to most bytes of UTF-8 that can all be seen.
func checkVisible(text string, most int) error {
	switch {
	case text == "":
		return fmt.Errorf("it is empty; give 1 to %d bytes", most)
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes; at most %d are allowed", quote(text), len(text), most)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not UTF-8; write it in UTF-8", quote(text))
	}
	for at, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return fmt.Errorf("%s has the invisible character %U at byte %d; remove it", quote(text), r, at)
		}
	}
	return nil
}

// subjectSteps returns the pattern of a subject as steps of a tree.
func subjectSteps(pattern string) []step { return starSteps(nil, pattern) }
