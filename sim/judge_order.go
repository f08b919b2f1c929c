package sim

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// place is a request in an authority's queue.
type place struct {
	key     requestKey
	request requestKey // the member's request to the authority
	reign   protocol.Epoch
	since   instant
}

// passing is a grant of a name while others wait for it.
type passing struct {
	key    requestKey
	sentAt instant
	token  holdfast.Token
	reign  protocol.Epoch
	alone  bool // it is exclusive
}

// reignOf returns the reign by an authority's tokens; in partition mode any, two of them may share one number.
func (j *judge) reignOf(reign protocol.Epoch) protocol.Epoch {
	if j.sides == nil {
		reign.Candidate = 0
	}
	return reign
}

// reignOfGrant returns the reign of the authority that gave the grant.
func (j *judge) reignOfGrant(g *grant) protocol.Epoch {
	if j.sides == nil {
		return protocol.Epoch{Counter: uint64(g.token) >> 32}
	}
	return g.origin.reign
}

// P5, order within a reign, as seen from outside: once a request is in the queue of a reign's authority, no request
// that is sent later is granted the name before it in that reign. Where members ask one another, a request for an
// exclusive lock has a place once all members that can grant have heard of it, and only exclusive locks must not come
// before it (hearing.go). Where leaders number tickets, a request has a place once a majority of the leaders knows its
// number, and a conflicting request must not come before it (leaders.go).

// requested is called when a client sends a request for the first time.
func (j *judge) requested(key requestKey, who fmt.Stringer, want wantedLock) {
	j.fate(key).sentAt = j.clock()
	if j.tenants != nil {
		j.enters(want.name, key)
	}
	j.histories.request(key, who, want)
}

// repeated is called when a client repeats a call through another member, which sends its own request.
func (j *judge) repeated(key, first requestKey) {
	j.fate(key).sentAt = j.fate(first).sentAt
	j.unsettles(func(s lock.SessionID) bool { return s == key.session })
	j.histories.repeat(key, first)
}

// requestsOf is called when a member asks an authority for a client's request. A place under an earlier number, which
// was given up, no longer counts.
func (j *judge) requestsOf(name string, request, key requestKey) {
	if _, known := j.clientRequests[request]; !known {
		r := j.record(name)
		r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key == key && p.request != request })
	}
	j.clientRequests[request] = key
}

// stands is called when an authority reports that it has queued a member's request. A member that asks under another
// number has given up the earlier one: that was refused, and was queued by a copy that came later. So the request
// arrives again.
func (j *judge) stands(name string, request requestKey, reign protocol.Epoch) {
	reign = j.reignOf(reign)
	r := j.record(name)
	key, known := j.clientRequests[request]
	if !known || j.fate(key).token != 0 {
		return
	}
	for i := range r.queue {
		if at := &r.queue[i]; at.key == key {
			if reign.Counter > at.reign.Counter || j.sides != nil && reign != at.reign || request != at.request {
				*at = place{key, request, reign, j.clock()}
			}
			return
		}
	}
	r.queue = append(r.queue, place{key, request, reign, j.clock()})
}

// gives is called when an authority announces a grant to a member. Its client may have given up the request, and a
// later request of the same owner may enter the grant before its release: such a request passes only requests that the
// grant itself passed.
func (j *judge) gives(name string, token holdfast.Token, request requestKey) {
	r := j.record(name)
	if slices.ContainsFunc(r.given[:], func(g gift) bool { return g.token == token && g.request == request }) {
		return
	}
	r.given[r.gifts%len(r.given)] = gift{token, request, j.clock()}
	r.gifts++
}

// sent is the time at which the granted request was sent, if known: a request that enters the grant may have been sent
// later.
func (r *record) sent(g *grant, sentAt instant) instant {
	i := slices.IndexFunc(r.given[:], func(of gift) bool { return of.token == g.token })
	if i < 0 {
		return sentAt
	}
	return min(sentAt, r.given[i].at)
}

// gaveAnother reports whether a grant was given under another number than that of the client's request in the queue. A
// member that becomes the authority gives that number up, and uses another one with the next authority, at which the
// request arrives again.
func (r *record) gaveAnother(g *grant, stood *place) bool {
	another := false
	for _, given := range r.given {
		if given.token == g.token && given.request == stood.request {
			return false
		}
		another = another || given.token == g.token
	}
	return another
}

// lends is called when a member is about to grant a name that it keeps, in a space whose members hold on. It is then
// the authority for that name until it has to give way. A request in the queue of the space's authority has not arrived
// there yet.
func (j *judge) lends(key requestKey) { j.fate(key).lent = true }

// lapsed is called when a member's tenure has ended: its requests are void, and those that are repeated arrive again.
func (j *judge) lapsed(member uint64) {
	j.unsettles(func(s lock.SessionID) bool { return s.Member == member })
	//tidy:unordered each name has a separate queue
	for _, r := range j.names {
		r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key.session.Member == member })
	}
}

// leaves is called when a request is decided, or no user wants it any more.
func (j *judge) leaves(name string, key requestKey) {
	r := j.record(name)
	r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key == key })
}

// overtakes checks a grant against earlier grants. Members hear of grants in any order; the order of the authority is
// that of the tokens. A request that enters a grant of its owner passes no other.
func (j *judge) overtakes(r *record, g *grant) {
	key := requestKey{g.session, g.request}
	f := j.fate(key)
	if f.token != 0 {
		return // granted before
	}
	if j.sides != nil && g.mode == holdfast.ModeExclusive && !slices.ContainsFunc(r.holders, g.shares) {
		j.sides.succeeds(j, r, g)
	}
	if slices.ContainsFunc(r.holders, g.shares) || slices.ContainsFunc(r.recent[:], func(t issued) bool { return t.token == g.token }) {
		return // it enters a grant that its owner holds, or has just released
	}
	r.recent[r.grants%len(r.recent)] = issued{g.token, g.session}
	r.grants++
	if len(r.queue) == 0 {
		return
	}
	reign := j.reignOfGrant(g)
	for i := range r.queue {
		stood := &r.queue[i]
		if stood.key != key || stood.reign != reign || r.gaveAnother(g, stood) {
			continue
		}
		for _, other := range r.passed {
			if j.loose && !other.alone && (!j.turns || g.mode != holdfast.ModeExclusive) {
				continue
			}
			if other.token < g.token && other.reign == reign && other.sentAt > stood.since {
				j.violate("P5", "request %d of session %v stands in the queue of %q since %v and is granted under token %d, after request %d of session %v, which was asked at %v, under token %d",
					g.request, g.session, g.name, stood.since, g.token, other.key.id, other.key.session, other.sentAt, other.token)
				return
			}
		}
	}
	j.leaves(g.name, key)
	switch {
	case len(r.queue) == 0:
		r.passed = r.passed[:0]
	case !f.lent:
		r.passed = append(r.passed, passing{key, r.sent(g, f.sentAt), g.token, reign, g.mode == holdfast.ModeExclusive})
	}
}

func (g *grant) shares(h grant) bool { return g.same(&h) }

// foreignToken returns a token of a name that another session holds or held; 0 if none is known. In partition mode any
// the session is of the same side, as a token of another side may equal one of the session's own.
func (j *judge) foreignToken(name string, not lock.SessionID) holdfast.Token {
	r := j.record(name)
	for i := range r.holders {
		if h := &r.holders[i]; h.session != not && (j.sides == nil || j.sides.reached(not, h)) {
			return h.token
		}
	}
	return 0
}

// register is a resource behind a lock, which compares fencing tokens.
type register struct {
	judge   *judge
	highest map[string]holdfast.Token
	stale   int // refused writes
	written int
}

// write handles a write that arrives.
func (g *register) write(of grant) {
	if of.mode != holdfast.ModeExclusive {
		return
	}
	if seen := g.highest[of.name]; of.token < seen {
		g.stale++
		if of.holder.believesAt(g.judge.clock()) {
			g.judge.refusedWrite(of, seen)
		}
		return
	}
	g.written++
	g.highest[of.name] = of.token
}
