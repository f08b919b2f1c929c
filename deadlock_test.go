package holdfast_test

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

func TestDeadlockErrorIsASentence(t *testing.T) {
	for want, err := range map[string]*holdfast.DeadlockError{
		"deadlock": {},
		`deadlock: this session holds "b", for which client "x" waits, which holds "a"`: {Cycle: []holdfast.DeadlockStep{
			{Client: "me", Name: "a"}, {Client: "x", Name: "b"},
		}},
		`deadlock: owner "w" waits earlier for "c", for which session 9-2 waits, which holds "b", for which owner "y" waits, which waits earlier for "a"`: {Cycle: []holdfast.DeadlockStep{
			{Owner: "w", Name: "a", Ahead: true}, {Owner: "y", Client: "x", Name: "b"}, {Session: "9-2", Name: "c", Ahead: true},
		}},
		`deadlock: this session holds "b", for which client "x" waits, and so on through 3 more, which holds "a"`: {More: 3, Cycle: []holdfast.DeadlockStep{
			{Name: "a"}, {Client: "x", Name: "b"},
		}},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !errors.Is(err, holdfast.ErrDeadlock) || errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%v: it is not just an ErrDeadlock", err)
		}
	}
}

func TestDeadlockPolicy(t *testing.T) {
	r, err := holdfast.NewRequest("a", holdfast.Deadlock(holdfast.Fail))
	if err != nil || r.Deadlock != holdfast.Fail {
		t.Errorf("got %v, %v", r.Deadlock, err)
	}
	if r, err := holdfast.NewRequest("a"); err != nil || r.Deadlock != holdfast.Ignore {
		t.Errorf("got %v, %v", r.Deadlock, err)
	}
	_, err = holdfast.NewRequest("a", holdfast.Deadlock(7))
	if !errors.Is(err, holdfast.ErrConflict) || err.Error() != "conflict: deadlock DeadlockPolicy(7): want ignore or fail" {
		t.Errorf("got %v", err)
	}
}
