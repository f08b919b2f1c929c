package printable_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/printable"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "orders/42": "orders/42", "schlüssel 錠前 \U0001F512": "schlüssel 錠前 \U0001F512", `a\b`: `a\b`,
		"a\x1b[31mb\n": "a\uFFFD[31mb\uFFFD", "a\u0085": "a\uFFFD", "\xff": "\uFFFD",
		"a\u200bb": `a\u200bb`, "\u202egpj": `\u202egpj`, "\u2066x\u2069": `\u2066x\u2069`, "a\u2028b\u2029": `a\u2028b\u2029`,
		"\u00ad\ufeff": `\u00ad\ufeff`, "\U000e0041": `\U000e0041`, "👩\u200d🚒": `👩\u200d🚒`,
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
