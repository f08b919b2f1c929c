package sim

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// place is a request that stands in an authority's queue.
type place struct {
	key     requestKey
	request requestKey // what its member asks the authority for
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

// reignOf is that of an authority, as its tokens tell it; in partition mode any two of
// them may have one number.
func (j *judge) reignOf(reign protocol.Epoch) protocol.Epoch {
	if j.sides == nil {
		reign.Candidate = 0
	}
	return reign
}

// reignOfGrant is that of the authority that has given it.
func (j *judge) reignOfGrant(g *grant) protocol.Epoch {
	if j.sides == nil {
		return protocol.Epoch{Counter: uint64(g.token) >> 32}
	}
	return g.origin.reign
}

// P5, order within a reign, as it can be seen from outside: once a request stands in
// the queue of a reign's authority, no request that is sent later is granted the
// name before it in that reign. Where members ask one another a request for an exclusive lock
// stands when all members that can grant have heard of it, and it is exclusive locks alone that
// must not come before it (hearing.go). Where leaders number tickets one stands when a majority of them
// knows its number, and of two that exclude each other none comes before the other (leaders.go).

// requested is called when a client sends a request for the first time.
func (j *judge) requested(key requestKey, who fmt.Stringer, want wantedLock) {
	j.fate(key).sentAt = j.clock()
	if j.tenants != nil {
		j.enters(want.name, key)
	}
	j.histories.request(key, who, want)
}

// repeated is called when a client's call, for which a member has sent a request, is made through another one, which sends
// another.
func (j *judge) repeated(key, first requestKey) {
	j.fate(key).sentAt = j.fate(first).sentAt
	j.unsettles(func(s lock.SessionID) bool { return s == key.session })
	j.histories.repeat(key, first)
}

// requestsOf is called when a member asks an authority for what a client has asked for. A place
// that the client's request has under another number, which was given up, is none.
func (j *judge) requestsOf(name string, request, key requestKey) {
	if _, known := j.clientRequests[request]; !known {
		r := j.record(name)
		r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key == key && p.request != request })
	}
	j.clientRequests[request] = key
}

// stands is called when an authority says that it has queued what a member asks for. A
// member that asks for a client's request under another number has given the one before up: that
// was refused, and was queued by a copy that came later. So the request arrives again.
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

// gives is called when an authority tells a member of a grant. Its client may have given it up,
// and a later request of the same owner may enter it before it is given back: that one passes
// no request that was not passed by the grant itself.
func (j *judge) gives(name string, token holdfast.Token, request requestKey) {
	r := j.record(name)
	if slices.ContainsFunc(r.given[:], func(g gift) bool { return g.token == token && g.request == request }) {
		return
	}
	r.given[r.gifts%len(r.given)] = gift{token, request, j.clock()}
	r.gifts++
}

// sent is when the request was sent to which a grant was given, as far as is known: the one
// that enters it may have been sent later.
func (r *record) sent(g *grant, sentAt instant) instant {
	i := slices.IndexFunc(r.given[:], func(of gift) bool { return of.token == g.token })
	if i < 0 {
		return sentAt
	}
	return min(sentAt, r.given[i].at)
}

// gaveAnother reports whether a grant was given under another number than the one under which the client's request stands. A member that becomes the
// authority itself gives that number up, and tells the next authority of another one, under which the request arrives there.
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

// lends is called when a member is about to grant by itself what it keeps of a space whose
// members hold on: then it is the authority for that name, until it is asked to give way.
// A request that stands in the queue of the space's authority has not arrived there yet.
func (j *judge) lends(key requestKey) { j.fate(key).lent = true }

// lapsed is called when a member's tenure has ended: what it has asked for is void,
// and any of that which is asked for again arrives again.
func (j *judge) lapsed(member uint64) {
	j.unsettles(func(s lock.SessionID) bool { return s.Member == member })
	//tidy:unordered each name has a queue of its own
	for _, r := range j.names {
		r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key.session.Member == member })
	}
}

// leaves is called when a request is decided, or no user wants it any more.
func (j *judge) leaves(name string, key requestKey) {
	r := j.record(name)
	r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.key == key })
}

// overtakes checks a grant against those that were granted before it. Members hear of
// grants in any order; that of the tokens is the authority's. A request that enters what its
// owner holds already passes no other.
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
		return // it enters what its owner holds, or has just given back
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

// foreignToken returns a token of a name that another session holds, or held; 0 where
// none is known. In partition mode any it is one of the session's own side, for that of
// another side can be a token of its own as well.
func (j *judge) foreignToken(name string, not lock.SessionID) holdfast.Token {
	r := j.record(name)
	for i := range r.holders {
		if h := &r.holders[i]; h.session != not && (j.sides == nil || j.sides.reached(not, h)) {
			return h.token
		}
	}
	return 0
}

// register is a resource behind a lock that compares fencing tokens.
type register struct {
	judge   *judge
	highest map[string]holdfast.Token
	stale   int // writes that were refused
	written int
}

// write is a write that arrives.
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
