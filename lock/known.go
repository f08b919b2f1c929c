package lock

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
)

// CheckKnown is holdfast.CheckName for the name of a lock that may be older than this version, or come from an older
// member: names with format characters were granted once. Such a lock can be released, shown and broken.
func CheckKnown(name string) error {
	err := holdfast.CheckName(name)
	if err != nil && hasFormat(name) && len(name) <= holdfast.MaxName {
		return holdfast.CheckName(withoutFormat(name))
	}
	return err
}

// CheckKnownText is holdfast.CheckText for a text that may be older than this version, or come from an older member.
func CheckKnownText(field, text string) error {
	err := holdfast.CheckText(field, text)
	if err != nil && hasFormat(text) && len(text) <= holdfast.MaxText {
		return holdfast.CheckText(field, withoutFormat(text))
	}
	return err
}

// isFormat reports whether holdfast.CheckName refuses a character that it accepted once.
func isFormat(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

func hasFormat(text string) bool {
	return utf8.ValidString(text) && strings.ContainsFunc(text, isFormat)
}

// withoutFormat replaces each format character of a text.
func withoutFormat(text string) string {
	return strings.Map(func(r rune) rune {
		if isFormat(r) {
			return '?'
		}
		return r
	}, text)
}
