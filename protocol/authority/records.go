package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// state is the state of a record's request, as known to its holder.
type state uint8

const (
	requested state = iota + 1 // no authority has answered yet
	queued                     // an authority has it in its queue
	held                       // granted, and its client may believe so
	kept                       // granted, released by its client, and kept for the next one (keep.go)
	ending                     // no client here wants it any more; an authority may still have it
)

// record is a holder's record of one request of its clients, from its arrival until nothing of it is left anywhere. An
// authority's table is rebuilt from the records.
type record struct {
	seq      uint64
	state    state
	request  lock.Request  // Arrived: when it was made here, from which everything counts
	sent     bool          // an authority may know of the request
	first    protocol.Time // when it was sent for the first time to the present authority
	position int           // in the queue; -1 while no authority has said
	client   bool          // it belongs to a client; false for a kept grant, even while it is returned
	reported bool          // the report to the present authority has it as wanted or held
	freed    bool          // that report has it as released

	// Held.
	token     holdfast.Token
	since     protocol.Time
	end       protocol.Time // when its hold limit has ended on every client's clock; or Never
	limit     protocol.Time // until when its client may hold, if another member counts the limit; or Never
	revoked   bool
	loss      holdfast.Loss // why it is revoked
	confirmed bool          // the authority of the newest epoch has given it, or knows it
	extension *extension
	amendment *amendment
	keep      bool    // it is kept when its client releases it
	origin    *origin // what the authority knows of a grant that was kept; nil: of the request itself

	// Ending.
	calls      []protocol.CallID // calls that wait for the release
	haste      bool              // one of them does nothing else meanwhile
	sessionEnd bool              // it represents all requests of its session
	why        holdfast.Loss     // whole: why the session has ended

	due, pause protocol.Time // when to send again, and how long after that
	at         protocol.Time // the reminder that is set, or Never

	links [3]struct{ next, prev *record }
}

// changes reports whether a change of a held grant is under way.
func (r *record) changes() bool { return r.extension != nil || r.amendment != nil }

// extension is a requested new hold limit.
type extension struct {
	number uint64
	hold   lock.Time
	sent   protocol.Time
	call   protocol.CallID
}

// amendment is the call for an amendment that no authority has answered yet; the record's request has its contents, or
// those of a later one.
type amendment struct {
	call     protocol.CallID
	revision uint64
}

// recordKey names a request as its client does.
type recordKey struct {
	session lock.SessionID
	request uint64
	name    string
}

func (r *record) key() recordKey {
	return recordKey{r.request.Session, r.request.ID, r.request.Name}
}

// waits reports whether a client waits for the request.
func (r *record) waits() bool { return r.state == requested || r.state == queued }

// decision returns a Decision of a kind about the record's request.
func (r *record) decision(kind lock.Kind) lock.Decision {
	d := r.request.Decision(kind)
	if d.Token = r.token; r.token != 0 {
		d.Since = r.since
	}
	if kind == lock.Queued {
		d.Position = r.position
	}
	return d
}

// The chains that a record is in.
const (
	ofAll = iota
	ofSession
	ofName
)

// chain is a list of records, in the order of their requests.
type chain struct{ first, last *record }

func (c *chain) link(which int, r *record) {
	r.links[which].prev, r.links[which].next = c.last, nil
	if c.last == nil {
		c.first = r
	} else {
		c.last.links[which].next = r
	}
	c.last = r
}

func (c *chain) unlink(which int, r *record) {
	link := &r.links[which]
	if link.prev == nil {
		c.first = link.next
	} else {
		link.prev.links[which].next = link.next
	}
	if link.next == nil {
		c.last = link.prev
	} else {
		link.next.links[which].prev = link.prev
	}
	link.next, link.prev = nil, nil
}

// presence is the records of one session here.
type presence struct {
	chain
	count int // records that do not end
	holds int
}

// enter adds a record to the indices.
func (h *holder) enter(r *record) {
	h.records[r.seq] = r
	if r.state == requested {
		h.requested = append(h.requested, r.seq)
	}
	h.all.link(ofAll, r)
	if r.sessionEnd {
		return
	}
	h.enterClient(r)
	names := h.names[r.request.Name]
	if names == nil {
		names = &chain{}
		h.names[r.request.Name] = names
	}
	names.link(ofName, r)
}

// enterClient adds a record to its client's index.
func (h *holder) enterClient(r *record) {
	h.byKey[r.key()] = r
	p := h.sessions[r.request.Session]
	if p == nil {
		if p = h.spare; p == nil {
			p = &presence{}
		}
		h.spare = nil
		h.sessions[r.request.Session] = p
	}
	p.link(ofSession, r)
	p.count++
	if r.state == held {
		p.holds++
		h.held++
	}
	r.client = true
}

// leaveClient removes a record from its client's index.
func (h *holder) leaveClient(r *record) {
	h.leaveCount(r)
	if h.byKey[r.key()] == r {
		delete(h.byKey, r.key())
	}
	p := h.sessions[r.request.Session]
	p.unlink(ofSession, r)
	if p.first == nil {
		delete(h.sessions, r.request.Session)
		h.spare = p // most sessions come and go with what they lock
	}
	r.client = false
}

// leave removes a record from all indices.
func (h *holder) leave(r *record) {
	h.settleHold(r)
	delete(h.records, r.seq)
	h.reminders.Sweep(len(h.records), h.reminds)
	h.all.unlink(ofAll, r)
	if r.sessionEnd {
		return
	}
	switch {
	case r.client:
		h.leaveClient(r)
	case r.state == kept:
		h.idle.unlink(ofSession, r)
		h.unused--
	}
	if r.origin != nil {
		if h.origins[r.origin.session]--; h.origins[r.origin.session] == 0 {
			delete(h.origins, r.origin.session)
		}
	}
	names := h.names[r.request.Name]
	names.unlink(ofName, r)
	if names.first == nil {
		delete(h.names, r.request.Name)
	}
}

// settleHold removes a record from the counts of holds, if it is in them.
func (h *holder) settleHold(r *record) {
	if r.state != held {
		return
	}
	h.sessions[r.request.Session].holds--
	h.held--
	if !r.confirmed {
		h.unconfirmed--
	}
}

// leaveCount removes a record from those that count towards its session's limit.
func (h *holder) leaveCount(r *record) {
	if r.state != ending {
		h.sessions[r.request.Session].count--
	}
}

// take makes a waiting record a held one.
func (h *holder) take(r *record, token holdfast.Token, since, end protocol.Time) {
	r.state, r.token, r.since, r.end, r.limit, r.confirmed = held, token, since, end, protocol.Never, true
	r.sent, r.due, r.pause = true, protocol.Never, 0
	h.sessions[r.request.Session].holds++
	h.held++
}

// nextSeq draws a number that this incarnation never uses again.
func (h *holder) nextSeq() uint64 {
	h.seqs++
	if h.seqs >= 1<<protocol.NumberBits {
		panic("authority: a tenure has run out of numbers")
	}
	return h.lapses<<protocol.NumberBits | h.seqs
}
