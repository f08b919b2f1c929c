package replica

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a replica and the time of its entries.
type harness struct {
	*testing.T
	*Replica
	at Time
}

func newHarness(t *testing.T, c Config) *harness {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b := &harness{t, r, time.Second}
	b.apply(Entry{Begin: true})
	return b
}

// apply applies an entry as another copy reads it.
func (b *harness) apply(e Entry) Effects {
	b.Helper()
	e.At = b.at
	var read Entry
	if err := read.Decode(e.Append(nil)); err != nil {
		b.Fatalf("%+v: %v", e, err)
	}
	var out Effects
	b.Apply(&read, &out)
	return out
}

func (b *harness) do(ops ...Op) Effects {
	b.Helper()
	return b.apply(Entry{Ops: ops})
}

// only returns the one decision about operations.
func (b *harness) only(ops ...Op) lock.Decision {
	b.Helper()
	out := b.do(ops...)
	if len(out.Decisions) != 1 || len(out.Failures) != 0 {
		b.Fatalf("%+v; want one decision", out)
	}
	return out.Decisions[0]
}

func id(n uint64) lock.SessionID { return lock.SessionID{Member: 1, Number: n} }

func open(n uint64) Op {
	return Op{Kind: Open, Session: id(n), TTL: 10 * time.Second, Secret: Secret{byte(n)}, Client: fmt.Sprint("client ", n)}
}

func acquire(n, request uint64, name string) Op {
	return Op{Kind: Acquire, Session: id(n), Request: request, Name: name, Wait: lock.Never, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}}
}

func release(n, request uint64, name string, token holdfast.Token) Op {
	return Op{Kind: Release, Session: id(n), Request: request, Name: name, Token: token}
}

func TestReleaseGrantsTheNext(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1), open(2))
	first := b.only(acquire(1, 1, "a"))
	if d := b.only(acquire(2, 1, "a")); d.Kind != lock.Queued {
		t.Fatal(d)
	}
	out := b.do(release(1, 1, "a", first.Token))
	if len(out.Decisions) != 2 || out.Decisions[0].Kind != lock.Released || out.Decisions[1].Kind != lock.Granted || out.Decisions[1].Token <= first.Token {
		t.Errorf("%+v; want the release and the next grant", out.Decisions)
	}
}

// TestRequestsActOnce checks that requests act once, also if repeated after 10,000 others, and in a restored copy.
// Package consensus plays Hazelcast's tests of this by name (docs/protocols/consensus.md).
func TestRequestsActOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		ends func(b *harness, d lock.Decision) // ends request 7 of session 1
		op   Op                                // the repeated operation
		want lock.Decision
	}{
		{"lock that waits is granted once", nil, acquire(1, 7, "x"), lock.Decision{Kind: lock.Granted}},
		{"lock that was released", func(b *harness, d lock.Decision) { b.only(release(1, 7, "x", d.Token)) }, acquire(1, 7, "x"), lock.Decision{Kind: lock.Released}},
		{"unlock", func(b *harness, d lock.Decision) { b.only(release(1, 7, "x", d.Token)) }, release(1, 7, "x", 0), lock.Decision{Kind: lock.Released}},
		{"cancel", func(b *harness, d lock.Decision) { b.only(Op{Kind: Cancel, Session: id(1), Request: 7, Name: "x"}) }, Op{Kind: Cancel, Session: id(1), Request: 7, Name: "x"}, lock.Decision{Kind: lock.Released}},
	} {
		for _, restored := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, restored), func(t *testing.T) {
				b := newHarness(t, Config{Outcomes: 30_000})
				b.do(open(1), open(2))
				granted := b.only(acquire(1, 7, "x"))
				if test.ends != nil {
					test.ends(b, granted)
				}
				for i := uint64(100); i < 10_100; i++ {
					d := b.only(acquire(1, i, "others"))
					b.only(release(1, i, "others", d.Token))
				}
				if restored {
					b.Replica = copied(t, b.Replica)
				}
				holds := b.Table().Holds()
				d := b.only(test.op)
				if d.Kind != test.want.Kind || d.Token != granted.Token || b.Table().Holds() != holds {
					t.Errorf("answered %+v, and %d holds are %d; want %v under %v, and nothing done", d, holds, b.Table().Holds(), test.want.Kind, granted.Token)
				}
			})
		}
	}
}

// TestForgottenOutcomeIsRefused checks that the end of a request is remembered longer than its outcome.
func TestForgottenOutcomeIsRefused(t *testing.T) {
	b := newHarness(t, Config{Outcomes: 3})
	b.do(open(1))
	for i := uint64(1); i <= 5; i++ {
		b.only(release(1, i, "x", b.only(acquire(1, i, "x")).Token))
	}
	if d := b.only(acquire(1, 5, "x")); d.Kind != lock.Released {
		t.Errorf("%+v; want the answer to say again how it ended", d)
	}
	if d := b.only(acquire(1, 1, "x")); d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrConflict) || b.Table().Holds() != 0 {
		t.Errorf("%+v; want the refusal to say that it has ended", d)
	}
}

// TestCancelledBeforeItCame checks that a request that was cancelled before its arrival has no effect.
func TestCancelledBeforeItCame(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1))
	if d := b.only(Op{Kind: Cancel, Session: id(1), Request: 4, Name: "x"}); d.Kind != lock.Released {
		t.Error(d)
	}
	if d := b.only(acquire(1, 4, "x")); d.Kind != lock.Released || b.Table().Holds() != 0 {
		t.Errorf("%+v: it holds", d)
	}
}

// TestGivenUp checks that a request that a member gives up on its own keeps the hold if another request was made for
// it, in whichever order that comes, and gives it up otherwise.
func TestGivenUp(t *testing.T) {
	by := func(o Op, member, number uint64) Op {
		o.ID = OpID{member, number}
		return o
	}
	givesUp := Op{Kind: Cancel, Session: id(1), Request: 4, Name: "x", GivenUp: true}
	intent := acquire(1, 4, "x")
	intent.Once = "w"
	for _, op := range []Op{acquire(1, 4, "x"), intent} {
		for name, c := range map[string]struct {
			ops   []Op
			stays bool
		}{
			"asked through it alone":           {[]Op{by(op, 1, 1), by(op, 1, 2), by(givesUp, 1, 3)}, false},
			"and then through another":         {[]Op{by(op, 1, 1), by(op, 2, 1), by(givesUp, 1, 2)}, true},
			"first through the other":          {[]Op{by(op, 2, 1), by(op, 1, 1), by(givesUp, 1, 2)}, true},
			"through the other, its word lost": {[]Op{by(op, 2, 1), by(givesUp, 1, 2)}, true},
			"through no member yet":            {[]Op{by(givesUp, 1, 2), by(op, 1, 1)}, false},
			"and back":                         {[]Op{by(op, 1, 1), by(op, 2, 1), by(op, 1, 2), by(givesUp, 1, 3)}, true},
		} {
			b := newHarness(t, Config{})
			b.do(open(1))
			for _, o := range c.ops {
				b.do(o)
				b.Replica = copied(t, b.Replica)
			}
			if holds := b.Table().Holds() == 1; holds != c.stays {
				t.Errorf("once %q, %s: it holds: %t", op.Once, name, holds)
			}
			kept := givesUp
			kept.GivenUp = false
			if b.do(by(kept, 1, 9)); b.Table().Holds() != 0 {
				t.Errorf("once %q, %s: its client gives it up, and it holds", op.Once, name)
			}
			if by, known := b.RequestedBy(id(1), "x", 4); known {
				t.Errorf("once %q, %s: it is over, and known to be asked for by %d", op.Once, name, by)
			}
		}
	}
}

// TestRefusalIsRepeated checks that a repeated request gets a refusal of the same kind.
func TestRefusalIsRepeated(t *testing.T) {
	b := newHarness(t, Config{Table: lock.Config{WaitersPerName: 1}})
	b.do(open(1), open(2), open(3))
	b.only(acquire(1, 1, "x"))
	try := acquire(2, 1, "x")
	try.Try = true
	b.only(acquire(2, 2, "x"))
	for i, op := range []Op{try, acquire(3, 1, "x")} {
		want := []error{holdfast.ErrHeld, holdfast.ErrLimit}[i]
		for range 2 {
			if d := b.only(op); d.Kind != lock.Refused || !errors.Is(d.Err, want) {
				t.Errorf("%+v; want %v", d, want)
			}
		}
	}
}

// TestExpiredSession checks that an expired session loses its holds, and that its later requests are refused with that
// reason.
func TestExpiredSession(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1), open(2))
	held := b.only(acquire(1, 1, "x"))
	b.do(acquire(2, 1, "x"), acquire(1, 2, "y"))
	out := b.do(Op{Kind: Expire, Session: id(1)})
	if len(out.Decisions) != 3 || out.Decisions[0].Loss != holdfast.SessionExpired || out.Decisions[2].Kind != lock.Granted && out.Decisions[1].Kind != lock.Granted {
		t.Errorf("%+v", out.Decisions)
	}
	if d := b.only(acquire(1, 3, "x")); !errors.Is(d.Err, holdfast.SessionExpired) {
		t.Errorf("%+v", d)
	}
	for _, op := range []Op{release(1, 1, "x", held.Token), {Kind: End, Session: id(1)}, {Kind: Expire, Session: id(1)}, {Kind: Extend, Session: id(1), Name: "x", Token: held.Token}} {
		if out := b.do(op); len(out.Failures) != 1 || !errors.Is(out.Failures[0].Err, holdfast.ErrLost) || len(out.Decisions) != 0 {
			t.Errorf("%v: %+v", op.Kind, out)
		}
	}
}

// TestTimeComesWithEntries checks that time comes from entries, and never goes back.
func TestTimeComesWithEntries(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1), open(2))
	hold := acquire(1, 1, "x")
	hold.Hold = time.Second
	b.only(hold)
	wait := acquire(2, 1, "x")
	wait.Wait = 300 * time.Millisecond
	b.only(wait)
	if due := b.Due(); due != b.at+300*time.Millisecond {
		t.Errorf("due at %v", due)
	}
	b.at -= time.Second / 2
	if out := b.apply(Entry{}); len(out.Decisions) != 0 || b.Now() != b.at+time.Second/2 {
		t.Errorf("%+v at %v", out, b.Now())
	}
	b.at += time.Second/2 + 300*time.Millisecond
	if d := b.only(); d.Kind != lock.Refused || d.Session != id(2) {
		t.Errorf("%+v; want the end of the wait", d)
	}
	b.at = b.Due()
	if d := b.only(); d.Kind != lock.Lost || d.Loss != holdfast.HoldLimit {
		t.Errorf("%+v; want the end of the hold", d)
	}
}

// TestBounds checks the bounds on sessions, and the errors of an Open.
func TestBounds(t *testing.T) {
	b := newHarness(t, Config{Sessions: 2})
	other := open(1)
	other.Secret[5]++
	for i, test := range []struct {
		op   Op
		want error
	}{
		{open(1), nil}, {open(1), nil}, {other, holdfast.ErrConflict}, {Op{Kind: Open, Session: id(9)}, holdfast.ErrConflict},
		{Op{Kind: Open, TTL: 1}, holdfast.ErrConflict}, {open(2), nil}, {open(3), holdfast.ErrLimit}, {open(2), nil}, {Op{Kind: End, Session: id(1)}, nil}, {open(1), holdfast.ErrLost}, {open(3), nil},
	} {
		out := b.do(test.op)
		if (len(out.Failures) > 0) != (test.want != nil) || test.want != nil && !errors.Is(out.Failures[0].Err, test.want) {
			t.Errorf("%d: %+v; want %v", i, out, test.want)
		}
	}
	if _, err := New(Config{Sessions: -1}); err == nil {
		t.Error("a negative bound is allowed")
	}
}

// TestReignsFollow checks that reigns follow each other, and that those of a restored state are above the given one.
func TestReignsFollow(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1))
	first := b.only(acquire(1, 1, "x"))
	b.apply(Entry{Begin: true})
	second := b.only(acquire(1, 2, "y"))
	b.AdvancePast(1000)
	b.apply(Entry{Begin: true})
	third := b.only(acquire(1, 3, "z"))
	if first.Token>>32 != 1 || second.Token>>32 != 2 || third.Token>>32 != 1001 || b.Reign() != 1001 {
		t.Errorf("tokens %x %x %x", first.Token, second.Token, third.Token)
	}
	if !b.Table().Held(id(1), "x", first.Token) {
		t.Error("the holder of an earlier reign holds no more")
	}
}

// snapshotParts returns the parts of a snapshot.
func snapshotParts(t *testing.T, r *Replica) (parts [][]byte) {
	t.Helper()
	if err := r.Snapshot(func(part []byte) error { parts = append(parts, part); return nil }); err != nil {
		t.Fatal(err)
	}
	return parts
}

func restored(c Config, parts [][]byte) (*Replica, error) {
	s, err := Restore(c)
	for i := 0; err == nil && i < len(parts); i++ {
		err = s.Add(parts[i])
	}
	if err != nil {
		return nil, err
	}
	return s.Done()
}

// copied is the replica restored from a snapshot.
func copied(t *testing.T, r *Replica) *Replica {
	t.Helper()
	c, err := restored(r.config, snapshotParts(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if c.Digest() != r.Digest() {
		t.Fatal("the copy is in another state")
	}
	return c
}

// random draws an operation.
func random(rand *rand.Rand) Op {
	o := Op{
		Kind: Kind(1 + rand.IntN(int(Amend))), Session: id(1 + rand.Uint64N(6) + 6*rand.Uint64N(2)*rand.Uint64N(4)), Request: 1 + rand.Uint64N(40), Name: fmt.Sprint("n", rand.IntN(5)),
		TTL: time.Second, Wait: lock.Never, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}, Age: time.Duration(rand.Int64N(1e9)),
	}
	if rand.IntN(3) > 0 { // most others end an existing request
		o.Kind = []Kind{Open, Acquire, Acquire, Acquire, Release, Cancel, Amend}[rand.IntN(7)]
	}
	o.Secret[0] = byte(o.Session.Number)
	if rand.IntN(2) == 0 {
		o.ID = OpID{1 + rand.Uint64N(3), 1 + rand.Uint64N(500)}
	}
	if rand.IntN(3) == 0 {
		o.Owner = fmt.Sprint("o", rand.IntN(2))
	}
	switch rand.IntN(6) {
	case 0:
		o.Mode = holdfast.ModeShared
	case 1:
		o.Mode, o.Units, o.Capacity = holdfast.ModeSlots, 1+rand.IntN(2), 3
	case 2:
		o.Name = lock.SpaceLock
	}
	if rand.IntN(3) == 0 {
		o.Hold = time.Duration(rand.Int64N(5e9))
	}
	if rand.IntN(3) == 0 {
		o.Wait = time.Duration(rand.Int64N(3e9))
	}
	switch {
	case o.Kind == Attach, (o.Kind == Open || o.Kind == End) && rand.IntN(2) == 0:
		o.Attached = &lock.Attachments{Attachment: lock.Attachment{Client: 1 + rand.Uint64N(3), Generation: 1 + rand.Uint64N(40)}}
		o.Attached.Former[0] = rand.Uint64N(3)
	}
	if (o.Kind == Acquire || o.Kind == Amend) && rand.IntN(2) == 0 {
		o.Value = fmt.Sprint("v", rand.IntN(9))
	}
	if o.Kind == Acquire && rand.IntN(2) == 0 {
		o.Deadlock = holdfast.Fail
	}
	if o.Kind == Amend {
		o.Revision = 1 + rand.Uint64N(9)
	}
	if o.Kind == Acquire && rand.IntN(2) == 0 {
		o.By = lock.Attachment{Client: 1 + rand.Uint64N(3), Generation: 1 + rand.Uint64N(40)}
	}
	o.Tied = (o.Kind == Open || o.Kind == Attach) && rand.IntN(2) == 0
	o.Try, o.GivenUp = rand.IntN(5) == 0, o.Kind == Cancel && rand.IntN(2) == 0
	if o.Kind == Acquire && o.Name != lock.SpaceLock && rand.IntN(2) == 0 {
		o.Once, o.Content = fmt.Sprint("w", rand.IntN(3)), rand.Uint64N(8)/7
		o.Mode, o.Units, o.Capacity = holdfast.ModeExclusive, 0, 0
	}
	return o
}

// TestCopiesMatch checks that copies match: those that read the entries, and those that are restored on the way.
func TestCopiesMatch(t *testing.T) {
	seeds := uint64(80)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rand := rand.New(rand.NewPCG(seed, 0))
		one := newHarness(t, Config{Outcomes: 20, Requests: 10, Remember: time.Second, Table: lock.Config{WaitersPerName: 4}})
		copies := []*Replica{copied(t, one.Replica)}
		for range 200 {
			one.at += time.Duration(rand.Int64N(2e8))
			e := Entry{At: one.at, Begin: rand.IntN(40) == 0}
			for range rand.IntN(4) {
				e.Ops = append(e.Ops, random(rand))
			}
			var want Effects
			one.Apply(&e, &want)
			for _, c := range copies {
				var got Effects
				c.Apply(&e, &got)
				if fmt.Sprint(got) != fmt.Sprint(want) || c.Digest() != one.Digest() {
					t.Fatalf("seed %d: a copy decides %+v, and the first one %+v", seed, got, want)
				}
			}
			if rand.IntN(30) == 0 {
				copies = append(copies, copied(t, one.Replica))
			}
			checkOnce(t, one.Replica)
		}
	}
}

// checkOnce checks that holds and waits are known by number.
func checkOnce(t *testing.T, r *Replica) {
	t.Helper()
	for _, s := range r.sessions {
		r.Requests(s.ID, func(request uint64, name string) {
			if d, known := r.Standing(s.ID, name, request); !known || d.Request != request {
				t.Errorf("request %d of %v at %q is there, and stands as %+v", request, s.ID, name, d)
			}
		})
	}
	checkIntents(t, r)
}

// readParts restores the snapshot in a file, a part a line.
func readParts(t *testing.T, path string, sessions, holds, waits int) *harness {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	r, err := restored(Config{}, parts)
	if err != nil {
		t.Fatal(err)
	}
	if r.Len() != sessions || r.Table().Holds() != holds || r.Table().Waiters() != waits {
		t.Errorf("%s: %d sessions hold %d and wait for %d", path, r.Len(), r.Table().Holds(), r.Table().Waiters())
	}
	return &harness{t, r, r.Now()}
}

// TestFormerSnapshots checks that former snapshots are read, and that what they lack is unknown.
func TestFormerSnapshots(t *testing.T) {
	b := readParts(t, "testdata/former.txt", 2, 1, 1)
	b.do(Op{Kind: Cancel, ID: OpID{1, 1}, Session: id(1), Request: 4, Name: "x", GivenUp: true})
	if by, known := b.RequestedBy(id(1), "x", 4); known || b.Table().Holds() != 1 {
		t.Errorf("given up by one that may not have asked for it: asked by %d, %t", by, known)
	}
	copied(t, b.Replica)
	b = readParts(t, "testdata/apart.txt", 2, 1, 1)
	if s, _ := b.Session(id(1)); s.Attached != (lock.Attachments{}) {
		t.Errorf("its session is attached to %+v", s.Attached)
	}
	checkOnce(t, b.Replica)
	for member := range uint64(2) {
		if by, known := b.RequestedBy(id(1), "x", 4+member); !known || by != 1+member {
			t.Errorf("request %d was asked for by %d, %t", 4+member, by, known)
		}
	}
	if b.remembered.count != 1 || len(b.sessions[id(1)].intents) != 2 {
		t.Errorf("%d intents are over, of %d", b.remembered.count, len(b.sessions[id(1)].intents))
	}
	copied(t, b.Replica)
	b = readParts(t, "testdata/policyless.txt", 6, 5, 3)
	copied(t, b.Replica)
	b = readParts(t, "testdata/untied.txt", 2, 1, 1)
	if s, _ := b.Session(id(1)); s.Tied != 0 || s.Attached.Client != 7 {
		t.Errorf("its session is %+v", s)
	}
	copied(t, b.Replica)
}

// TestTie checks that the first member that ties a session to itself is the only one, when the session is opened or
// later, and that copies keep that.
func TestTie(t *testing.T) {
	from := func(member uint64, o Op) Op {
		o.ID, o.Tied = OpID{member, o.Session.Number<<8 + uint64(o.Kind)}, true
		return o
	}
	attach := Op{Kind: Attach, Session: id(1)}
	b := newHarness(t, Config{})
	b.do(open(1), from(3, open(2)), acquire(1, 1, "x"), acquire(2, 1, "x"))
	if s, _ := b.Session(id(1)); s.Tied != 0 {
		t.Errorf("nothing has tied it, and it is tied to member %d", s.Tied)
	}
	if out := b.do(from(4, attach), from(3, attach), from(4, Op{Kind: Attach, Session: id(2)})); len(out.Attached) != 0 || len(out.Decisions) != 0 {
		t.Errorf("it has effects: %+v", out)
	}
	copied(t, b.Replica)
	for i, want := range []uint64{4, 3} {
		if s, _ := b.Session(id(uint64(i + 1))); s.Tied != want {
			t.Errorf("session %v is tied to member %d, want %d", s.ID, s.Tied, want)
		}
	}
}

// TestAttach checks that copies that hear of a session's successive clients in any order agree on the last one, and
// that no earlier one ends the session.
func TestAttach(t *testing.T) {
	attached := func(client, generation uint64, former ...uint64) (a lock.Attachments) {
		a.Attachment = lock.Attachment{Client: client, Generation: generation}
		copy(a.Former[:], former)
		return a
	}
	first, second, third := attached(7, 1), attached(5, 2), attached(9, 2)
	at := func(a lock.Attachments) Op { return Op{Kind: Attach, Session: id(1), Attached: &a} }
	begins := open(1)
	begins.Attached = &first
	for name, c := range map[string]struct {
		ops       []Op
		want      lock.Attachments
		decisions int
	}{
		"opened":                          {[]Op{begins}, first, 1},
		"opened again":                    {[]Op{begins, begins}, first, 1},
		"by an older program":             {[]Op{open(1), at(first)}, first, 1},
		"taken over":                      {[]Op{begins, at(second)}, attached(5, 2, 7), 2},
		"and said again":                  {[]Op{begins, at(second), at(second), at(first), begins}, attached(5, 2, 7), 2},
		"two at once":                     {[]Op{begins, at(second), at(third)}, attached(9, 2, 5, 7), 3},
		"the other way round":             {[]Op{begins, at(third), at(second)}, attached(9, 2, 7, 5), 2},
		"by an Open that comes late":      {[]Op{begins, func() Op { o := open(1); o.Attached = &second; return o }()}, attached(5, 2, 7), 2},
		"the first one's End":             {[]Op{begins, at(second), {Kind: End, Session: id(1), Attached: &first}}, attached(5, 2, 7), 2},
		"that of two at once":             {[]Op{begins, at(third), {Kind: End, Session: id(1), Attached: &second}}, attached(9, 2, 7), 2},
		"a session that there is not":     {[]Op{begins, {Kind: Attach, Session: id(2), Attached: &first}}, first, 1},
		"an older program opens it again": {[]Op{begins, open(1)}, first, 1},
	} {
		b := newHarness(t, Config{})
		decisions := 0
		for _, o := range c.ops {
			out := b.do(o)
			decisions += len(out.Attached)
		}
		s, lives := b.Session(id(1))
		if !lives || s.Attached != c.want || decisions != c.decisions {
			t.Errorf("%s: %+v, %d decisions; want %+v, %d", name, s.Attached, decisions, c.want, c.decisions)
		}
		copied(t, b.Replica)
	}
	for name, end := range map[string]Op{
		"the client that uses it": {Kind: End, Session: id(1), Attached: &second},
		"a call of its own":       {Kind: End, Session: id(1)},
	} {
		b := newHarness(t, Config{})
		b.do(begins, at(second), end)
		if _, lives := b.Session(id(1)); lives {
			t.Errorf("%s ends the session, and it lives", name)
		}
	}
}

// TestDamagedSnapshotIsRefused checks that any wrong, missing or additional byte is refused, and parts in another
// order.
func TestDamagedSnapshotIsRefused(t *testing.T) {
	b := newHarness(t, Config{})
	rand := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		b.at += time.Millisecond
		b.do(random(rand))
	}
	b.do(open(1))
	parts := snapshotParts(t, b.Replica)
	wrong := func(what string, parts [][]byte) {
		t.Helper()
		if r, err := restored(b.config, parts); err == nil {
			t.Errorf("%s: it is restored, with %d sessions", what, r.Len())
		}
	}
	for i, part := range parts {
		for j := range part {
			damaged := slices.Clone(parts)
			damaged[i] = slices.Clone(part)
			damaged[i][j] ^= 1 << rand.IntN(8)
			wrong(fmt.Sprintf("byte %d of part %d", j, i), damaged)
		}
		wrong(fmt.Sprintf("without part %d", i), slices.Delete(slices.Clone(parts), i, i+1))
		wrong(fmt.Sprintf("part %d twice", i), slices.Insert(slices.Clone(parts), i, part))
	}
	wrong("nothing", nil)
	slices.Reverse(parts)
	wrong("from behind", parts)
}

// TestPartsFitAJournal checks that parts fit a journal for any texts of clients: one that does not fit would end the
// member's part.
func TestPartsFitAJournal(t *testing.T) {
	b := newHarness(t, Config{})
	long := strings.Repeat("x", wire.MaxText)
	const entries = 1200
	for n := range uint64(entries) {
		o := open(n + 1)
		o.Client, o.Identity = long, long
		a := acquire(n+1, 1, fmt.Sprintf("%0*d", holdfast.MaxName, n))
		a.Owner, a.Reason, a.Client = long, long, long
		if d := b.only(o, a); d.Kind != lock.Granted {
			t.Fatal(d)
		}
	}
	parts, size, largest := snapshotParts(t, b.Replica), 0, 0
	for _, part := range parts {
		size, largest = size+len(part), max(largest, len(part))
	}
	if size < entries*5*wire.MaxText || largest > storage.MaxPart*3/4 {
		t.Errorf("%d bytes, and a part of %d; a journal takes %d at once", size, largest, storage.MaxPart)
	}
	copied(t, b.Replica)
}

// TestOperationsActOnce checks that an operation acts once, though its member sends it again without an answer, and a
// copy may come much later.
func TestOperationsActOnce(t *testing.T) {
	b := newHarness(t, Config{})
	b.do(open(1), open(2))
	b.only(acquire(1, 1, "x"))
	breaks := Op{Kind: Break, Name: "x", ID: OpID{3, 7}}
	if d := b.only(breaks); d.Kind != lock.Revoked {
		t.Fatal(d)
	}
	b.do(release(1, 1, "x", 0))
	b.only(acquire(2, 1, "x"))
	b.Replica = copied(t, b.Replica)
	if out := b.do(breaks); len(out.Decisions)+len(out.Failures) > 0 {
		t.Errorf("a break that comes again breaks the next holder: %+v", out)
	}
	breaks.ID.Number++
	if d := b.only(breaks); d.Kind != lock.Revoked || d.Session != id(2) {
		t.Error(d)
	}
}

// TestMembersAreBounded checks the bound on members whose ended sessions are remembered.
func TestMembersAreBounded(t *testing.T) {
	b := newHarness(t, Config{})
	for member := uint64(1); member <= MaxMembers+1; member++ {
		o := open(1)
		o.Session.Member = member
		b.do(o, Op{Kind: End, Session: o.Session})
	}
	if b.gone.has(1, 1) || !b.gone.has(2, 1) || len(b.gone.numbers) != MaxMembers {
		t.Errorf("%d members are known; want %d, and not the first", len(b.gone.numbers), MaxMembers)
	}
	copied(t, b.Replica)
}

func TestEndedNumbers(t *testing.T) {
	rand := rand.New(rand.NewPCG(2, 2))
	var e ended
	model := map[uint64]bool{}
	for range 2000 {
		n := 1 + rand.Uint64N(400)
		e.add(n)
		model[n] = true
		for i, s := range e {
			if s.first > s.last || i > 0 && s.first <= e[i-1].last+1 {
				t.Fatalf("%v", e)
			}
		}
	}
	for n := uint64(0); n < 410; n++ {
		if e.has(n) != model[n] {
			t.Fatalf("%d: %v", n, e)
		}
	}
	e = nil
	for n := uint64(1); n <= 4*MaxRanges; n += 2 {
		e.add(n)
	}
	if len(e) != MaxRanges || !e.has(2) || e.has(4*MaxRanges-2) {
		t.Errorf("%d ranges, the first %v; want the lowest ones joined", len(e), e[0])
	}
}

// TestOperationsAlone checks that a single operation is encoded as in an entry, no longer than its Size, and that one
// that could not be read back is an error.
func TestOperationsAlone(t *testing.T) {
	rand := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		want := random(rand)
		b, unwritten := appended(&want)
		got, rest, err := taken(append(b, "after"...))
		if again, _ := appended(&got); err != nil || string(rest) != "after" || !slices.Equal(again, b) || unwritten != nil || len(b) > want.Size() || len(b) < LeastOp {
			t.Fatalf("%+v is read as %+v, rest %q, %v; %v, %d of %d bytes", want, got, rest, err, unwritten, len(b), want.Size())
		}
		for n := range b {
			if _, _, err := taken(b[:n]); !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("%d of %d bytes of %+v: %v", n, len(b), want, err)
			}
		}
	}
	high := Op{
		ID: OpID{1 << 63, 1 << 63}, Kind: Acquire, Session: lock.SessionID{Member: 1 << 63, Number: 1 << 63}, Request: 1 << 63, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: math.MaxUint8, Units: math.MaxInt32, Capacity: math.MaxInt32}, Hold: -1 << 63},
		Age: lock.Never, Wait: lock.Never, Belief: -1 << 63,
	}
	if b, err := appended(&high); len(b) > high.Size() || err != nil {
		t.Errorf("%d bytes, where %d are the most; %v", len(b), high.Size(), err)
	}
	for _, wrong := range []Op{{}, {Kind: Amend + 1}, {Kind: Attach}, {Kind: Open, Attached: &lock.Attachments{}}, {Kind: Acquire, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Units: -1}}}, {Kind: Acquire, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Capacity: 1 << 31}}}, {Kind: Open, Identity: strings.Repeat("x", wire.MaxText+1)}} {
		b, unwritten := appended(&wrong)
		if _, _, err := taken(b); err == nil || !errors.Is(unwritten, wire.ErrMalformed) {
			t.Errorf("kind %d: %v, though it is read with %v", wrong.Kind, unwritten, err)
		}
	}
}

func appended(o *Op) ([]byte, error) {
	c := wire.To(nil)
	o.Code(&c)
	return c.Bytes(), c.Err()
}

func taken(b []byte) (o Op, rest []byte, err error) {
	c := wire.From(b)
	o.Code(&c)
	return o, c.Bytes(), c.Err()
}

func FuzzEntry(f *testing.F) {
	rand := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		e := Entry{At: time.Duration(rand.Int64()), Begin: rand.IntN(2) == 0, Ops: []Op{random(rand), random(rand)}}
		f.Add(e.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again Entry
		if e.Decode(b) != nil {
			return
		}
		written := e.Append(nil)
		if !slices.Equal(written, b) {
			t.Errorf("read from %x, it is written as %x", b, written)
		}
		if err := again.Decode(written); err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("%+v is read as %+v: %v", e, again, err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	r, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	var out Effects
	rand := rand.New(rand.NewPCG(4, 4))
	for range 100 {
		r.Apply(&Entry{Begin: r.Reign() == 0, Ops: []Op{random(rand)}}, &out)
	}
	if err := r.Snapshot(func(part []byte) error { f.Add(uint32(len(part)), part[4:]); return nil }); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, number uint32, rest []byte) {
		s, err := Restore(Config{})
		if err != nil {
			t.Fatal(err)
		}
		s.number = number % 3
		if s.number > 0 {
			s.sessions, s.gone, s.done, s.outcomes, s.entries = 5, 5, 5, 5, 5
		}
		sum := checksum(s.number, rest)
		_ = s.Add(append([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, rest...)) // it returns an error, or takes it
	})
}
