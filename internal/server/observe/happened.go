package observe

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// Happened applies an event of the name. Before the first look, and after a gap, it waits for the look.
func (m *Machine) Happened(now time.Duration, e *schema.WatchEvent) {
	m.seq++
	if !m.looked || m.lost {
		m.early = append(m.early, arrival{e, m.seq})
		return
	}
	m.apply(now, e)
}

func (m *Machine) apply(now time.Duration, e *schema.WatchEvent) {
	if e.GetCapacity() > 0 {
		m.capacity = e.GetCapacity()
	}
	switch e.GetEvent() {
	case events.Granted:
		m.granted(now, e)
	case events.Value:
		m.valued(e)
	case events.Released, events.Lost, events.Broken:
		m.ended(now, e)
	case events.Waiting:
		m.waiting(e)
	case events.Cancelled:
		key := request{e.GetSession(), e.GetRequest()}
		m.decided.put(key, struct{}{})
		if m.dequeue(key) {
			m.show(false)
		}
	}
}

// granted is the event of a grant, or of another lock of its owner under the same token.
func (m *Machine) granted(now time.Duration, e *schema.WatchEvent) {
	token, key := e.GetToken(), request{e.GetSession(), e.GetRequest()}
	m.decided.put(key, struct{}{})
	m.expected.take(token)
	for _, holds := range [][]hold{m.holders, m.pending} {
		if i, known := find(holds, token); known && holds[i].locks != nil {
			holds[i].requests, holds[i].locks = append(holds[i].requests, key.number), append(holds[i].locks, key.number)
		}
	}
	if m.known(token) {
		if _, pending := find(m.pending, token); !pending && m.dequeue(key) {
			m.show(false)
		}
		m.drain(now)
		return
	}
	h := hold{Grant: &schema.Grant{
		Owner: e.GetOwner(), Session: e.GetSession(), Member: e.GetMember(), Client: e.GetClient(), Mode: e.GetMode(), Units: e.GetUnits(),
		Token: token, Since: e.GetTime(), Reason: e.GetReason(), Value: e.GetValue(), Revision: e.GetRevision(),
	}, seq: m.seq, requests: []uint64{key.number}, locks: []uint64{key.number}, came: now}
	_, h.over = m.ends.take(token)
	h.values, _ = m.values.take(token)
	if len(m.pending) == 0 {
		m.stuck = now
	}
	i, _ := find(m.pending, token)
	m.pending = slices.Insert(m.pending, i, h)
	m.drain(now)
}

// ended is the event of a release or of a loss. A release ends the grant with the last lock of its owner.
func (m *Machine) ended(now time.Duration, e *schema.WatchEvent) {
	token := e.GetToken()
	for _, holds := range [][]hold{m.holders, m.pending} {
		i, known := find(holds, token)
		if !known {
			continue
		}
		h := &holds[i]
		h.locks = slices.DeleteFunc(h.locks, func(number uint64) bool { return number == e.GetRequest() })
		switch {
		case e.GetEvent() != events.Released, h.locks == nil && h.Owner == "", h.locks != nil && len(h.locks) == 0:
			h.over = true
		case h.locks == nil:
			m.doubt = true // a look has shown the owner, but not its requests
		}
	}
	if !m.known(token) {
		m.ends.put(token, struct{}{})
	}
	if i, shown := find(m.holders, token); shown && m.holders[i].over {
		m.finish(token)
		m.drain(now)
	}
}

// valued is the event of a new value.
func (m *Machine) valued(e *schema.WatchEvent) {
	token := e.GetToken()
	if i, known := find(m.holders, token); known {
		m.revalue(&m.holders[i], e)
		return
	}
	if i, known := find(m.pending, token); known {
		m.pending[i].values = append(m.pending[i].values, e)
		return
	}
	if !m.known(token) {
		m.values.put(token, append(m.values.all[token], e))
	}
}

// revalue shows a new value of a holder. The values of a grant are ordered by their revisions.
func (m *Machine) revalue(h *hold, e *schema.WatchEvent) {
	if e.GetRevision() <= h.Revision {
		return
	}
	h.Grant = proto.CloneOf(h.Grant) // the former one is in earlier states
	h.Value, h.Revision = e.GetValue(), e.GetRevision()
	m.show(false)
}

// waiting is the event of a request that was queued.
func (m *Machine) waiting(e *schema.WatchEvent) {
	key := request{e.GetSession(), e.GetRequest()}
	if m.decided.has(key) || slices.ContainsFunc(m.waiters, func(w wait) bool { return w.key() == key }) {
		return
	}
	m.waiters = append(m.waiters, wait{&schema.Wait{
		Owner: e.GetOwner(), Session: key.session, Request: key.number, Member: e.GetMember(), Client: e.GetClient(),
		Mode: e.GetMode(), Units: e.GetUnits(), Since: e.GetTime(), Reason: e.GetReason(), Position: -1,
	}, m.seq})
	m.show(false)
}
