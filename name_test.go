package holdfast_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", " ", "site/page/field", "/", "..", "schlüssel", "錠前", "\U0001F512", "❤\ufe0f", "\uFFFD", "e\u0301",
		strings.Repeat("x", holdfast.MaxName), strings.Repeat("é", holdfast.MaxName/2),
	} {
		if err := holdfast.CheckName(name); err != nil {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
	for name, says := range map[string]string{
		"":                                      "it is empty; give 1 to 512 bytes",
		strings.Repeat("x", holdfast.MaxName+1): "it has 513 bytes; 512 are allowed",
		strings.Repeat("é", holdfast.MaxName/2+1): "it has 514 bytes; 512 are allowed",
		"ab\n":         "control character U+000A at byte 2",
		"\x00":         "control character U+0000 at byte 0",
		"\x7f":         "control character U+007F",
		"a\u0085":      "control character U+0085 at byte 1",
		"a\u200bb":     "invisible format character U+200B at byte 1; leave it out",
		"\u202egpj":    "invisible format character U+202E at byte 0",
		"a\u2066":      "format character U+2066",
		"\ufeffa":      "format character U+FEFF",
		"a\u00ad":      "format character U+00AD",
		"a\u2028b":     "format character U+2028",
		"a\u2029":      "format character U+2029",
		"\U000e0041":   "format character U+E0041",
		"👩\u200d🚒":     "format character U+200D at byte 4",
		"\xff":         "byte 0 is not UTF-8",
		"cut \xe2\x82": "byte 4 is not UTF-8",
		"\xc0\xaf":     "byte 0 is not UTF-8",
		"\xed\xa0\x80": "byte 0 is not UTF-8",
	} {
		err := holdfast.CheckName(name)
		if !errors.Is(err, holdfast.ErrName) || !strings.Contains(err.Error(), says) {
			t.Errorf("CheckName(%q) = %v, want %v saying %q", name, err, holdfast.ErrName, says)
		}
	}
}

// TestCheckNameLooksAtEveryByte, at every position.
func TestCheckNameLooksAtEveryByte(t *testing.T) {
	for size := range 18 {
		for at := range size {
			for b := range 256 {
				name := []byte(strings.Repeat("~ ", 9)[:size])
				name[at] = byte(b)
				if err := holdfast.CheckName(string(name)); (err == nil) != (b >= ' ' && b <= '~') {
					t.Fatalf("CheckName(%q): %v", name, err)
				}
			}
		}
	}
}

func TestCheckText(t *testing.T) {
	for _, text := range []string{"", "deploy of release 7", strings.Repeat("x", holdfast.MaxText)} {
		if err := holdfast.CheckText("reason", text); err != nil {
			t.Errorf("CheckText(%q): %v", text, err)
		}
	}
	for text, says := range map[string]string{
		strings.Repeat("x", holdfast.MaxText+1): "reason has 1025 bytes; 1024 are allowed",
		"two\nlines":                            "control character U+000A",
		"a\u202eb":                              "invisible format character U+202E",
		"\xff":                                  "not UTF-8",
	} {
		err := holdfast.CheckText("reason", text)
		if !errors.Is(err, holdfast.ErrName) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "reason") {
			t.Errorf("CheckText(%q) = %v, want %v saying reason and %q", text, err, holdfast.ErrName, says)
		}
	}
}

func TestCheckSpace(t *testing.T) {
	for _, space := range []string{"default", "a", "Billing-2.eu_west", strings.Repeat("x", 64)} {
		if err := holdfast.CheckSpace(space); err != nil {
			t.Errorf("CheckSpace(%q): %v", space, err)
		}
	}
	for _, space := range []string{"", strings.Repeat("x", 65), "a b", "a/b", "a,b", "a=b", "é", "\xff", "a\n"} {
		if err := holdfast.CheckSpace(space); !errors.Is(err, holdfast.ErrName) {
			t.Errorf("CheckSpace(%q) = %v, want %v", space, err, holdfast.ErrName)
		}
	}
}

var formats = regexp.MustCompile(`^\p{Cf}$`)

// FuzzCheckName: a name is accepted if and only if the rule, written in other words than
// those of CheckName, says so; and as text it is accepted where it is no longer.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"", "a", "a/b", "\xff", "a\x00b", "\uFFFD", "\u0085", "\x7f", "\xc2\x85", "\u200b", "a\u202e", "\u2028", "\u2029", "\u00ad", "\U000e0001", "\u180e", "\u2065", "\ufe0f", strings.Repeat("ä", 256), strings.Repeat("x", 513)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		plain := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
			return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || formats.MatchString(string(r))
		})
		for _, rule := range []struct {
			err  error
			want bool
		}{
			{holdfast.CheckName(name), plain && len(name) >= 1 && len(name) <= holdfast.MaxName},
			{holdfast.CheckText("reason", name), plain && len(name) <= holdfast.MaxText},
			{holdfast.CheckValue(name), utf8.ValidString(name) && !strings.Contains(name, "\x00") && len(name) <= holdfast.MaxValue},
		} {
			if rule.err != nil && !errors.Is(rule.err, holdfast.ErrName) || (rule.err == nil) != rule.want {
				t.Errorf("%q: %v, and accepted should be %t", name, rule.err, rule.want)
			}
			if rule.err != nil && !utf8.ValidString(rule.err.Error()) {
				t.Errorf("%q: the error is not UTF-8: %q", name, rule.err)
			}
		}
		if holdfast.CheckSpace(name) == nil && holdfast.CheckName(name) != nil {
			t.Errorf("%q may name a space, and not a lock", name)
		}
	})
}
