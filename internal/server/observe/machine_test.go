package observe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	observed = "x"
	members  = 3
)

// world is a lock table, whose decisions reach a machine as events of three members, each in order and all at any pace.
type world struct {
	table    *lock.Table
	now      time.Duration
	ids      uint64
	requests []lock.Request
	waited   map[uint64]bool
	out      []lock.Decision

	truth  []string // the states of the holders, as the table had them
	tokens map[uint64]string
	ways   [members]way

	machine *Machine
	states  []*schema.Observed
	asked   bool
	mark    uint64
	answer  *schema.Lock
	began   int  // the state of truth at the first look
	since   int  // grants since the last look, which shows 16 past ones
	owed    bool // a gap was not reported yet
}

// way is what is between a member and the observer.
type way struct {
	events []*schema.WatchEvent // nil reports that the member is heard again, and missed whether it lacks some
	cut    bool
	missed bool // something has happened meanwhile
}

func memberName(i uint64) string { return string(rune('a' + i)) }

func newWorld(t *rapid.T) *world {
	table, err := lock.New(lock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(1, 0)
	w := &world{table: table, now: time.Second, waited: map[uint64]bool{}, tokens: map[uint64]string{}, truth: []string{""}}
	w.machine = NewMachine(holdfast.DefaultSpace, observed, func() []string { return []string{"a", "b", "c"} })
	return w
}

// decided passes on the decisions of the table.
func (w *world) decided() {
	for i := range w.out {
		d := &w.out[i]
		e := events.Of(holdfast.DefaultSpace, d, w.waited[d.Request])
		w.waited[d.Request] = d.Kind == lock.Queued
		if e == nil {
			continue
		}
		token := uint64(d.Token)
		switch e.GetEvent() {
		case events.Granted:
			w.since++
			if w.tokens[token] == "" {
				w.tokens[token] = fmt.Sprintf("%d=%s ", token, e.GetValue())
			}
		case events.Value:
			w.tokens[token] = fmt.Sprintf("%d=%s ", token, e.GetValue())
		case events.Released, events.Lost, events.Broken:
			if e.GetEvent() != events.Released || !w.table.Held(d.Session, observed, d.Token) {
				delete(w.tokens, token)
			}
		}
		w.record()
		e.Time = timestamppb.New(time.Unix(0, int64(w.now)))
		from := &w.ways[d.Session.Member-1]
		e.Member = memberName(d.Session.Member - 1)
		if from.cut {
			from.missed = true
		} else {
			from.events = append(from.events, e)
		}
	}
	w.out = nil
}

// record adds the holders of now to the truth.
func (w *world) record() {
	var tokens []uint64
	for token := range w.tokens {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	text := ""
	for _, token := range tokens {
		text += w.tokens[token]
	}
	if text != w.truth[len(w.truth)-1] {
		w.truth = append(w.truth, text)
	}
}

// shownAs returns the holders of a state in the form of the truth.
func shownAs(state *schema.Observed) (text string) {
	for _, h := range state.GetHolders() {
		text += fmt.Sprintf("%d=%s ", h.GetToken(), h.GetValue())
	}
	return text
}

// look is the state of the table as Show answers it.
func (w *world) look() *schema.Lock {
	shown := w.table.Show(observed)
	w.since = 0
	l := &schema.Lock{Space: holdfast.DefaultSpace, Name: observed, Mode: api.ToMode(shown.Mode), Capacity: int32(shown.Capacity)}
	grant := func(g lock.Grant) *schema.Grant {
		return &schema.Grant{
			Owner: g.Owner, Session: g.Session.String(), Member: memberName(g.Session.Member - 1), Mode: api.ToMode(g.Mode), Units: int32(g.Units),
			Token: uint64(g.Token), Value: g.Value, Revision: g.Revision, Holds: int32(g.Holds), Revoked: g.Revoked,
		}
	}
	for _, g := range shown.Holders {
		l.Holders = append(l.Holders, grant(g))
	}
	for _, g := range shown.History {
		l.History = append(l.History, grant(g))
	}
	for _, r := range shown.Waiters {
		l.Waiters = append(l.Waiters, &schema.Wait{Session: r.Session.String(), Request: r.Request, Member: memberName(r.Session.Member - 1), Owner: r.Owner})
	}
	return l
}

func (w *world) acquire(t *rapid.T, mixed bool) {
	w.ids++
	r := lock.Request{
		Session: lock.SessionID{Member: rapid.Uint64Range(1, members).Draw(t, "member"), Number: rapid.Uint64Range(1, 2).Draw(t, "number")},
		ID:      w.ids, Name: observed, WaitEnd: lock.Never, Arrived: w.now, Try: rapid.IntRange(0, 4).Draw(t, "try") == 0,
	}
	r.Value = fmt.Sprint("v", w.ids)
	if mixed {
		r.Mode = holdfast.Mode(rapid.IntRange(0, 2).Draw(t, "mode"))
		r.Owner = rapid.SampledFrom([]string{"", "", "o"}).Draw(t, "owner")
		if r.Mode == holdfast.ModeSlots {
			r.Capacity, r.Units = 3, rapid.IntRange(1, 2).Draw(t, "units")
		}
	}
	w.requests = append(w.requests, r)
	w.table.Acquire(w.now, &r, &w.out)
}

// change lets something happen at the table.
func (w *world) change(t *rapid.T, mixed bool) {
	defer w.decided()
	kind := rapid.SampledFrom([]string{"acquire", "acquire", "cancel", "cancel", "amend", "break", "end"}).Draw(t, "change")
	if kind == "acquire" || len(w.requests) == 0 {
		w.acquire(t, mixed)
		return
	}
	i := rapid.IntRange(0, len(w.requests)-1).Draw(t, "of")
	r := w.requests[i]
	switch kind {
	case "cancel":
		w.table.Cancel(w.now, r.Session, r.Name, r.ID, &w.out)
		w.requests = slices.Delete(w.requests, i, i+1)
	case "amend":
		w.ids++
		if d, known := w.table.Standing(r.Session, r.Name, r.ID); !known || d.Kind != lock.Granted {
			return // its client has no lock whose value it could set
		}
		d, _ := w.table.Amend(w.now, r.Session, r.Name, 0, r.ID, &lock.Amendment{Revision: w.ids, Value: fmt.Sprint("v", w.ids)})
		w.out = append(w.out, d)
	case "break":
		_, _ = w.table.Break(w.now, observed, 0, &w.out) // it may be free
	case "end":
		w.table.EndSession(w.now, r.Session, holdfast.SessionExpired, &w.out)
		w.requests = slices.DeleteFunc(w.requests, func(one lock.Request) bool { return one.Session == r.Session })
	}
}

// deliver hands the machine the next event of a member.
func (w *world) deliver(i int) {
	from := &w.ways[i]
	if len(from.events) == 0 {
		return
	}
	e := from.events[0]
	from.events = from.events[1:]
	switch e.GetEvent() {
	case "cut":
		w.machine.Silent(memberName(uint64(i)))
	case "heard", "missed":
		w.owed = w.owed || e.GetEvent() == "missed" && len(w.states) > 0
		w.machine.Heard(memberName(uint64(i)), e.GetEvent() == "missed")
	default:
		w.machine.Happened(w.now, e)
	}
}

// sever cuts a member off, or joins it again.
func (w *world) sever(i int, cut bool) {
	way := &w.ways[i]
	if way.cut == cut {
		return
	}
	kind := "cut"
	if !cut {
		kind = "heard"
		if way.missed {
			kind = "missed"
		}
	}
	way.cut, way.missed = cut, false
	way.events = append(way.events, &schema.WatchEvent{Event: kind})
}

// step lets the observer's member take the next step of a look, if the machine wants one.
func (w *world) step() {
	switch at, wanted := w.machine.LookAt(); {
	case w.answer != nil:
		w.machine.Looked(w.now, w.mark, w.answer)
		w.asked, w.answer = false, nil
	case w.asked:
		w.answer = w.look()
		if !w.machine.looked {
			w.began = len(w.truth) - 1
		}
	case wanted && at <= w.now:
		w.asked, w.mark = true, w.machine.Mark()
	}
}

// settle lets everything arrive.
func (w *world) settle(t *rapid.T) {
	for i := range w.ways {
		w.sever(i, false)
	}
	for round := 0; ; round++ {
		for i := range w.ways {
			for len(w.ways[i].events) > 0 {
				w.deliver(i)
			}
		}
		at, wanted := w.machine.LookAt()
		rests := !wanted || at == w.machine.lastLook+RestPace
		if rests && !w.asked {
			break
		}
		if round > 100 {
			t.Fatalf("the machine wants looks for ever: %+v", w.machine)
		}
		w.now += Pace
		w.step()
	}
	w.take()
}

// take takes the states that have come out.
func (w *world) take() {
	for _, state := range w.machine.Take() {
		w.states = append(w.states, state)
		w.owed = w.owed && !state.GetMissed()
	}
}

// play lets a world happen.
func play(t *rapid.T, mixed, cuts bool) *world {
	w := newWorld(t)
	for range rapid.IntRange(10, 80).Draw(t, "steps") {
		switch kind := rapid.IntRange(0, 9).Draw(t, "step"); {
		case kind < 3 && w.since < 14:
			w.change(t, mixed)
		case kind < 7:
			w.deliver(rapid.IntRange(0, members-1).Draw(t, "from"))
		case kind < 9:
			w.step()
		case cuts && rapid.Bool().Draw(t, "sever"):
			w.sever(rapid.IntRange(0, members-1).Draw(t, "which"), rapid.Bool().Draw(t, "cut"))
		case cuts:
			w.now += Patience / 2
		}
		if w.since > 10 { // more past grants than a look shows would be a gap
			w.step()
		}
		w.take()
	}
	w.settle(t)
	return w
}

// TestExclusive compares the states of a name with exclusive holders with those of the table, from the first look on:
// each in order, none twice, and none missed.
func TestExclusive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := play(t, false, false)
		var shown []string
		for _, state := range w.states {
			if state.GetMissed() {
				t.Fatalf("missed, without a gap: %v", state)
			}
			if text := shownAs(state); len(shown) == 0 || shown[len(shown)-1] != text {
				shown = append(shown, text)
			}
		}
		if want := w.truth[w.began:]; !endsWith(want, shown) {
			t.Fatalf("shown\n%q\nwant\n%q", shown, want)
		}
		w.checkLast(t)
	})
}

// endsWith reports whether the states shown are those wanted. The first look may be older than events that had come
// before its answer: then the first states are in the first one shown.
func endsWith(want, shown []string) bool {
	return len(shown) > 0 && len(shown) <= len(want) && slices.Equal(want[len(want)-len(shown):], shown)
}

// TestMixed checks, in worlds with all modes, owners and gaps, that each grant begins and ends once, that an exclusive
// holder is alone, and that the last state is that of the table.
func TestMixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := play(t, true, rapid.Bool().Draw(t, "cuts"))
		begun, over := map[uint64]bool{}, map[uint64]bool{}
		var before *schema.Observed
		for i, state := range w.states {
			units := int32(0)
			for _, h := range state.GetHolders() {
				if over[h.GetToken()] {
					t.Fatalf("state %d shows token %d again", i, h.GetToken())
				}
				begun[h.GetToken()] = true
				if h.GetMode() == schema.Mode_MODE_EXCLUSIVE && len(state.GetHolders()) > 1 {
					t.Fatalf("state %d shows an exclusive holder with others: %v", i, state)
				}
				units += h.GetUnits()
			}
			if units > 3 {
				t.Fatalf("state %d has %d units of 3", i, units)
			}
			for token := range begun {
				if !slices.ContainsFunc(state.GetHolders(), func(g *schema.Grant) bool { return g.GetToken() == token }) {
					over[token] = true
				}
			}
			if before != nil && !state.GetMissed() && shownAs(before) == shownAs(state) && len(before.GetWaiters()) == len(state.GetWaiters()) {
				same := func(a, b *schema.Wait) bool {
					return a.GetSession() == b.GetSession() && a.GetRequest() == b.GetRequest()
				}
				if slices.EqualFunc(before.GetWaiters(), state.GetWaiters(), same) {
					t.Fatalf("state %d is shown twice: %v", i, state)
				}
			}
			before = state
		}
		if w.owed {
			t.Fatal("a gap was not reported")
		}
		w.checkLast(t)
	})
}

// checkLast compares the last state with the table.
func (w *world) checkLast(t *rapid.T) {
	last, table := w.states[len(w.states)-1], w.look()
	var got, want []string
	for _, h := range last.GetHolders() {
		got = append(got, fmt.Sprintf("%d %s %s", h.GetToken(), h.GetValue(), h.GetMember()))
	}
	for _, h := range table.GetHolders() {
		if !h.GetRevoked() {
			want = append(want, fmt.Sprintf("%d %s %s", h.GetToken(), h.GetValue(), h.GetMember()))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the last state shows the holders %q, and the table %q", got, want)
	}
	got, want = nil, nil
	for _, r := range last.GetWaiters() {
		got = append(got, fmt.Sprint(r.GetSession(), r.GetRequest()))
	}
	for _, r := range table.GetWaiters() {
		want = append(want, fmt.Sprint(r.GetSession(), r.GetRequest()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("the last state shows the waiters %q, and the table %q", got, want)
	}
}

// script makes a machine that has looked at a free name, in a view of these members.
func script(members ...string) *Machine {
	m := NewMachine(holdfast.DefaultSpace, observed, func() []string { return members })
	m.Looked(0, m.Mark(), &schema.Lock{})
	return m
}

// event is an event of a member about a session of its own.
func event(kind, member string, token, request uint64) *schema.WatchEvent {
	return &schema.WatchEvent{Event: kind, Name: observed, Member: member, Session: member + "-1", Token: token, Request: request, Time: timestamppb.Now()}
}

// held is the answer to a look with these exclusive holders, the first through member a, the next through b, …
func heldBy(tokens ...uint64) *schema.Lock {
	l := &schema.Lock{}
	for i, token := range tokens {
		member := memberName(uint64(i))
		l.Holders = append(l.Holders, &schema.Grant{Token: token, Member: member, Session: member + "-1"})
	}
	return l
}

// tell compares the states that have come out.
func tell(t *testing.T, m *Machine, want ...string) {
	t.Helper()
	var got []string
	for _, state := range m.Take() {
		text := ""
		for _, h := range state.GetHolders() {
			text += fmt.Sprint(h.GetToken(), " ")
		}
		text += fmt.Sprint(len(state.GetWaiters()))
		if state.GetMissed() {
			text += " missed"
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// TestLateGrant: a grant whose event comes when a later one is shown, and that no look had shown, is reported as a gap.
func TestLateGrant(t *testing.T) {
	m := script("a", "b")
	m.Happened(0, event(events.Granted, "b", 6, 1))
	tell(t, m, "0") // the first look; the grant waits for the next one
	m.Looked(0, m.Mark(), heldBy(6))
	tell(t, m, "6 0")
	m.Happened(0, event(events.Granted, "a", 5, 1))
	m.Looked(0, m.Mark(), heldBy(6))
	tell(t, m, "6 0 missed")
	m.Happened(0, event(events.Released, "a", 5, 1))
	m.Happened(0, event(events.Released, "b", 6, 1))
	tell(t, m, "0")
}

// TestExpectedGrant: a look shows which grants came before one, and their events are waited for.
func TestExpectedGrant(t *testing.T) {
	m := script("a", "b")
	m.Happened(0, event(events.Granted, "b", 6, 1))
	m.Looked(0, m.Mark(), &schema.Lock{Holders: heldBy(6).GetHolders(), History: heldBy(5).GetHolders()})
	tell(t, m, "0")
	m.Happened(0, event(events.Released, "a", 5, 1)) // also in a wrong order
	m.Happened(0, event(events.Granted, "a", 5, 1))
	m.Looked(0, m.Mark(), heldBy(6))
	tell(t, m, "5 0", "0", "6 0")
}

// TestUnknownGrant: a grant that never reached its client has no event. It holds up the next one for Patience, which then
// comes with missed.
func TestUnknownGrant(t *testing.T) {
	m := script("a", "b")
	look := &schema.Lock{Holders: heldBy(6).GetHolders(), History: heldBy(5).GetHolders()}
	m.Happened(0, event(events.Granted, "a", 6, 1))
	m.Looked(0, m.Mark(), look)
	tell(t, m, "0")
	at, wanted := m.LookAt()
	if !wanted || at < Patience {
		t.Errorf("the next look is wanted %v, at %v", wanted, at)
	}
	m.Looked(at, m.Mark(), look)
	tell(t, m, "6 0 missed")
}

// TestSides: where a look shows two exclusive holders, each side of a partition had one, and both are shown.
func TestSides(t *testing.T) {
	m := script("a", "b")
	for token, member := range map[uint64]string{5: "a", 6: "b"} {
		m.Happened(0, event(events.Granted, member, token, 1))
	}
	m.Looked(0, m.Mark(), heldBy(5, 6))
	tell(t, m, "0", "5 0")
	m.Looked(Patience, m.Mark(), heldBy(5, 6))
	tell(t, m, "5 6 0")
	m.Happened(Patience, event(events.Lost, "a", 5, 1))
	tell(t, m, "6 0")
}

// TestDeadMember: no event tells that the lock of a client of a dead member is free. Looks do, until nothing of the
// member is left.
func TestDeadMember(t *testing.T) {
	view := []string{"a", "b"}
	m := NewMachine(holdfast.DefaultSpace, observed, func() []string { return view })
	m.Looked(0, m.Mark(), heldBy(5))
	tell(t, m, "5 0")
	m.Silent("a")
	view = []string{"b"}
	at, wanted := m.LookAt()
	if !wanted || at > Pace {
		t.Fatalf("a look is wanted %v, at %v", wanted, at)
	}
	m.Looked(at, m.Mark(), heldBy(5))
	tell(t, m)
	if at, wanted = m.LookAt(); !wanted {
		t.Fatal("no look is wanted although the dead member's client has a lock")
	}
	m.Looked(at, m.Mark(), &schema.Lock{})
	tell(t, m, "0")
	if at, wanted := m.LookAt(); wanted {
		t.Errorf("another look is wanted at %v", at)
	}
}

// TestOwnersLocks: the locks of one owner are one holder, until the last is released; where their number is not known, a
// look tells.
func TestOwnersLocks(t *testing.T) {
	m := script("a")
	owned := func(kind string, request uint64) *schema.WatchEvent {
		e := event(kind, "a", 5, request)
		e.Owner = "o"
		return e
	}
	m.Happened(0, owned(events.Granted, 1))
	m.Happened(0, owned(events.Granted, 2))
	tell(t, m, "0", "5 0")
	m.Happened(0, owned(events.Released, 1))
	tell(t, m)
	m.Happened(0, owned(events.Released, 2))
	tell(t, m, "0")
	// Which locks the owner had at the first look is not known.
	m = NewMachine(holdfast.DefaultSpace, observed, func() []string { return []string{"a"} })
	l := heldBy(5)
	l.Holders[0].Owner = "o"
	m.Looked(0, m.Mark(), l)
	m.Happened(0, owned(events.Released, 1))
	tell(t, m, "5 0")
	for range 2 {
		at, wanted := m.LookAt()
		if !wanted {
			t.Fatal("no look is wanted")
		}
		m.Looked(at, m.Mark(), &schema.Lock{})
	}
	tell(t, m, "0")
}
