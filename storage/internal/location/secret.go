package location

import (
	"net/url"
	"slices"
	"strings"
)

// hidden replaces secrets.
const hidden = "xxxxx"

// password returns what may be the password in the part of a URL after its scheme, as written there, and its index. It
// prefers too much to too little: everything before the last @ may be part of a password.
func password(rest string) (text string, at int) {
	end := strings.LastIndexByte(rest, '@')
	if end < 0 {
		return "", -1
	}
	begin := strings.IndexByte(rest[:end], ':')
	if begin < 0 {
		return "", -1
	}
	return rest[begin+1 : end], begin + 1
}

// isSecret reports whether an option has a secret-sounding name. An unreadable name may be one.
func isSecret(name string) (readable string, secret bool) {
	readable, err := url.QueryUnescape(strings.ToLower(name))
	return readable, err != nil || strings.Contains(readable, "pass") || strings.Contains(readable, "secret") || strings.Contains(readable, "token")
}

// Folder returns the URL of an absolute folder path: /var/lib/locks is folder:///var/lib/locks. Any other text is
// returned unchanged, including one that may be a URL without its scheme.
func Folder(text string) string {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "@") || strings.Contains(text, "://") {
		return text
	}
	return (&url.URL{Scheme: "folder", Path: text}).String()
}

// Redacted returns a URL for display: without its password, and without the values of options with a secret-sounding
// name. A text that is neither a URL nor a folder is not shown at all.
func Redacted(text string) string {
	scheme, rest, found := strings.Cut(Folder(text), "://")
	if !found {
		return hidden
	}
	if secret, at := password(rest); at >= 0 {
		rest = rest[:at] + hidden + rest[at+len(secret):]
	}
	address, query, found := strings.Cut(rest, "?")
	if !found {
		return scheme + "://" + rest
	}
	options := strings.Split(query, "&")
	for i, option := range options {
		name, _, _ := strings.Cut(option, "=")
		if name, secret := isSecret(name); secret {
			options[i] = name + "=" + hidden
		}
	}
	return scheme + "://" + address + "?" + strings.Join(options, "&")
}

// shortest is the minimum length of a secret, in bytes. A shorter one protects nothing, and occurs in many texts by
// chance.
const shortest = 3

// Secrets returns the secrets in a URL, both as written and decoded, the longest first, so that they can be removed
// from a text.
func Secrets(text string) (secrets []string) {
	add := func(written string, unescape func(string) (string, error)) {
		meant, err := unescape(written)
		if err != nil {
			meant = written
		}
		for _, secret := range []string{written, meant} {
			if len(secret) >= shortest && !slices.Contains(secrets, secret) {
				secrets = append(secrets, secret)
			}
		}
	}
	_, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	if secret, at := password(rest); at >= 0 {
		add(secret, url.PathUnescape)
	}
	_, query, _ := strings.Cut(rest, "?")
	for option := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(option, "=")
		if _, secret := isSecret(name); secret {
			add(value, url.QueryUnescape)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}
