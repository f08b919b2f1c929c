package waits

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Party is who holds or waits.
type Party struct {
	Session string `json:"session"`
	Owner   string `json:"owner,omitempty"`
	Client  string `json:"client,omitempty"`
	Member  string `json:"member,omitempty"`
}

// key identifies a party.
type key struct{ session, owner string }

func (p Party) key() key { return key{p.Session, p.Owner} }

// Wait is one party's wait for another one, at one name.
type Wait struct {
	Space   string `json:"space"`
	Name    string `json:"name"`
	By      Party  `json:"by"`
	Request uint64 `json:"request,string"`
	For     Party  `json:"for"`
	Token   uint64 `json:"token,string,omitempty"`         // of the lock that the other one has
	Ahead   uint64 `json:"request_ahead,string,omitempty"` // the request of the other one, if that is before it in the queue
}

// same reports whether two waits are one, seen twice.
func (w *Wait) same(other *Wait) bool {
	return w.Space == other.Space && w.Name == other.Name && w.By.key() == other.By.key() && w.Request == other.Request &&
		w.For.key() == other.For.key() && w.Token == other.Token && w.Ahead == other.Ahead
}

// Of returns the waits that locks show, in the order of the locks and their queues.
func Of(locks []*schema.Lock) (all []Wait) {
	for _, lock := range locks {
		all = append(all, ofLock(lock)...)
	}
	return all
}

// ofLock returns the waits at one name.
func ofLock(lock *schema.Lock) (all []Wait) {
	of := make([][]Wait, len(lock.GetWaiters())) // of each request, in the order of the queue
	for i, waits := range lock.GetWaiters() {
		by := Party{waits.GetSession(), waits.GetOwner(), waits.GetClient(), waits.GetMember()}
		if by.Owner != "" && slices.ContainsFunc(lock.GetHolders(), func(g *schema.Grant) bool {
			return g.GetSession() == by.Session && g.GetOwner() == by.Owner
		}) {
			continue // it has been granted, or enters again
		}
		one := Wait{Space: lock.GetSpace(), Name: lock.GetName(), By: by, Request: waits.GetRequest()}
		add := func(other Wait) {
			if other.For.key() != by.key() && !slices.ContainsFunc(of[i], func(known Wait) bool { return known.same(&other) }) {
				of[i] = append(of[i], other)
			}
		}
		for _, g := range lock.GetHolders() {
			if excludes(g.GetMode(), g.GetUnits(), waits, lock.GetCapacity()) {
				one.For, one.Token = Party{g.GetSession(), g.GetOwner(), g.GetClient(), g.GetMember()}, g.GetToken()
				add(one)
			}
		}
		for j, ahead := range lock.GetWaiters()[:i] {
			if excludes(ahead.GetMode(), ahead.GetUnits(), waits, lock.GetCapacity()) {
				one.For, one.Token = Party{ahead.GetSession(), ahead.GetOwner(), ahead.GetClient(), ahead.GetMember()}, 0
				one.Ahead = ahead.GetRequest()
				add(one)
				one.Ahead = 0
				continue
			}
			for _, other := range of[j] { // it is granted no earlier than that one
				other.By, other.Request = by, waits.GetRequest()
				add(other)
			}
		}
		all = append(all, of[i]...)
	}
	return all
}

// excludes reports whether a lock, or one that is requested earlier, alone keeps a request from being granted.
func excludes(mode schema.Mode, units int32, request *schema.Wait, capacity int32) bool {
	switch {
	case mode != request.GetMode() || mode == schema.Mode_MODE_EXCLUSIVE:
		return true
	case mode == schema.Mode_MODE_SLOTS:
		return units+request.GetUnits() > capacity
	}
	return false
}

// From returns the waits that lead on from a name: those at the name, those of the parties that they are for, and so
// on, each once.
func From(all []Wait, space, name string) (found []Wait) {
	var parties []key
	add := func(w Wait) {
		if !slices.ContainsFunc(found, func(known Wait) bool { return known.same(&w) }) {
			found = append(found, w)
			parties = append(parties, w.For.key())
		}
	}
	for _, w := range all {
		if w.Space == space && w.Name == name {
			add(w)
		}
	}
	for i := 0; i < len(parties); i++ {
		for _, w := range all {
			if w.By.key() == parties[i] {
				add(w)
			}
		}
	}
	return found
}

// Deadlocks returns, for each group of parties that wait for one another in a circle, a shortest cycle of its waits. Each
// begins with the party that is first by its session and owner.
func Deadlocks(all []Wait) (cycles [][]Wait) {
	out := map[key][]Wait{}
	var parties []key
	for _, w := range all {
		if _, known := out[w.By.key()]; !known {
			parties = append(parties, w.By.key())
		}
		out[w.By.key()] = append(out[w.By.key()], w)
	}
	slices.SortFunc(parties, func(a, b key) int { return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.owner, b.owner)) })
	covered := map[key]bool{}
	for _, p := range parties {
		if covered[p] {
			continue
		}
		if cycle := shortest(out, p); cycle != nil {
			cycles = append(cycles, cycle)
			//tidy:unordered each is marked
			for other := range reaches(out, p) { // those of its group: they reach it, too
				if reaches(out, other)[p] {
					covered[other] = true
				}
			}
		}
	}
	return cycles
}

// reaches returns the parties that a party waits for, directly or not.
func reaches(out map[key][]Wait, from key) map[key]bool {
	seen, next := map[key]bool{}, []key{from}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		for _, w := range out[p] {
			if !seen[w.For.key()] {
				seen[w.For.key()] = true
				next = append(next, w.For.key())
			}
		}
	}
	return seen
}

// shortest returns a shortest cycle through a party; nil if there is none.
func shortest(out map[key][]Wait, from key) []Wait {
	by, next := map[key]Wait{}, []key{from}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		for _, w := range out[p] {
			to := w.For.key()
			if _, seen := by[to]; seen {
				continue
			}
			if by[to] = w; to != from {
				next = append(next, to)
				continue
			}
			cycle := []Wait{w}
			for cycle[0].By.key() != from {
				cycle = append([]Wait{by[cycle[0].By.key()]}, cycle...)
			}
			return cycle
		}
	}
	return nil
}

// Standing returns the waits that a later listing shows again: a party that has gone on since has not stopped. Their
// deadlocks are deadlocks.
func Standing(all, later []Wait) (standing []Wait) {
	for _, w := range all {
		if slices.ContainsFunc(later, func(again Wait) bool { return again.same(&w) }) {
			standing = append(standing, w)
		}
	}
	return standing
}
