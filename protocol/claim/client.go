package claim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	if m.clients.OnCall(now, ev, out) {
		if m.clients.Closed() {
			m.letAllGo()
		}
		return
	}
	if !m.survey.OnCall(now, ev, out) && !admin.Decline(ev, nil, errTransfer, out) {
		out.Note(local.Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
	}
}

var errTransfer = fmt.Errorf("%w: in protocol claim the store decides", holdfast.ErrUnsupported)

// requests is this protocol's handling of a process's clients' requests (local.Protocol).
type requests struct{ m *Machine }

func (w requests) Ready() bool { return w.m.ready() }

// Refusal refuses requests that a claim cannot serve, and clients that could believe in a lock for longer than its
// claim may live.
func (w requests) Refusal(q *lock.Request) error {
	m := w.m
	_, hasRow := m.config.row(q.Name)
	switch {
	case m.agreement.refusal != nil:
		return m.agreement.refusal
	case !hasRow:
		return fmt.Errorf("%w: it is not the name of a cell, two hexadecimal strings and a slash between them", holdfast.ErrName)
	case q.Mode != holdfast.ModeExclusive:
		return fmt.Errorf("%w: in protocol claim a lock is exclusive, and it is asked for in mode %v", holdfast.ErrUnsupported, q.Mode)
	case q.Belief > m.config.Belief():
		return fmt.Errorf("%w: the client may believe in a lock for %v after its last heartbeat, and expiry=%v allows %v; open its session with a shorter ttl, or raise expiry",
			holdfast.ErrConflict, q.Belief, m.config.Expiry, m.config.Belief())
	}
	return nil
}

func (w requests) Keep(r local.Request) *request { return &request{Request: r, belief: r.Belief} }

func (w requests) Enroll(_ protocol.Time, r *request, _ *protocol.Effects) { w.m.enroll(r) }

func (w requests) Ended(r *request) { w.m.ended(w.m.now, r) }

func (w requests) Named(text string) []*request {
	if n := w.m.names[text]; n != nil && n.holder != nil {
		return []*request{n.holder}
	}
	return nil
}

// Explain returns the holder before a request, or the store's failure.
func (w requests) Explain(now protocol.Time, r *request, err error) error {
	n := w.m.names[r.Key.Name]
	switch {
	case n == nil:
		return err
	case n.trouble != nil:
		return n.trouble
	case n.by != nil:
		return n.by
	case w.m.agreement.trouble != nil:
		return w.m.agreement.trouble
	}
	if silent := w.m.silence(now, n.bid); silent > max(w.m.config.Wait, w.m.config.Patience) {
		return fmt.Errorf("%w: the store has not answered for %v, so it is not known whether the lock is held", holdfast.ErrUnavailable, silent.Round(time.Millisecond))
	}
	return err
}

// silence is how long the store has not answered a claim's request. A busy machine is also late, so the error of a wait
// that ends mentions a silence only from Patience on.
func (m *Machine) silence(now protocol.Time, c *claim) time.Duration {
	since := now
	//tidy:unordered the earliest counts
	for _, a := range m.inquiries {
		if c != nil && a.claim == c {
			since = min(since, a.since)
		}
	}
	return now - since
}

// Knows reports whether a request is known to wait: behind others here, or because a claim is
// older.
func (w requests) Knows(r *request) bool {
	n := w.m.names[r.Key.Name]
	return r.Waits || n != nil && (n.holder != nil || len(n.queue) > 0 && n.queue[0] != r)
}

// Withhold reports true: the name is still taken in the store.
func (w requests) Withhold(r *request) bool { return true }

// WithholdAmendment has the value of a grant written, unless the store has it already.
func (w requests) WithholdAmendment(r *request, d *lock.Decision) bool {
	r.Value, r.Revision = d.Value, d.Revision
	n := w.m.names[r.Key.Name]
	if w.m.stored(n) >= d.Revision {
		return false
	}
	n.mine.amendDue = w.m.now
	w.m.touch(n)
	return !protocol.Mutated("a value is set when the store has it")
}

// Graces reports that names are free when their holds have ended.
func (w requests) Graces(protocol.Time) []local.Grace { return nil }

// Settled reports whether the store has taken all that this process has given up.
func (w requests) Settled() bool {
	//tidy:unordered nothing is reported
	for _, n := range w.m.names {
		if len(n.sweep.stamps) > 0 || n.inquiries > 0 || w.m.config.CAS && (!n.cell.idle() || w.m.ours(&n.cell)) {
			return false
		}
	}
	return true
}

// Awaits reports that no member is waited for.
func (w requests) Awaits(*request, protocol.ID) bool { return false }

func (w requests) Condition(_ protocol.Time, counts *protocol.Condition) *protocol.Condition {
	return w.m.condition(counts)
}
