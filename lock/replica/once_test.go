package replica

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// wanted is a request for an intent.
func wanted(n, request uint64, name, once string) Op {
	o := acquire(n, request, name)
	o.Once, o.Content = once, 1
	return o
}

func cancel(n, request uint64, name string) Op {
	return Op{Kind: Cancel, Session: id(n), Request: request, Name: name}
}

// decisionsOf lists the decisions of an operation in one line.
func decisionsOf(out Effects) string {
	line := ""
	for _, d := range out.Decisions {
		line += fmt.Sprintf(" %d:%d %v", d.Session.Number, d.Request, d.Kind)
		if d.Token != 0 {
			line += fmt.Sprintf(" #%d", uint32(d.Token))
		}
		if d.Err != nil {
			line += " (" + d.Err.Error() + ")"
		}
	}
	if line == "" {
		return ""
	}
	return line[1:]
}

// TestIntents checks that an intent of a client is one hold, regardless of its number of requests and the order of
// these and their ends, also in a copy restored after any of them.
func TestIntents(t *testing.T) {
	type step struct {
		op   Op
		want string
	}
	held := step{wanted(1, 1, "x", "w"), "1:1 granted #1"}
	for name, steps := range map[string][]step{
		"granted through another member": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {cancel(1, 1, "x"), "1:1 released"}, {cancel(1, 1, "x"), "1:1 released"},
			{wanted(1, 1, "x", "w"), "1:1 released"}, {acquire(2, 1, "x"), "2:1 queued"}, {wanted(1, 2, "x", "w"), "1:2 granted #1"},
			{release(1, 0, "x", 1<<32|1), "1:2 released #1 2:1 granted #2"},
		},
		"the first comes last": {
			{wanted(1, 2, "x", "w"), "1:2 granted #1"}, {wanted(1, 1, "x", "w"), "1:1 granted #1"}, {cancel(1, 1, "x"), "1:1 released"},
			{release(1, 2, "x", 0), "1:2 released #1"}, {release(1, 2, "x", 0), "1:2 released #1"},
		},
		"released by who has given it up": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {cancel(1, 1, "x"), "1:1 released"}, {release(1, 1, "x", 0), "1:1 released"},
			{wanted(1, 2, "x", "w"), "1:2 granted #1"}, {release(1, 2, "x", 0), "1:2 released #1"},
		},
		"given up before it came": {
			{wanted(1, 2, "x", "w"), "1:2 granted #1"}, {cancel(1, 1, "x"), "1:1 released"}, {wanted(1, 1, "x", "w"), "1:1 released"},
		},
		"given up by all": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {acquire(2, 1, "x"), "2:1 queued"}, {cancel(1, 2, "x"), "1:2 released"},
			{cancel(1, 1, "x"), "1:1 released #1 2:1 granted #2"}, {wanted(1, 3, "x", "w"), "1:3 queued"},
		},
		"given up by all, the first one first": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {cancel(1, 1, "x"), "1:1 released"},
			{cancel(1, 2, "x"), "1:2 released #1"}, {wanted(1, 3, "x", "w"), "1:3 granted #2"},
		},
		"it waits": {
			{acquire(2, 1, "x"), "2:1 granted #1"}, {wanted(1, 1, "x", "w"), "1:1 queued"}, {acquire(3, 1, "x"), "3:1 queued"},
			{wanted(1, 2, "x", "w"), "1:2 queued"}, {wanted(1, 3, "x", "w"), "1:3 queued"}, {cancel(1, 1, "x"), "1:1 released"},
			{release(2, 1, "x", 0), "2:1 released #1 1:2 granted #2 1:3 granted #2"},
			{release(1, 3, "x", 0), "1:2 released #2 1:3 released #2 3:1 granted #3"},
		},
		"it was released": {
			held, {release(1, 0, "x", 1<<32|1), "1:1 released #1"}, {wanted(1, 2, "x", "w"), "1:2 released #1"},
			{wanted(1, 3, "x", "other"), "1:3 granted #2"},
		},
		"it was lost, and its session": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {Op{Kind: Break, Name: "x"}, "1:1 revoked #1 1:2 revoked #1"},
			{wanted(1, 3, "x", "w"), "1:3 granted #1 1:3 revoked #1"}, {cancel(1, 3, "x"), "1:3 released"},
			{Op{Kind: Expire, Session: id(1)}, "1:1 lost #1 1:2 lost #1"},
		},
		"not for other sessions, names and contents": {
			held, {wanted(2, 1, "x", "w"), "2:1 queued"}, {wanted(1, 2, "y", "w"), "1:2 granted #2"},
			{func() Op { o := wanted(1, 3, "x", "w"); o.Content = 2; return o }(), `1:3 refused (conflict: request "w" was sent before with another content)`},
			{wanted(1, 1, "y", "w"), "1:1 granted #2"}, {cancel(1, 1, "y"), "1:1 released"}, {wanted(1, 1, "x", "w"), "1:1 granted #1"},
		},
		"asked again by who does not know what is wanted": {
			held, {wanted(1, 2, "x", "w"), "1:2 granted #1"}, {acquire(1, 2, "x"), "1:2 granted #1"}, {cancel(1, 1, "x"), "1:1 released"}, {acquire(1, 1, "x"), "1:1 released"},
		},
	} {
		for restores := range len(steps) + 1 {
			b := newHarness(t, Config{})
			b.do(open(1), open(2), open(3))
			for i, s := range steps {
				if i == restores {
					b.Replica = copied(t, b.Replica)
				}
				if got := decisionsOf(b.do(s.op)); got != s.want {
					t.Errorf("%s: step %d, restored before %d: %q; want %q", name, i, restores, got, s.want)
				}
				checkOnce(t, b.Replica)
			}
		}
	}
}

// TestHoldLimitOfAnIntent checks that the limit counts from the sending of each request: a later one has less of it.
func TestHoldLimitOfAnIntent(t *testing.T) {
	limited := func(request uint64, age time.Duration) Op {
		o := wanted(1, request, "x", "w")
		o.Hold, o.Age = 10*time.Second, age
		return o
	}
	for name, act := range map[string]func(b *harness) []lock.Decision{
		"it holds": func(b *harness) []lock.Decision {
			all := b.do(limited(1, 0)).Decisions
			b.at += 4 * time.Second
			return append(all, b.do(limited(2, 0)).Decisions...)
		},
		"it waits": func(b *harness) []lock.Decision {
			b.do(acquire(2, 1, "x"), limited(1, time.Second))
			b.at += 4 * time.Second
			b.do(limited(2, time.Second))
			return b.do(release(2, 1, "x", 0)).Decisions[1:]
		},
	} {
		b := newHarness(t, Config{})
		b.do(open(1), open(2))
		all := act(b)
		end := b.Due()
		if len(all) != 2 || all[0].Request != 1 || all[1].Request != 2 || all[0].Hold-all[1].Hold < 3800*time.Millisecond || all[0].Hold-all[1].Hold > 4*time.Second {
			t.Fatalf("%s: decided %+v; want the second to have 4 s less", name, all)
		}
		// The latest time until which the second's client believes is its hold after its request came.
		if came := b.at; name == "it holds" && came+all[1].Hold*105/100 > end {
			t.Errorf("%s: believed until %v, ended at %v", name, came+all[1].Hold, end)
		}
	}
}

// TestIntentsAreBounded checks the bounds on ended intents, by number and time, and on the requests of one intent.
func TestIntentsAreBounded(t *testing.T) {
	b := newHarness(t, Config{Requests: 2, Remember: time.Minute})
	b.do(open(1), open(2))
	over := func(n, request uint64) {
		once := fmt.Sprint("w", request)
		b.only(wanted(n, request, "x", once))
		b.only(release(n, request, "x", 0))
	}
	over(1, 1)
	b.at += 10 * time.Second
	over(2, 2)
	if d := b.only(wanted(1, 3, "x", "w3")); d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrLimit) {
		t.Errorf("above the bound: %+v", d)
	}
	if d := b.only(wanted(1, 4, "x", "w1")); d.Kind != lock.Released {
		t.Errorf("one that is remembered is answered %+v", d)
	}
	b.at += 50 * time.Second
	b.Replica = copied(t, b.Replica)
	over(1, 5) // the first is forgotten
	b.do(Op{Kind: End, Session: id(2)})
	if d := b.only(wanted(1, 6, "x", "w6")); d.Kind != lock.Granted {
		t.Errorf("after the end of a session: %+v", d)
	}
	for n := uint64(7); n < 6+MaxIntentRequests; n++ {
		b.only(wanted(1, n, "x", "w6"))
	}
	if d := b.only(wanted(1, 100, "x", "w6")); d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrLimit) {
		t.Errorf("asked for once more: %+v", d)
	}
	for n := uint64(1000); n < 1300; n++ {
		b.do(open(n), wanted(n, 1, fmt.Sprint(n), "w"), release(n, 1, fmt.Sprint(n), 0), Op{Kind: End, Session: id(n)})
	}
	if n := len(b.remembered.list); n > 100 {
		t.Errorf("%d intents of sessions that have ended are kept", n)
	}
	if _, err := New(Config{Remember: -1}); err == nil {
		t.Error("a negative time is allowed")
	}
}

// checkIntents checks that each intent is held or waited for once, by its own session.
func checkIntents(t *testing.T, r *Replica) {
	t.Helper()
	over := 0
	for _, s := range r.sessions {
		requests := 0
		for key, w := range s.intents {
			switch {
			case w.intentKey != key || w.given || w.gone:
				t.Errorf("%+v is kept under %+v", w, key)
			case w.over:
				over++
				if !slices.Contains(r.remembered.list, w) {
					t.Errorf("%+v will never be forgotten", w)
				}
				continue
			case len(w.requests) == 0 || !r.table.Knows(s.ID, w.name, w.number):
				t.Errorf("%+v is neither held nor waited for", w)
			}
			for _, a := range w.requests {
				requests++
				if s.open[requestFor{a.number, w.name}] != w {
					t.Errorf("request %d of %+v is not known to be one", a.number, w)
				}
				if d, known := r.Standing(s.ID, w.name, a.number); !known || d.Request != a.number {
					t.Errorf("request %d of %+v stands as %+v, %v", a.number, w, d, known)
				}
			}
			if w.find(w.number) < 0 {
				requests++
				if _, known := r.Standing(s.ID, w.name, w.number); known || s.open[requestFor{w.number, w.name}] != w {
					t.Errorf("request %d of %+v was given up, and stands", w.number, w)
				}
			}
		}
		if requests != len(s.open) {
			t.Errorf("%d requests are for intents, and %d are known to be", requests, len(s.open))
		}
	}
	if over != r.remembered.count {
		t.Errorf("%d intents are over, and %d are counted", over, r.remembered.count)
	}
}

// TestEndIdle checks that a session without holds and waits is ended by what the log says: another member may have made
// a request meanwhile.
func TestEndIdle(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1), open(2))
	b.only(acquire(1, 1, "x"))
	b.only(acquire(2, 1, "x"))
	for n := uint64(1); n <= 2; n++ { // one holds, and one waits
		if out := b.do(Op{Kind: EndIdle, Session: id(n)}); len(out.Decisions)+len(out.Failures) > 0 || b.Len() != 2 {
			t.Errorf("session %d: %+v, and %d sessions", n, out, b.Len())
		}
	}
	b.do(release(1, 1, "x", 0), cancel(2, 1, "x"))
	b.do(Op{Kind: EndIdle, Session: id(1)}, Op{Kind: EndIdle, Session: id(2)})
	if d := b.only(acquire(1, 2, "x")); !errors.Is(d.Err, holdfast.SessionExpired) || b.Len() != 0 {
		t.Errorf("%+v, and %d sessions", d, b.Len())
	}
}
