package observe

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

const (
	// Patience is how long an event may be on its way after a look has shown what it reports. Then the look counts.
	Patience = 500 * time.Millisecond
	// Pace is how often the machine wants a look while events may be missing.
	Pace = time.Second
	// RestPace is how often the machine wants a look while the name is not free, and no events come.
	RestPace = 5 * time.Second
	// remembered is how many of each kind of what is over are remembered.
	remembered = 1024
)

// Machine has the state of one name, and the rules by which events and looks change it. Times are on any clock that
// does not go back. It is not safe for concurrent use.
type Machine struct {
	space, name string
	members     func() []string // the names of those in the view

	seq   uint64 // counts what has come in
	out   []*schema.Observed
	quiet bool // states do not come out

	looked   bool      // there was a first look
	lost     bool      // events were missed, and no look has been taken since
	lostAt   uint64    // when that became known
	early    []arrival // that came before the look
	lastLook time.Duration
	doubt    bool // a release may have left its owner without a lock

	holders  []hold                             // in the order of their tokens
	pending  []hold                             // granted, but not shown yet; in the order of their tokens
	stuck    time.Duration                      // since when the first of them waits
	waiters  []wait                             // in the order of the queue
	newest   [schema.Mode_MODE_SLOTS + 1]uint64 // by mode, the highest token that was shown
	floor    uint64                             // tokens up to here are known, or past
	capacity int32                              // mode slots
	silent   []string                           // members whose events may be missing

	past     ledger[uint64, struct{}]             // tokens of grants that are over
	ends     ledger[uint64, struct{}]             // tokens whose end has come before their grant
	values   ledger[uint64, []*schema.WatchEvent] // that have come before their grant
	decided  ledger[request, struct{}]            // requests that do not wait any more
	expected ledger[uint64, time.Duration]        // tokens that looks show, whose grants have not come, and since when
	noticed  map[any]time.Duration                // what the last looks show otherwise than the events, and since when
}

// hold is a grant.
type hold struct {
	*schema.Grant
	seq  uint64 // when it became known
	came time.Duration
	// The numbers of its requests, of which an owner may have several, and of those that are not released. Both are nil if
	// a look has shown it.
	requests, locks []uint64
	values          []*schema.WatchEvent // pending: that have come
	// checked means that no grant before this one is unknown, as far as looks can tell.
	checked bool
	over    bool // its end has come
}

// arrival is an event that waits for a look.
type arrival struct {
	*schema.WatchEvent
	seq uint64
}

// wait is a waiting request.
type wait struct {
	*schema.Wait
	seq uint64
}

func (w wait) key() request { return request{w.Session, w.Request} }

// request identifies a request.
type request struct {
	session string
	number  uint64
}

// NewMachine returns the Machine of a name, which wants its first look. Members returns the names of the members in the
// view.
func NewMachine(space, name string, members func() []string) *Machine {
	return &Machine{space: space, name: name, members: members}
}

// Mark returns the place of a question among what has come in. Pass it to Looked with the answer.
func (m *Machine) Mark() uint64 { return m.seq }

// LookAt returns when the machine wants the next look; false if it wants none. A time that has passed means at once.
func (m *Machine) LookAt() (at time.Duration, wanted bool) {
	want := func(next time.Duration) {
		if !wanted || next < at {
			at, wanted = next, true
		}
	}
	if !m.looked || m.lost || slices.ContainsFunc(m.pending, func(h hold) bool { return !h.checked }) {
		return 0, true
	}
	if len(m.pending) > 0 || m.doubt {
		want(max(m.stuck, m.lastLook) + Patience)
	}
	//tidy:unordered the earliest counts
	for _, since := range m.noticed {
		want(max(since, m.lastLook-Patience/2) + Patience)
	}
	if m.polls() {
		want(m.lastLook + Pace)
	}
	if len(m.holders)+len(m.waiters) > 0 {
		want(m.lastLook + RestPace)
	}
	return at, wanted
}

// polls reports whether something may happen of which no event comes.
func (m *Machine) polls() bool {
	for _, member := range m.silent {
		if slices.Contains(m.members(), member) ||
			slices.ContainsFunc(m.holders, func(h hold) bool { return h.Member == member }) ||
			slices.ContainsFunc(m.waiters, func(w wait) bool { return w.Member == member }) {
			return true
		}
	}
	return false
}

// Wake shows what has waited for long enough.
func (m *Machine) Wake(now time.Duration) {
	if m.looked && !m.lost {
		m.drain(now)
	}
}

// Take returns the states since the last call, in order.
func (m *Machine) Take() []*schema.Observed {
	out := m.out
	m.out = nil
	return out
}

// show lets the present state come out.
func (m *Machine) show(missed bool) {
	if m.quiet {
		return
	}
	state := &schema.Observed{Space: m.space, Name: m.name, Missed: missed && !protocol.Mutated("a gap is reported")}
	for _, h := range m.holders {
		state.Holders = append(state.Holders, h.Grant)
	}
	for i := range m.waiters {
		if w := &m.waiters[i]; w.Position != int32(i) {
			w.Wait = proto.CloneOf(w.Wait) // the former one is in earlier states
			w.Position = int32(i)
		}
		state.Waiters = append(state.Waiters, m.waiters[i].Wait)
	}
	m.out = append(m.out, state)
}

// Silent records that the events of a member may be missing from now on.
func (m *Machine) Silent(member string) {
	m.seq++
	if !slices.Contains(m.silent, member) {
		m.silent = append(m.silent, member)
	}
	m.stuck = min(m.stuck, m.lastLook-Patience) // what it has to tell does not come
}

// Heard records that the events of a member come again. Missed says that some are missing.
func (m *Machine) Heard(member string, missed bool) {
	m.seq++
	m.silent = slices.DeleteFunc(m.silent, func(one string) bool { return one == member })
	if missed {
		m.Lost()
	}
}

// Lost records that events are missing. No state comes out before the next look.
func (m *Machine) Lost() {
	m.seq++
	m.lost, m.lostAt = true, m.seq
}

// find returns the place of a token among holds, and reports whether it is there.
func find(holds []hold, token uint64) (int, bool) {
	return slices.BinarySearchFunc(holds, token, func(h hold, token uint64) int { return cmp.Compare(h.Token, token) })
}

// known reports whether a grant is shown, is about to be, or is past.
func (m *Machine) known(token uint64) bool {
	_, shown := find(m.holders, token)
	_, pending := find(m.pending, token)
	past := token <= m.floor || m.past.has(token)
	return shown || pending || past && !protocol.Mutated("no grant comes again")
}

// fits reports whether a grant fits the holders.
func (m *Machine) fits(h hold) bool {
	units := h.Units
	if len(m.holders) == 0 || protocol.Mutated("a grant waits for the end of those before it") {
		return true
	}
	for _, other := range m.holders {
		if h.Mode == schema.Mode_MODE_EXCLUSIVE || h.Mode != other.Mode {
			return false
		}
		units += other.Units
	}
	return h.Mode != schema.Mode_MODE_SLOTS || units <= m.capacity
}

// drain shows the pending grants whose turn it is.
func (m *Machine) drain(now time.Duration) {
	for len(m.pending) > 0 && m.next(now) {
		h := m.pending[0]
		m.pending = m.pending[1:]
		m.stuck = now
		if !m.late(h) {
			m.begin(h, m.skips(h.Token))
			continue
		}
		m.past.put(h.Token, struct{}{})
		m.dequeueAll(h)
		m.show(true)
	}
}

// next reports whether it is the turn of the first pending grant: those before it are known and, if it does not fit them,
// are over.
func (m *Machine) next(now time.Duration) bool {
	h := m.pending[0]
	if !h.checked && len(m.members()) > 1 && now-h.came < Patience {
		return false
	}
	//tidy:unordered any will do
	for token, since := range m.expected.all {
		if token < h.Token && now-since < Patience {
			return false
		}
	}
	return m.fits(h) || m.late(h)
}

// late reports whether a grant was shown already that excludes this one, and came later.
func (m *Machine) late(h hold) bool {
	for mode, newest := range m.newest {
		if newest > h.Token && !protocol.Mutated("a late grant is not shown") && (h.Mode == schema.Mode_MODE_EXCLUSIVE || h.Mode != schema.Mode(mode)) {
			return true
		}
	}
	return !m.fits(h) && m.holders[0].Token > h.Token
}

// shown records that a grant is shown.
func (m *Machine) shown(h hold) {
	m.newest[h.Mode] = max(m.newest[h.Mode], h.Token)
}

// skips gives up the grants before a token whose events have not come, and reports whether there are any: they may never
// have reached their clients, or were missed.
func (m *Machine) skips(token uint64) (some bool) {
	//tidy:unordered all of them are given up
	for earlier := range m.expected.all {
		if earlier < token {
			m.expected.take(earlier)
			some = true
		}
	}
	return some
}

// begin shows a grant, then the values and the end of it that have come already. Missed says that others may have come
// before it.
func (m *Machine) begin(h hold, missed bool) {
	i, _ := find(m.holders, h.Token)
	m.holders = slices.Insert(m.holders, i, h)
	m.shown(h)
	m.dequeueAll(h)
	m.show(missed)
	m.holders[i].values = nil
	for _, e := range h.values {
		m.revalue(&m.holders[i], e)
	}
	if h.over {
		m.finish(h.Token)
	}
}

// finish shows the end of a holder.
func (m *Machine) finish(token uint64) {
	i, _ := find(m.holders, token)
	m.holders = slices.Delete(m.holders, i, i+1)
	m.past.put(token, struct{}{})
	m.show(false)
}

// dequeueAll takes the requests of a grant from the waiting ones.
func (m *Machine) dequeueAll(h hold) {
	for _, number := range h.requests {
		m.dequeue(request{h.Session, number})
	}
}

// dequeue takes a request from the waiting ones, and reports whether it was there.
func (m *Machine) dequeue(key request) bool {
	i := slices.IndexFunc(m.waiters, func(w wait) bool { return w.key() == key })
	if i < 0 {
		return false
	}
	m.waiters = slices.Delete(m.waiters, i, i+1)
	return true
}
