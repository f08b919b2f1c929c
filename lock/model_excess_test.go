package lock

import (
	"cmp"
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

// capacity is the capacity of the slots requests at n, or 0 if there are none: staying ones first, then waiting ones,
// then revoked ones.
func (n *modelName) capacity() int {
	for _, g := range n.grants {
		if !g.revoked && g.request.Mode == holdfast.ModeSlots {
			return g.request.Capacity
		}
	}
	for _, w := range n.queue {
		if w.request.Mode == holdfast.ModeSlots {
			return w.request.Capacity
		}
	}
	for _, g := range n.grants {
		if g.request.Mode == holdfast.ModeSlots {
			return g.request.Capacity
		}
	}
	return 0
}

// compatible reports whether these can be held together.
func compatible(requests []Request) bool {
	units := 0
	for _, r := range requests {
		units += r.Units
		if r.Mode != requests[0].Mode || r.Capacity != requests[0].Capacity || r.Mode == holdfast.ModeExclusive && len(requests) > 1 {
			return false
		}
	}
	return len(requests) == 0 || units <= requests[0].Capacity
}

// excess reports whether the holders of n do not all fit: some are revoked, and no request is granted.
func (n *modelName) excess() bool {
	var all []Request
	for _, g := range n.grants {
		all = append(all, g.request)
		if g.request.Mode == holdfast.ModeSlots && g.request.Capacity != n.capacity() {
			return true
		}
	}
	return !compatible(all)
}

// staying are the requests of the holders that are not revoked.
func (n *modelName) staying() (requests []Request) {
	for _, g := range n.grants {
		if !g.revoked {
			requests = append(requests, g.request)
		}
	}
	return requests
}

var errImpossible = errors.New("impossible")

// adopt is Adopt: nil, ErrConflict, or another error.
func (m *model) adopt(r Request, token holdfast.Token, revoked bool, end Time) error {
	n := m.find(r.Name)
	if token > m.last {
		return errImpossible
	}
	if n == nil {
		n = &modelName{name: r.Name}
		defer func() {
			m.names = append(m.names, n)
			slices.SortFunc(m.names, func(a, b *modelName) int { return cmp.Compare(a.name, b.name) })
		}()
	}
	owns, capacity := false, 0
	for _, g := range n.grants {
		if g.request.Session == r.Session && slices.Contains(g.holds, r.ID) {
			return errImpossible
		}
		owns = owns || !g.revoked && r.Owner != "" && g.request.Owner == r.Owner && g.request.Session == r.Session
	}
	for _, w := range n.queue {
		if w.request.Session == r.Session && w.request.ID == r.ID {
			return errImpossible
		}
		capacity = max(capacity, w.request.Capacity)
	}
	for _, g := range n.grants {
		if g.request.Session != r.Session || g.token != token {
			continue
		}
		if r.Owner == "" || g.request.Owner != r.Owner || g.revoked != revoked || !sameShape(g.request, r) {
			return holdfast.ErrConflict
		}
		g.holds, g.until = append(g.holds, r.ID), max(g.until, end)
		return nil
	}
	if !revoked && m.contradicts(r) {
		return holdfast.ErrConflict
	}
	waiters := capacity != 0 && r.Capacity != 0 && capacity != r.Capacity
	if !revoked && (owns || waiters || !compatible(append(n.staying(), r))) {
		return holdfast.ErrConflict
	}
	at, _ := slices.BinarySearchFunc(n.grants, token, func(g *modelGrant, token holdfast.Token) int {
		if g.token <= token {
			return -1
		}
		return 1
	})
	g := &modelGrant{request: r, token: token, since: r.Arrived, until: end, holds: []uint64{r.ID}, revoked: revoked}
	n.grants = slices.Insert(n.grants, at, g)
	return nil
}

func (g *modelGrant) revoke(why holdfast.Loss) {
	if !g.revoked {
		g.revoked, g.why = true, why
	}
}

// forget drops what a snapshot does not contain.
func (m *model) forget() {
	for _, n := range m.names {
		for _, g := range n.grants {
			g.why = ""
		}
	}
}

func (m *model) revoke(s SessionID, name string, token holdfast.Token, why holdfast.Loss) (out []Decision) {
	n := m.find(name)
	if n == nil {
		return nil
	}
	for _, g := range n.grants {
		if g.request.Session == s && g.token == token {
			g.revoke(why)
			for _, id := range g.holds {
				out = append(out, m.revoked(g, id, why))
			}
		}
	}
	return out
}

// adopt takes a grant of another table.
func (w *world) adopt(rt *rapid.T) {
	r := w.drawRequest(rt)
	r.Try, r.WaitEnd, r.Hold = false, Never, 0
	if w.suspends && rapid.IntRange(0, 2).Draw(rt, "whole") == 0 {
		r.Name, r.Mode, r.Units, r.Capacity = SpaceLock, holdfast.ModeExclusive, 0, 0
	}
	token := Token(rapid.Uint64Range(1, max(1, w.model.reign)).Draw(rt, "reign"), rapid.Uint32Range(1, 4).Draw(rt, "count"))
	if rapid.IntRange(0, 3).Draw(rt, "mate") == 0 {
		other, held := w.drawEntry(rt)
		r.Session, r.Name, r.Owner = other.Session, other.Name, other.Owner
		if r.Name == SpaceLock {
			r.Mode, r.Units, r.Capacity = holdfast.ModeExclusive, 0, 0
		}
		if held != 0 {
			token = held
		}
	}
	entry := Entry{
		Name: r.Name, Session: r.Session, Request: r.ID, Attributes: holdfast.Attributes{Shape: r.Shape, Owner: r.Owner, Reason: r.Reason}, Client: r.Client,
		Token: token, Age: w.now - r.Arrived,
		Revoked: rapid.Bool().Draw(rt, "revoked"),
	}
	end := Never
	if rapid.Bool().Draw(rt, "ends") {
		end = w.now + 21*Time(rapid.IntRange(1, 5).Draw(rt, "end"))
	}
	err := w.table.Adopt(w.now, &entry, end)
	want := w.model.adopt(r, token, entry.Revoked, end)
	if (err == nil) != (want == nil) || errors.Is(err, holdfast.ErrConflict) != errors.Is(want, holdfast.ErrConflict) {
		rt.Fatalf("adopt %+v: %v, want %v", entry, err, want)
	}
	w.model.sweep()
	if err == nil {
		if r.Name == SpaceLock {
			w.model.bar()
		}
		w.latest[requestName{r.Session, r.ID, r.Name}] = Granted
		w.newest[r.Name] = max(w.newest[r.Name], token)
	}
}

func (w *world) revoke(rt *rapid.T) {
	r, token := w.drawEntry(rt)
	known := w.table.Revoke(r.Session, r.Name, token, holdfast.Duplicate, &w.out)
	want := w.model.revoke(r.Session, r.Name, token, holdfast.Duplicate)
	if token == 0 {
		want = nil
	}
	if known != (want != nil) {
		rt.Fatalf("revoke %d: %v, want %v", token, known, want)
	}
	w.compare(rt, want)
}
