package location

import (
	"net/url"
	"slices"
	"strings"
)

// hidden stands where something secret was.
const hidden = "xxxxx"

// password returns what may be one in the part of a URL behind its scheme, as it is written
// there, and where it begins. It rather takes too much than too little: everything before the
// last @ may be part of a password.
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

// isSecret says whether an option is called after something secret. A name that cannot be read
// may be.
func isSecret(name string) (readable string, secret bool) {
	readable, err := url.QueryUnescape(strings.ToLower(name))
	return readable, err != nil || strings.Contains(readable, "pass") || strings.Contains(readable, "secret") || strings.Contains(readable, "token")
}

// Folder makes a URL of the path of a folder, which is what stands alone: /var/lib/locks is
// pebble:///var/lib/locks. Anything else stays as it is; so does what may be a URL that lacks
// its scheme.
func Folder(text string) string {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "@") || strings.Contains(text, "://") {
		return text
	}
	return (&url.URL{Scheme: "pebble", Path: text}).String()
}

// Redacted is a URL as it may be shown: without its password, and without the values of options
// that are called after something secret. What is neither a URL nor a folder is not shown at all.
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

// shortest is how many bytes something secret has at least. What is shorter protects nothing,
// and is in many a text by chance.
const shortest = 3

// Secrets lists what is secret in a URL, as it is written there and as it is meant, the longest
// first: so that it can be taken out of a text.
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
