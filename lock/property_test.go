package lock

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

// world drives a table and its model with the same operations, and remembers the decisions.
type world struct {
	table *Table
	model *model
	now   Time
	ids   uint64
	// suspends reports that the table is sometimes suspended.
	suspends bool
	latest   map[requestName]Kind // the latest decision about each request
	newest   map[string]holdfast.Token
	out      []Decision
}

// requestName permanently identifies a request (P6).
type requestName struct {
	session SessionID
	id      uint64
	name    string
}

var worldNames = []string{"a", "b", "orders/42"}

func newWorld(rt *rapid.T) *world {
	c := Config{
		WaitersPerName:  rapid.SampledFrom([]int{0, 4}).Draw(rt, "waitersPerName"),
		Names:           rapid.SampledFrom([]int{0, 2}).Draw(rt, "names"),
		LocksPerSession: rapid.SampledFrom([]int{0, 7}).Draw(rt, "locksPerSession"),
	}
	table, err := New(c)
	if err != nil {
		rt.Fatal(err)
	}
	return &world{
		table: table, model: &model{limits: table.limits}, suspends: rapid.Bool().Draw(rt, "suspends"),
		latest: make(map[requestName]Kind), newest: make(map[string]holdfast.Token),
	}
}

func drawSession(rt *rapid.T) SessionID {
	return SessionID{Member: rapid.Uint64Range(1, 2).Draw(rt, "member"), Number: rapid.Uint64Range(1, 2).Draw(rt, "number")}
}

func (w *world) drawRequest(rt *rapid.T) Request {
	r := Request{
		Session:    drawSession(rt),
		Name:       rapid.SampledFrom(worldNames).Draw(rt, "name"),
		Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.Mode(rapid.IntRange(0, 2).Draw(rt, "mode"))}, Owner: rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(rt, "owner"), Reason: rapid.SampledFrom([]string{"", "", "deploy"}).Draw(rt, "reason")},
		Client:     rapid.SampledFrom([]string{"web-1", "web-1", "web-2", ""}).Draw(rt, "client"),
		Try:        rapid.IntRange(0, 3).Draw(rt, "try") == 0,
		Arrived:    w.now - 20*Time(rapid.IntRange(0, 2).Draw(rt, "age")),
		WaitEnd:    Never,
	}
	if r.Mode == holdfast.ModeSlots {
		r.Capacity = rapid.SampledFrom([]int{5, 5, 5, 6}).Draw(rt, "capacity")
		r.Units = rapid.IntRange(1, r.Capacity).Draw(rt, "units")
	}
	if rapid.Bool().Draw(rt, "waitLimit") {
		r.WaitEnd = w.now + 20*Time(rapid.IntRange(0, 5).Draw(rt, "wait"))
	}
	r.Hold = 20 * time.Duration(max(0, rapid.IntRange(-3, 4).Draw(rt, "hold")))
	if w.ids > 0 && rapid.IntRange(0, 3).Draw(rt, "repeat") == 0 {
		r.ID = rapid.Uint64Range(1, w.ids).Draw(rt, "id")
	} else {
		w.ids++
		r.ID = w.ids
	}
	return r
}

func (w *world) acquire(rt *rapid.T) {
	r := w.drawRequest(rt)
	w.table.Acquire(w.now, &r, &w.out)
	w.compare(rt, w.model.acquire(w.now, r))
}

// burst makes a name crowded enough to be indexed.
func (w *world) burst(rt *rapid.T) {
	r := w.drawRequest(rt)
	for range rapid.IntRange(5, 40).Draw(rt, "burst") {
		w.ids++
		r.ID = w.ids
		w.table.Acquire(w.now, &r, &w.out)
		w.compare(rt, w.model.acquire(w.now, r))
	}
}

// drawEntry picks one of the present requests or, sometimes, an absent one.
func (w *world) drawEntry(rt *rapid.T) (r Request, token holdfast.Token) {
	holds, waits := w.model.all()
	all := append(holds, waits...)
	if len(all) == 0 || rapid.IntRange(0, 9).Draw(rt, "foreign") == 0 {
		return Request{Session: drawSession(rt), Name: rapid.SampledFrom(worldNames).Draw(rt, "name"), ID: w.ids/2 + 1}, Token(1, 3)
	}
	e := rapid.SampledFrom(all).Draw(rt, "entry")
	r = e.request
	r.ID = e.decision.Request
	return r, e.decision.Token
}

func (w *world) release(rt *rapid.T) {
	r, token := w.drawEntry(rt)
	if rapid.IntRange(0, 3).Draw(rt, "latest") == 0 {
		r.ID = 0
	} else if rapid.IntRange(0, 3).Draw(rt, "anyToken") == 0 {
		token = 0
	}
	err := w.table.Release(w.now, r.Session, r.Name, token, r.ID, &w.out)
	want := w.model.release(w.now, r.Session, r.Name, token, r.ID)
	if (err == nil) != (want != nil) || err != nil && !errors.Is(err, holdfast.ErrNotHeld) {
		rt.Fatalf("release of %d under %d: %v, want %v", r.ID, token, err, want)
	}
	w.compare(rt, want)
}

func (w *world) cancel(rt *rapid.T) {
	r, _ := w.drawEntry(rt)
	known := w.table.Cancel(w.now, r.Session, r.Name, r.ID, &w.out)
	want := w.model.cancel(w.now, r.Session, r.Name, r.ID)
	if known != (want != nil) {
		rt.Fatalf("cancel of %d: %v, want %v", r.ID, known, want)
	}
	w.compare(rt, want)
}

func (w *world) endSession(rt *rapid.T) {
	s := drawSession(rt)
	why := rapid.SampledFrom([]holdfast.Loss{"", holdfast.SessionExpired}).Draw(rt, "why")
	w.table.EndSession(w.now, s, why, &w.out)
	w.compare(rt, w.model.endSession(w.now, s, why))
}

func (w *world) breakGrants(rt *rapid.T) {
	r, token := w.drawEntry(rt)
	if rapid.Bool().Draw(rt, "all") {
		token = 0
	}
	grants, err := w.table.Break(w.now, r.Name, token, &w.out)
	want := w.model.breakGrants(r.Name, token)
	if (err == nil) != (want != nil) || (err == nil) != (len(grants) > 0) {
		rt.Fatalf("break: %v with %v, want %v", grants, err, want)
	}
	for _, g := range grants {
		if !g.Revoked {
			rt.Fatalf("broken, not revoked: %v", g)
		}
	}
	w.compare(rt, want)
}

// recall asks one hold to end; the other holds of its grant stay.
func (w *world) recall(rt *rapid.T) {
	r, token := w.drawEntry(rt)
	if rapid.IntRange(0, 3).Draw(rt, "latest") == 0 {
		r.ID = 0
	} else if rapid.IntRange(0, 3).Draw(rt, "anyToken") == 0 {
		token = 0
	}
	is := w.table.Recall(r.Session, r.Name, token, r.ID, holdfast.EndedByAnother, &w.out)
	want := w.model.recall(r.Session, r.Name, token, r.ID)
	if is != (want != nil) {
		rt.Fatalf("recall of %d under %d: %v, want %v", r.ID, token, is, want)
	}
	w.compare(rt, want)
}

func (w *world) extend(rt *rapid.T) {
	r, token := w.drawEntry(rt)
	hold := 20 * time.Duration(rapid.IntRange(0, 4).Draw(rt, "hold"))
	got := w.table.Extend(w.now, r.Session, r.Name, token, hold)
	if want := w.model.extend(w.now, r.Session, r.Name, token, hold); got != want {
		rt.Fatalf("extend: %v, want %v", got, want)
	}
	w.compare(rt, nil)
}

func (w *world) tick(rt *rapid.T) {
	w.now += 7 * Time(rapid.IntRange(0, 12).Draw(rt, "pass"))
	w.table.Tick(w.now, &w.out)
	w.compare(rt, w.model.tick(w.now))
}

// pass lets time pass without a Tick.
func (w *world) pass(rt *rapid.T) { w.now += 7 * Time(rapid.IntRange(1, 9).Draw(rt, "pass")) }

// outage is a pause in which requests come, many of them with Try.
func (w *world) outage(rt *rapid.T) {
	w.pause(rt)
	for range rapid.IntRange(1, 12).Draw(rt, "outage") {
		r := w.drawRequest(rt)
		r.Try = rapid.Bool().Draw(rt, "tries")
		w.table.Acquire(w.now, &r, &w.out)
		w.compare(rt, w.model.acquire(w.now, r))
		if rapid.IntRange(0, 3).Draw(rt, "passes") == 0 {
			w.tick(rt)
		}
	}
	w.check(rt)
	if rapid.Bool().Draw(rt, "over") {
		w.resume(rt)
	}
}

func (w *world) pause(rt *rapid.T) {
	w.table.Pause()
	w.model.paused = true
}

func (w *world) resume(rt *rapid.T) {
	w.model.paused = false
	w.table.Resume(w.now, &w.out)
	w.compare(rt, w.model.settleAll(w.now))
	if w.table.serving() && w.table.tries != 0 {
		rt.Fatalf("%d wait for an authority that is there", w.table.tries)
	}
	checkWakeUp(rt, w.table)
}

func (w *world) beginReign(rt *rapid.T) {
	w.model.reign++
	w.model.count = rapid.SampledFrom([]uint32{0, 0, MaxCount - 3}).Draw(rt, "count")
	w.model.last = Token(w.model.reign, w.model.count)
	w.table.BeginReign(w.model.reign, w.model.count)
	if rapid.IntRange(0, 4).Draw(rt, "resume") != 0 {
		w.resume(rt)
	}
}

// restore continues with a copy of the table, on another clock.
func (w *world) restore(rt *rapid.T) {
	limit := rapid.IntRange(1, 9).Draw(rt, "limit")
	shift := 7 * Time(rapid.IntRange(-5, 5).Draw(rt, "shift"))
	copied := newTable(rt, w.table.limits)
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		c := w.table.Snapshot(w.now, cursor, limit)
		if len(c.Entries) > limit {
			rt.Fatalf("%d entries in a chunk of at most %d", len(c.Entries), limit)
		}
		if err := copied.Restore(w.now+shift, c); err != nil {
			rt.Fatal(err)
		}
		cursor = c.Next
	}
	w.now += shift
	w.model.shift(shift)
	w.model.forget()
	w.table = copied
}

// compare checks that the table's decisions equal the model's.
func (w *world) compare(rt *rapid.T, want []Decision) {
	if len(w.out) != len(want) {
		rt.Fatalf("decided\n%v\nwant\n%v", w.out, want)
	}
	for i, d := range w.out {
		if d.Kind == Refused && errors.Is(d.Err, holdfast.ErrConflict) && errors.Is(want[i].Err, holdfast.ErrConflict) {
			want[i].Err = d.Err
		}
		if !reflect.DeepEqual(d, want[i]) {
			rt.Fatalf("decision %d:\n%+v\nwant\n%+v", i, d, want[i])
		}
		w.listen(rt, d)
	}
	w.out = w.out[:0]
}

// listen checks the order of decisions independently of the model: P2 and P6.
func (w *world) listen(rt *rapid.T, d Decision) {
	request := requestName{d.Session, d.Request, d.Name}
	before := w.latest[request]
	may := map[Kind][]Kind{
		Granted:  {0, Queued, Granted, Revoked, Refused, Lost, Released},
		Queued:   {0, Queued, Refused, Lost, Released},
		Refused:  {0, Queued, Refused, Lost, Released},
		Lost:     {Granted, Revoked},
		Revoked:  {Granted, Revoked},
		Released: {Granted, Revoked, Queued},
	}
	ok := d.Kind == Queued && d.Name == SpaceLock && before == Granted // LetIn
	for _, kind := range may[d.Kind] {
		ok = ok || kind == before
	}
	if !ok {
		rt.Fatalf("%v follows %v: %+v", d.Kind, before, d)
	}
	w.latest[request] = d.Kind
	if d.Kind == Granted && d.Token > w.newest[d.Name] {
		w.newest[d.Name] = d.Token
	} else if d.Kind == Granted && !w.table.Held(d.Session, d.Name, d.Token) {
		rt.Fatalf("token %d of %q is given again after %d", d.Token, d.Name, w.newest[d.Name])
	}
}

// check compares everything readable, and checks the table's consistency.
func (w *world) check(rt *rapid.T) {
	checkTable(rt, w.table)
	holds, waits := w.model.all()
	got := fmt.Sprint(w.table.Names(), w.table.Holds(), w.table.Waiters(), w.table.Wake(), w.table.Reign())
	if want := fmt.Sprint(w.model.live(), len(holds), len(waits), w.model.wake(), w.model.reign); got != want {
		rt.Fatalf("names, holds, waiters, wake, reign: %s, want %s", got, want)
	}
	for _, name := range append(worldNames, SpaceLock) {
		shown := w.table.Show(name)
		shown.History = nil
		if want := w.model.show(name); !reflect.DeepEqual(shown, want) {
			rt.Fatalf("shown\n%+v\nwant\n%+v", shown, want)
		}
		checkExclusion(rt, shown)
	}
	sessions := 0
	for member := range uint64(2) {
		for number := range uint64(2) {
			s := SessionID{member + 1, number + 1}
			h1, w1 := w.table.Session(s)
			if h1+w1 != 0 {
				sessions++
			}
			if h2, w2 := w.model.session(s); h1 != h2 || w1 != w2 {
				rt.Fatalf("session %v: %d holds, %d waits, want %d, %d", s, h1, w1, h2, w2)
			}
		}
	}
	w.checkSuspension(rt)
	if got := w.table.Sessions(); got != sessions {
		rt.Fatalf("%d sessions, want %d", got, sessions)
	}
}

// checkExclusion checks P1 among the staying holders, and the order of tokens, from the public view.
func checkExclusion(rt *rapid.T, l Lock) {
	units, staying := 0, 0
	last := holdfast.Token(0)
	for _, g := range l.Holders {
		if g.Token < last {
			rt.Fatalf("%q has token %d after %d", l.Name, g.Token, last)
		}
		last = g.Token
		if g.Revoked {
			continue
		}
		staying++
		units += g.Units
		if g.Mode != l.Mode || g.Mode == holdfast.ModeExclusive && staying > 1 {
			rt.Fatalf("%q is held by %v", l.Name, l.Holders)
		}
	}
	if units > l.Capacity {
		rt.Fatalf("%q has %d units held of %d", l.Name, units, l.Capacity)
	}
}

func TestTableIsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		if rapid.IntRange(0, 9).Draw(rt, "early") != 0 {
			w.beginReign(rt)
		}
		often, seldom := 6, 1
		var steps []func(*rapid.T)
		for _, step := range []struct {
			odds int
			do   func(*rapid.T)
		}{
			{3 * often, w.acquire}, {often, w.release}, {often, w.cancel}, {often, w.tick},
			{often / 2, w.breakGrants}, {often, w.adopt}, {often / 2, w.revoke}, {often / 2, w.recall}, {often / 2, w.extend}, {often / 2, w.pass}, {often / 2, w.resume},
			{seldom, w.revokeSession}, {seldom, w.endWhere}, {seldom, w.burst}, {seldom, w.endSession}, {seldom, w.pause}, {2 * seldom, w.outage}, {seldom, w.beginReign}, {2 * seldom, w.restore},
		} {
			for range step.odds {
				steps = append(steps, step.do)
			}
		}
		for range often {
			if w.suspends {
				steps = append(steps, w.suspend, w.letIn)
			}
		}
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")](rt)
			w.check(rt)
		}
	})
}
