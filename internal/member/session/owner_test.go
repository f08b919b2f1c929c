package session

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestSessionsAreTheirOpeners: where the edge knows who has opened a session, its secret in
// the hands of another is worth nothing; where it does not, the secret is all there is.
func TestSessionsAreTheirOpeners(t *testing.T) {
	for _, tt := range []struct {
		opener, user string
		want         error
	}{{"a", "a", nil}, {"a", "b", ErrForeign}, {"a", "", ErrForeign}, {"", "b", nil}, {"", "", nil}} {
		p := &presence{owner: tt.opener, secret: Secret{1}}
		if err := p.refusal(Secret{1}, tt.user); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("opened by %q and used by %q: %v, want %v", tt.opener, tt.user, err, tt.want)
		}
		if err := p.refusal(Secret{2}, tt.user); err != ErrUnknown {
			t.Errorf("without the secret a client got %v", err)
		}
	}
	if err := (*presence)(nil).refusal(Secret{}, ""); err != ErrUnknown {
		t.Errorf("a session that is none: %v", err)
	}
	if !errors.Is(ErrForeign, holdfast.ErrDenied) {
		t.Error("it is not a refusal for want of permission")
	}
}
