package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestSucceed: to its member a client that succeeds another one is the same.
func TestSucceed(t *testing.T) {
	s, v := newStage(t)
	s.holdAmongBeats(v, "x", 1)
	credentials := s.client.Credentials()
	_, w := newStage(t, Succeed(credentials))
	if w.hello.GetSession() != "a-1" || w.hello.GetSecret() != "secret of a-1" || w.hello.GetNumber() != v.hello.GetNumber() {
		t.Errorf("it resumes by %v, want the session and the number of %v", w.hello, v.hello)
	}
}

// TestBadCredentials: they are refused before any member is asked, and the error has nothing of them.
func TestBadCredentials(t *testing.T) {
	for _, credentials := range []string{"", "nonsense", "a.nonsense", "a.nonsense.", "a.nonsense.0", ".nonsense.1", "a..1", "a.nonsense.!", "a.b.1.nonsense"} {
		_, err := Dial(t.Context(), "127.0.0.1:1", Succeed(credentials))
		if !errors.Is(err, holdfast.ErrConflict) || strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%q: %v", credentials, err)
		}
	}
}
