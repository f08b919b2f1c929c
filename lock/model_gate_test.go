package lock

import (
	"cmp"
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

// passed returns how many wait at n and are not parked. They come before the parked ones.
func (n *modelName) passed() int {
	if at := slices.IndexFunc(n.queue, func(w *modelWait) bool { return w.parked }); at >= 0 {
		return at
	}
	return len(n.queue)
}

// insert puts w after the waiters at n that are not parked, and after the parked ones only if it is parked itself.
func (n *modelName) insert(w *modelWait) {
	at := len(n.queue)
	if !w.parked {
		at = n.passed()
	}
	n.queue = slices.Insert(n.queue, at, w)
}

// sameOwner reports whether two requests are of one named owner.
func sameOwner(a, b Request) bool {
	return a.Owner != "" && a.Owner == b.Owner && a.Session == b.Session
}

// atNames returns the requests that hold or wait at names and are not parked: one per grant.
func (m *model) atNames() (requests []Request) {
	for _, n := range m.names {
		if n.name == SpaceLock {
			continue
		}
		for _, g := range n.grants {
			requests = append(requests, g.request)
		}
		for _, w := range n.queue[:n.passed()] {
			requests = append(requests, w.request)
		}
	}
	return requests
}

// alone reports whether no other owner than that of r holds or waits at a name.
func (m *model) alone(r Request) bool {
	return !slices.ContainsFunc(m.atNames(), func(other Request) bool { return !sameOwner(r, other) })
}

// suspension returns the grants of SpaceLock.
func (m *model) suspension() []*modelGrant {
	if n := m.find(SpaceLock); n != nil {
		return n.grants
	}
	return nil
}

// passes reports whether r may queue at its name or, if that is SpaceLock, be granted.
func (m *model) passes(r Request) bool {
	if r.Name == SpaceLock {
		return m.alone(r)
	}
	switch held := m.suspension(); {
	case len(held) > 0:
		return len(held) == 1 && sameOwner(held[0].request, r)
	case m.find(SpaceLock) == nil:
		return true
	}
	return slices.ContainsFunc(m.atNames(), func(other Request) bool { return sameOwner(r, other) })
}

// obstacle returns the reason why w waits.
func (m *model) obstacle(now Time, n *modelName, w *modelWait) error {
	if n.name == SpaceLock || w.parked {
		return m.barred(now, w)
	}
	return m.held(now, n)
}

func (m *model) barred(now Time, w *modelWait) error {
	n := m.find(SpaceLock)
	switch {
	case !m.serving():
		return holdfast.ErrUnavailable
	case n == nil:
		return &HeldBy{}
	case len(n.grants) > 0:
		return m.held(now, n)
	case len(n.queue) > 0 && n.queue[0] != w:
		first := n.queue[0].request
		return &HeldBy{Owner: cmp.Or(first.Owner, first.Client), Holder: first.Session, Age: now - first.Arrived, Suspended: true, Reason: first.Reason}
	}
	return &HeldBy{}
}

// let lets each selected parked request through the gate, in order. They compete at their names in the order in which
// they came through.
func (m *model) let(now Time, picked func(*modelWait) bool) (out []Decision, any bool) {
	var names []*modelName
	for _, w := range slices.Clone(m.gate) {
		if !w.parked || !picked(w) {
			continue
		}
		n := m.find(w.request.Name)
		m.remove(n, w)
		w.parked = false
		n.insert(w)
		names = append(names, n)
	}
	for _, n := range names {
		if m.find(n.name) == n {
			out = append(out, m.settle(now, n)...)
		}
	}
	return out, len(names) > 0
}

// letNext lets the next requests through, of those before the first suspension: the suspender's own; or all, with the
// other parked requests of their owners, one after the other.
func (m *model) letNext(now Time) (out []Decision, any bool) {
	var order []*modelWait
	for _, first := range m.gate {
		if !first.parked {
			break
		}
		if len(m.suspension()) > 0 {
			if !m.passes(first.request) {
				break
			}
			order = append(order, first)
			continue
		}
		if slices.Contains(order, first) {
			continue
		}
		for _, w := range m.gate {
			if w == first || w.parked && sameOwner(w.request, first.request) {
				order = append(order, w)
			}
		}
	}
	// Those that pass are moved to the front, in their order.
	rest := slices.DeleteFunc(slices.Clone(m.gate), func(w *modelWait) bool { return slices.Contains(order, w) })
	m.gate = append(slices.Clone(order), rest...)
	return m.let(now, func(w *modelWait) bool { return slices.Contains(order, w) })
}

// settleGate makes all possible progress in the gate.
func (m *model) settleGate(now Time) (out []Decision) {
	defer m.sweep()
	for more := true; more; {
		for any := true; any; {
			var let []Decision
			let, any = m.letNext(now)
			out = append(out, let...)
		}
		more = false
		if n := m.find(SpaceLock); n != nil {
			suspensions := m.settle(now, n)
			out, more = append(out, suspensions...), len(suspensions) > 0
		}
	}
	var names []*modelName
	for _, w := range slices.Clone(m.gate) {
		if m.serving() && w.parked && w.request.Try {
			out = append(out, refused(now, w.request, m.barred(now, w)))
			names = append(names, m.find(w.request.Name))
			m.remove(m.find(w.request.Name), w)
		}
	}
	for _, n := range names {
		if m.find(n.name) == n {
			out = append(out, m.settle(now, n)...)
		}
	}
	return out
}

// contradicts reports whether a staying grant excludes other staying ones, because one of them suspends the table.
func (m *model) contradicts(r Request) bool {
	for _, n := range m.names {
		for _, g := range n.grants {
			if !g.revoked && (n.name == SpaceLock) != (r.Name == SpaceLock) && !sameOwner(g.request, r) {
				return true
			}
		}
	}
	return false
}

// bar parks each request that waits at a name and may not, before all others in the gate.
func (m *model) bar() {
	var barred []*modelWait
	for _, n := range m.names {
		if n.name == SpaceLock {
			continue
		}
		for _, w := range n.queue {
			if !w.parked && !m.passes(w.request) {
				barred = append(barred, w)
			}
		}
	}
	for _, w := range barred {
		w.parked = true
	}
	m.gate = append(barred, m.gate...)
	for _, n := range m.names {
		if n.name == SpaceLock {
			continue
		}
		passed := slices.DeleteFunc(slices.Clone(n.queue), func(w *modelWait) bool { return w.parked })
		var parked []*modelWait
		for _, w := range m.gate {
			if slices.Contains(n.queue, w) {
				parked = append(parked, w)
			}
		}
		n.queue = append(passed, parked...)
	}
}

// suspend asks for the whole table.
func (w *world) suspend(rt *rapid.T) {
	r := w.drawRequest(rt)
	r.Name, r.Mode, r.Units, r.Capacity = SpaceLock, holdfast.ModeExclusive, 0, 0
	w.table.Acquire(w.now, &r, &w.out)
	w.compare(rt, w.model.acquire(w.now, r))
}

// letIn lets an owner through the gate.
func (w *world) letIn(rt *rapid.T) {
	r := w.drawRequest(rt)
	all := w.model.gate
	if n := w.model.find(SpaceLock); n != nil && rapid.IntRange(0, 4).Draw(rt, "suspends") != 0 {
		for _, g := range n.grants {
			r.Session, r.ID = g.request.Session, g.holds[rapid.IntRange(0, len(g.holds)-1).Draw(rt, "hold")]
		}
		if len(n.queue) > 0 && rapid.Bool().Draw(rt, "waits") {
			r.Session, r.ID = n.queue[0].request.Session, n.queue[0].request.ID
		}
	}
	s, owner := drawSession(rt), rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "through")
	if len(all) > 0 && rapid.IntRange(0, 4).Draw(rt, "parked") != 0 {
		through := rapid.SampledFrom(all).Draw(rt, "of").request
		s, owner = through.Session, through.Owner
	}
	w.checkAtGate(rt, Request{Session: s, Attributes: holdfast.Attributes{Owner: owner}})
	let := w.table.LetIn(w.now, &r, s, owner, &w.out)
	want, done := w.model.letIn(w.now, r, s, owner)
	if let != done {
		rt.Fatalf("let in: %v, want %v", let, done)
	}
	w.compare(rt, want)
}

// checkAtGate compares table and model for an owner, and for the parked requests.
func (w *world) checkAtGate(rt *rapid.T, of Request) {
	theirs := func(r Request) bool { return sameOwner(r, of) }
	want := OwnerAtGate{Passed: slices.ContainsFunc(w.model.atNames(), theirs)}
	var parked, listed []party
	for _, waits := range w.model.gate {
		if r := waits.request; waits.parked && r.Owner != "" {
			want.Parked = want.Parked || theirs(r)
			parked = append(parked, party{w.table.sessionOf(r.Session), r.Owner})
		}
	}
	w.table.Parked(func(s SessionID, owner string) { listed = append(listed, party{w.table.sessionOf(s), owner}) })
	if at := w.table.OwnerAtGate(of.Session, of.Owner); at != want || !slices.Equal(listed, parked) {
		rt.Fatalf("%q of %v: %+v, and parked are %v; want %+v and %v", of.Owner, of.Session, at, listed, want, parked)
	}
}

func (m *model) letIn(now Time, r Request, s SessionID, owner string) (out []Decision, done bool) {
	theirs := func(w *modelWait) bool {
		return w.parked && sameOwner(w.request, Request{Session: s, Attributes: holdfast.Attributes{Owner: owner}})
	}
	n := m.find(SpaceLock)
	if n == nil || !slices.ContainsFunc(m.gate, theirs) {
		return nil, false
	}
	if len(n.grants) == 0 {
		at := slices.IndexFunc(n.queue, func(w *modelWait) bool { return w.request.Session == r.Session && w.request.ID == r.ID })
		if at < 0 || theirs(&modelWait{n.queue[at].request, true}) {
			return nil, false
		}
	} else {
		g := n.grants[0]
		if len(n.grants) > 1 || g.revoked || g.request.Session != r.Session || !slices.Contains(g.holds, r.ID) || theirs(&modelWait{g.request, true}) {
			return nil, false
		}
		var waits []*modelWait
		for _, id := range g.holds {
			again := g.request
			again.ID, again.Arrived, again.WaitEnd, again.Hold, again.Try = id, g.since, Never, r.Hold, false
			if id == r.ID {
				again.Arrived, again.WaitEnd = r.Arrived, r.WaitEnd
			}
			d := decisionFor(Queued, again)
			d.Position = len(waits)
			out = append(out, d)
			waits = append(waits, &modelWait{request: again})
		}
		n.grants, n.queue, m.gate = nil, append(slices.Clone(waits), n.queue...), append(slices.Clone(waits), m.gate...)
	}
	let, _ := m.let(now, theirs)
	return append(append(out, let...), m.settleGate(now)...), true
}

// checkSuspension compares table and model for suspensions, and for the parked requests.
func (w *world) checkSuspension(rt *rapid.T) {
	suspending := 0
	for _, waits := range w.model.gate {
		if waits.request.Name == SpaceLock {
			suspending++
		}
	}
	grant, suspended := w.table.Suspension()
	if held := w.model.suspension(); suspended != (len(held) > 0) || w.table.Suspending() != suspending {
		rt.Fatalf("suspended by %v, and %d wait to; want %v and %d", grant, w.table.Suspending(), held, suspending)
	}
	if suspended && !slices.Contains(w.table.Show(SpaceLock).Holders, grant) {
		rt.Fatalf("suspended by %v, which is not shown", grant)
	}
	var parked []uint64
	if g := w.table.gate; g != nil {
		for i := g.first; i != 0; i = g.turns[i].after {
			parked = append(parked, w.table.entries.at(i).request)
		}
	}
	if !slices.EqualFunc(parked, w.model.gate, func(id uint64, w *modelWait) bool { return id == w.request.ID }) {
		rt.Fatalf("requests %v wait in the gate, want %v", parked, w.model.gate)
	}
}

// endWhere ends the holds of a session and the waits of another one, as the end of a member does.
func (w *world) endWhere(rt *rapid.T) {
	a, b := drawSession(rt), drawSession(rt)
	match := func(_ string, s SessionID, _ uint64, token holdfast.Token) bool {
		return s == a || s == b && token == 0
	}
	w.table.EndWhere(w.now, holdfast.MemberLost, match, &w.out)
	holds, waits := w.model.all()
	endings := append(holds, waits...)
	endings = slices.DeleteFunc(endings, func(e ending) bool { return !match("", e.request.Session, 0, e.decision.Token) })
	slices.SortStableFunc(endings, func(a, b ending) int {
		return cmp.Or(
			cmp.Compare(a.request.Session.Member, b.request.Session.Member),
			cmp.Compare(a.request.Session.Number, b.request.Session.Number),
			cmp.Compare(min(a.decision.Token, 1), min(b.decision.Token, 1)),
			byRequestID(a, b),
		)
	})
	for i := range endings {
		if d := &endings[i].decision; d.Kind == Lost {
			d.Loss = holdfast.MemberLost
		} else {
			d.Err = holdfast.MemberLost
		}
	}
	w.compare(rt, w.model.finish(w.now, endings))
}

// revokeSession ends the waits of a session and revokes its holds.
func (w *world) revokeSession(rt *rapid.T) {
	s := drawSession(rt)
	err := errors.New("it was taken away")
	w.table.RevokeSession(w.now, s, holdfast.Broken, err, &w.out)
	w.compare(rt, w.model.revokeSession(w.now, s, holdfast.Broken, err))
}

func (m *model) revokeSession(now Time, s SessionID, why holdfast.Loss, err error) (out []Decision) {
	holds, waits := m.all()
	foreign := func(e ending) bool { return e.request.Session != s }
	holds, waits = slices.DeleteFunc(holds, foreign), slices.DeleteFunc(waits, foreign)
	if len(holds)+len(waits) == 0 {
		return nil
	}
	slices.SortFunc(holds, byRequestID)
	slices.SortFunc(waits, byRequestID)
	for i := range waits {
		waits[i].decision.Err = err
		d := waits[i].decision
		d.Waited = now - waits[i].request.Arrived
		out = append(out, d)
		m.end(waits[i].name, s, d.Request)
	}
	for _, e := range holds {
		for _, g := range e.name.grants {
			if g.request.Session == s && slices.Contains(g.holds, e.decision.Request) {
				g.revoke(why)
				out = append(out, m.revoked(g, e.decision.Request, why))
			}
		}
	}
	for _, e := range waits {
		if m.find(e.name.name) == e.name && e.name.name != SpaceLock {
			out = append(out, m.settle(now, e.name)...)
		}
	}
	return append(out, m.settleGate(now)...)
}
