package server

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/server/edge"
)

// FuzzCredentials: what proves a session is read in one way alone, but for the case of
// the secret's digits, and no error repeats what may be a secret.
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{
		"", ".", "7-1", "7-1.", "7-1.00000000000000000000000000000000", "7-1.0000000000000000000000000000000G", "7-1.ABCDEF00000000000000000000000000",
		"7-1.000000000000000000000000000000000", "a.b.c", " 7-1.00000000000000000000000000000000",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		proof, err := parseCredentials(text)
		if err == nil && !strings.EqualFold(proof.String(), text) {
			t.Errorf("%q is read as %v", text, proof)
		}
		if _, private, _ := strings.Cut(text, "."); err != nil && len(private) > 8 && strings.Contains(err.Error(), private) {
			t.Errorf("the error says %q", err)
		}
		if secret, ok := edge.ParseSecret(text); ok && !strings.EqualFold(edge.FormatSecret(secret), text) {
			t.Errorf("%q is read as the secret %v", text, secret)
		}
	})
}
