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

// id identifies a wait in every listing.
type id struct {
	space, name    string
	by, to         key
	request, ahead uint64
	token          uint64
}

func (w *Wait) id() id {
	return id{w.Space, w.Name, w.By.key(), w.For.key(), w.Request, w.Ahead, w.Token}
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
	before := -1                                 // the request before this one
	for i, waits := range lock.GetWaiters() {
		by := Party{waits.GetSession(), waits.GetOwner(), waits.GetClient(), waits.GetMember()}
		if by.Owner != "" && slices.ContainsFunc(lock.GetHolders(), func(g *schema.Grant) bool {
			return g.GetSession() == by.Session && g.GetOwner() == by.Owner
		}) {
			continue // it has been granted, or enters again
		}
		one := Wait{Space: lock.GetSpace(), Name: lock.GetName(), By: by, Request: waits.GetRequest()}
		add := func(other Wait) {
			if other.For.key() != by.key() {
				of[i] = append(of[i], other)
			}
		}
		for _, g := range lock.GetHolders() {
			if excludes(g.GetMode(), g.GetUnits(), waits, lock.GetCapacity()) {
				one.For, one.Token = Party{g.GetSession(), g.GetOwner(), g.GetClient(), g.GetMember()}, g.GetToken()
				add(one)
			}
		}
		next := before
		if before = i; next < 0 {
			continue
		}
		// Those before the request ahead are what that one waits for.
		if ahead := lock.GetWaiters()[next]; excludes(ahead.GetMode(), ahead.GetUnits(), waits, lock.GetCapacity()) {
			one.For, one.Token = Party{ahead.GetSession(), ahead.GetOwner(), ahead.GetClient(), ahead.GetMember()}, 0
			one.Ahead = ahead.GetRequest()
			add(one)
			continue
		}
		known := map[id]bool{}
		for _, w := range of[i] {
			known[w.id()] = true
		}
		for _, other := range of[next] { // it is granted no earlier than that one
			if other.By, other.Request = by, waits.GetRequest(); !known[other.id()] {
				add(other)
			}
		}
	}
	for i := range of {
		all = append(all, of[i]...)
	}
	return all
}

// excludes reports whether a lock, or one that is requested earlier, alone keeps a request from being granted.
func excludes(mode schema.Mode, units int32, request *schema.Wait, capacity int32) bool {
	switch {
	case mode != request.GetMode() || mode == schema.Mode_MODE_EXCLUSIVE:
		return true
	case mode == schema.Mode_MODE_SLOTS && capacity > 0: // a listing does not say it while the name is held in another mode
		return units+request.GetUnits() > capacity
	}
	return false
}

// From returns the waits that lead on from a name: those at the name, those of the parties that they are for, and so
// on, each once.
func From(all []Wait, space, name string) (found []Wait) {
	of := map[key][]Wait{}
	for _, w := range all {
		of[w.By.key()] = append(of[w.By.key()], w)
	}
	seen, followed := map[id]bool{}, map[key]bool{}
	add := func(w Wait) {
		if !seen[w.id()] {
			seen[w.id()] = true
			found = append(found, w)
		}
	}
	for _, w := range all {
		if w.Space == space && w.Name == name {
			add(w)
		}
	}
	for i := 0; i < len(found); i++ {
		if p := found[i].For.key(); !followed[p] {
			followed[p] = true
			for _, w := range of[p] {
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
	again := map[id]bool{}
	for _, w := range later {
		again[w.id()] = true
	}
	for _, w := range all {
		if again[w.id()] {
			standing = append(standing, w)
		}
	}
	return standing
}
