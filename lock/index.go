package lock

import "github.com/holdfast-locks/holdfast"

// A name with more than indexAbove entries gets an index, so that finding one of ten thousand costs the same as finding
// one of ten; with fewer than indexBelow it loses the index. The gap between the two keeps a name at the edge from
// being indexed repeatedly.
const (
	indexAbove = 16
	indexBelow = 8
)

// index finds the entries of one name.
type index struct {
	places  map[key]place
	tickets tickets
}

// key is a search key. Each kind uses the fields that it needs.
type key struct {
	kind    keyKind
	session int32
	number  uint64 // a request or a token: sides of a partition may have given the same one to two sessions
	owner   string
}

type keyKind uint8

const (
	byRequest keyKind = iota + 1 // every entry
	byToken                      // an entry of every grant
	byOwner                      // an entry of every grant of a named owner that can be reentered
)

// place is an entry, and its ticket in the queue while it waits.
type place struct{ entry, ticket int32 }

func requestKey(s *entry) key {
	return key{kind: byRequest, session: s.session, number: s.request}
}

func tokenKey(session int32, token holdfast.Token) key {
	return key{kind: byToken, session: session, number: uint64(token)}
}

func ownerKey(session int32, owner string) key {
	return key{kind: byOwner, session: session, owner: owner}
}

// indexOf returns the index of live name e, or nil.
func (t *Table) indexOf(e int32) *index {
	if c := t.names.at(e).crowd; c != 0 {
		return t.crowds.at(c).index
	}
	return nil
}

// register adds entry i, which is new, to its live name's index, and creates the index if there are enough entries.
func (t *Table) register(i int32) {
	s := t.entries.at(i)
	x := t.names.at(s.live)
	if x.crowd == 0 {
		return
	}
	c := t.crowds.at(x.crowd)
	if c.index == nil {
		if c.entries <= indexAbove {
			return
		}
		t.buildIndex(s.live, x, c)
	}
	c.index.places[requestKey(s)] = place{entry: i}
}

// unregister removes entry i.
func (t *Table) unregister(i int32) {
	s := t.entries.at(i)
	if x := t.indexOf(s.live); x != nil {
		delete(x.places, requestKey(s))
	}
}

func (t *Table) buildIndex(e int32, x *record, c *crowd) {
	c.index = &index{places: make(map[key]place, 2*indexAbove)}
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		c.index.places[requestKey(t.entries.at(i))] = place{entry: i}
		t.indexGrant(c.index, i)
	}
	for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
		c.index.places[requestKey(t.entries.at(i))] = place{entry: i}
	}
	lane, _ := t.lane(e)
	for i := lane; i != 0; i = t.next(ofEntry, lane, i) {
		c.index.places[requestKey(t.entries.at(i))] = place{entry: i}
	}
	t.renumber(x, c.index)
}

// thinOut drops the index of a name with few entries.
func (t *Table) thinOut(c *crowd) {
	if c.entries < indexBelow {
		c.index = nil
	}
}

// indexGrant adds the grant of entry i by its token and its owner.
func (t *Table) indexGrant(x *index, i int32) {
	s := t.entries.at(i)
	x.places[tokenKey(s.session, s.token)] = place{entry: i}
	if owner := t.owner(s); owner != "" && !s.revoked {
		x.places[ownerKey(s.session, owner)] = place{entry: i}
	}
}

// reindexGrant makes another entry represent the grant of entry i, which leaves it.
func (t *Table) reindexGrant(i, other int32) {
	if x := t.indexOf(t.entries.at(i).live); x != nil {
		t.indexGrant(x, other)
	}
}

// unindexGrant removes the grant of entry i.
func (t *Table) unindexGrant(i int32) {
	s := t.entries.at(i)
	x := t.indexOf(s.live)
	if x == nil {
		return
	}
	delete(x.places, tokenKey(s.session, s.token))
	if !s.revoked {
		t.unindexOwner(i)
	}
}

// unindexOwner prevents reentry into the grant of entry i.
func (t *Table) unindexOwner(i int32) {
	s := t.entries.at(i)
	owner := t.owner(s)
	if x := t.indexOf(s.live); x != nil && owner != "" {
		delete(x.places, ownerKey(s.session, owner))
	}
}

// findRequest returns the entry of a request at live name e, or 0.
func (t *Table) findRequest(e, session int32, request uint64) int32 {
	x := t.names.at(e)
	if i := x.holders; i != 0 { // usually the only one
		if s := t.entries.at(i); s.request == request && s.session == session {
			return i
		}
	}
	if index := t.indexOf(e); index != nil {
		return index.places[key{kind: byRequest, session: session, number: request}].entry
	}
	lane, _ := t.lane(e)
	for _, first := range [...]int32{x.holders, x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			if s := t.entries.at(i); s.request == request && s.session == session {
				return i
			}
		}
	}
	return 0
}

// findToken returns an entry of the grant with token that a session has at live name e, or 0.
func (t *Table) findToken(e, session int32, token holdfast.Token) int32 {
	if x := t.indexOf(e); x != nil {
		return x.places[tokenKey(session, token)].entry
	}
	first := t.names.at(e).holders
	for i := first; i != 0; i = t.next(ofEntry, first, i) {
		if s := t.entries.at(i); s.token == token && s.session == session {
			return i
		}
	}
	return 0
}

// findOwner returns an entry of the grant at live name e that a named owner can reenter, or 0.
func (t *Table) findOwner(e, session int32, owner string) int32 {
	if x := t.indexOf(e); x != nil {
		return x.places[ownerKey(session, owner)].entry
	}
	first := t.names.at(e).holders
	for i := first; i != 0; i = t.next(ofEntry, first, i) {
		if s := t.entries.at(i); s.session == session && !s.revoked && t.owner(s) == owner {
			return i
		}
	}
	return 0
}

// findOwnerOf is findOwner for the owner of a waiter, or 0 if it has no name.
func (t *Table) findOwnerOf(s *entry) int32 {
	owner := t.owner(s)
	if owner == "" {
		return 0
	}
	return t.findOwner(s.live, s.session, owner)
}
