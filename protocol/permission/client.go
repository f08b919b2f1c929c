package permission

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	if m.clients.OnCall(now, ev, out) || m.survey.OnCall(now, ev, out) || admin.Decline(ev, m.standing.Members(), errTransfer, out) {
		return
	}
	out.Note(local.Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
}

var errTransfer = fmt.Errorf("%w: protocol permission has no authority", holdfast.ErrUnsupported)

// requests is this protocol's handling of a member's clients' requests (local.Protocol).
type requests struct{ m *Machine }

func (w requests) Ready() bool { return w.m.ready() }

// Refusal refuses, in a space with Capacity, any request that is not for one of its slots.
func (w requests) Refusal(q *lock.Request) error {
	k := w.m.config.Capacity
	if k == 0 || q.Mode == holdfast.ModeSlots && q.Units == 1 && q.Capacity == k {
		return nil
	}
	return fmt.Errorf("%w: a lock %s is not possible in a space with capacity=%d, where every lock is one of %d slots; ask for slots 1/%d, or use a space without capacity",
		holdfast.ErrConflict, formatShape(q.Shape), k, k, k)
}

// formatShape describes a lock's shape in words.
func formatShape(s holdfast.Shape) string {
	if s.Mode == holdfast.ModeSlots {
		return fmt.Sprintf("in slots %d/%d", s.Units, s.Capacity)
	}
	return "in mode " + s.Mode.String()
}

func (w requests) Keep(r local.Request) *request {
	return &request{Request: r, due: protocol.Never}
}

func (w requests) Enroll(now protocol.Time, r *request, out *protocol.Effects) {
	w.m.enroll(now, r, out)
}

func (w requests) Ended(r *request) { w.m.ended(r) }

func (w requests) Named(text string) []*request {
	if nm := w.m.names[text]; nm != nil {
		return nm.active()
	}
	return nil
}

// Explain returns the holder before a request, or the peers that have not answered although they should answer at once.
func (w requests) Explain(now protocol.Time, r *request, err error) error {
	m := w.m
	if c := m.condition(now, &protocol.Condition{}); r.number == 0 || err == holdfast.ErrUnavailable || c.State != protocol.Ready {
		return c.Unavailable(now, "this request was not sent to the other members yet")
	}
	var silent []string
	deaf := false
	for i := range m.peers {
		if p := &m.peers[i]; !p.harmless && !r.answeredBy(p.place.ID) {
			silent = append(silent, m.standing.View.Name(p.place.ID))
			deaf = deaf || p.unheard()
		}
	}
	switch {
	case r.By != nil:
		return r.By
	case (r.Try || m.config.Defer || deaf) && len(silent) > 0:
		return &lock.Unavailable{Why: "no answer from " + strings.Join(silent, ", ")}
	}
	return err
}

// Knows reports whether a request is known to wait: behind others here, or because a peer defers it. Otherwise it has
// not been sent yet, or is about to be granted.
func (w requests) Knows(r *request) bool {
	return len(w.m.peers) == 0 || r.Waits || r.clock != 0 && r.number == 0
}

// WithholdAmendment reports false: others ask this member for its clients' values.
func (requests) WithholdAmendment(*request, *lock.Decision) bool { return false }

// Withhold reports false: no other member knows of holds here, because peers ask this member.
func (w requests) Withhold(*request) bool { return false }

// Graces reports that names are free when their holds have ended.
func (w requests) Graces(protocol.Time) []local.Grace { return nil }

// Settled reports that others ask this member when they want to know.
func (w requests) Settled() bool { return true }

// Awaits reports whether a request waits for a peer's Reply.
func (w requests) Awaits(r *request, peer protocol.ID) bool {
	i := w.m.peerAt(peer)
	return i >= 0 && r.number != 0 && !w.m.peers[i].harmless && r.boundOf(peer) != 0
}

func (w requests) Condition(now protocol.Time, counts *protocol.Condition) *protocol.Condition {
	return w.m.condition(now, counts)
}
