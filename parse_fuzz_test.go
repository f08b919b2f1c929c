package holdfast_test

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// FuzzParse reads tokens, modes and classes: what is accepted is written as it was read
// (nothing is a default), and what is not is named by the error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0", "1", "007", "+1", "9223372036854775807", "9223372036854775808", "1_0", "exclusive", "shared", "slots", "fenced", "available", "Shared", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := holdfast.ParseToken(text)
		if accepted(t, text, err) && (token == 0 || strings.TrimLeft(text, "0") != token.String()) {
			t.Errorf("%q is token %v", text, token)
		}
		mode, err := holdfast.ParseMode(text)
		if accepted(t, text, err) && mode.String() != text && text != "" {
			t.Errorf("%q is mode %v", text, mode)
		}
		class, err := holdfast.ParseClass(text)
		if accepted(t, text, err) && class.String() != text && text != "" {
			t.Errorf("%q is class %v", text, class)
		}
	})
}

func accepted(t *testing.T, text string, err error) bool {
	t.Helper()
	if err != nil && text != "" && text[0] > ' ' && text[0] < 0x7f && text[0] != '"' && text[0] != '\\' && !strings.Contains(err.Error(), text[:1]) {
		t.Errorf("the error for %q does not name it: %v", text, err)
	}
	return err == nil
}
