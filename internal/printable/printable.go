package printable

import (
	"fmt"
	"strings"
	"unicode"
)

// Text returns text with each control character replaced by U+FFFD, and each format character (Unicode category Cf) and
// line or paragraph separator by its escape, as in \u202e. Names with those were granted before they were refused.
func Text(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsControl(r):
			b.WriteRune(unicode.ReplacementChar)
		case !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// isPlain reports whether a text has only printable ASCII characters, as nearly all have.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
