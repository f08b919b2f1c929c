package lock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestRevokeSession checks that a revoked session's waits end, that later waiters are served, and that its holds are
// asked to end and stay until they are released. No other session is affected.
func TestRevokeSession(t *testing.T) {
	table, err := lock.New(lock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(1, 0)
	var out []lock.Decision
	leaving, other := lock.SessionID{Member: 1, Number: 1}, lock.SessionID{Member: 1, Number: 2}
	ask := func(s lock.SessionID, id uint64, name string, mode holdfast.Mode) {
		table.Acquire(0, &lock.Request{Session: s, ID: id, Name: name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}, Owner: "o"}, WaitEnd: lock.Never}, &out)
	}
	ask(leaving, 1, "a", holdfast.ModeExclusive)
	ask(leaving, 2, "a", holdfast.ModeExclusive) // enters it again
	ask(other, 1, "b", holdfast.ModeShared)
	ask(leaving, 3, "b", holdfast.ModeExclusive)
	ask(other, 2, "a", holdfast.ModeExclusive)
	third := lock.SessionID{Member: 2, Number: 9}
	ask(third, 1, "b", holdfast.ModeShared)
	drain := func() (said []string) {
		for _, d := range out {
			text := fmt.Sprintf("%d/%d %v %s", d.Session.Number, d.Request, d.Kind, d.Name)
			if d.Loss != "" {
				text += " " + string(d.Loss)
			}
			said = append(said, text)
		}
		out = out[:0]
		return said
	}
	drain()
	wants := func(want ...string) {
		t.Helper()
		if got := drain(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	table.RevokeSession(1, leaving, holdfast.MemberLost, holdfast.ErrUnavailable, &out)
	if out[0].Err != holdfast.ErrUnavailable {
		t.Errorf("the wait ends with %v", out[0].Err)
	}
	wants("1/3 refused b", "1/1 revoked a member_lost", "1/2 revoked a member_lost", "9/1 granted b")
	table.RevokeSession(1, leaving, holdfast.MemberLost, holdfast.ErrUnavailable, &out)
	wants("1/1 revoked a member_lost", "1/2 revoked a member_lost")
	if err := table.Extend(1, leaving, "a", table.Show("a").Token, 5); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("a grant that is to end is extended: %v", err)
	}
	ask(leaving, 4, "a", holdfast.ModeExclusive)
	wants("1/4 queued a") // it cannot be entered again
	requests := ""
	table.Requests(leaving, func(request uint64, name string, _ holdfast.Token) { requests += fmt.Sprintf("%d %s, ", request, name) })
	if requests != "1 a, 2 a, 4 a, " {
		t.Errorf("its requests are %q", requests)
	}
	if holds, waiters := table.Session(leaving); holds != 2 || waiters != 1 {
		t.Errorf("%d holds and %d waiters are left", holds, waiters)
	}
	for _, id := range []uint64{1, 2} {
		if err := table.Release(2, leaving, "a", 0, id, &out); err != nil {
			t.Fatal(err)
		}
	}
	wants("1/1 released a", "1/2 released a", "2/2 granted a")
	table.RevokeSession(3, lock.SessionID{Member: 5}, holdfast.MemberLost, holdfast.ErrUnavailable, &out)
	wants()
}

// TestSessionsOf checks which of a member's sessions hold or wait, regardless of earlier sessions.
func TestSessionsOf(t *testing.T) {
	table, err := lock.New(lock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(1, 0)
	var out []lock.Decision
	for i, member := range []uint64{1, 2, 1, 1, 2} {
		table.Acquire(0, &lock.Request{Session: lock.SessionID{Member: member, Number: uint64(9 - i)}, ID: 1, Name: "a", WaitEnd: lock.Never}, &out)
	}
	table.EndSession(0, lock.SessionID{Member: 1, Number: 7}, "", &out)
	if got, want := fmt.Sprint(table.SessionsOf(1)), fmt.Sprint([]lock.SessionID{{Member: 1, Number: 6}, {Member: 1, Number: 9}}); got != want {
		t.Errorf("%s of member 1 are there, want %s", got, want)
	}
	if got := table.SessionsOf(3); got != nil {
		t.Errorf("%v of member 3 are there", got)
	}
}
