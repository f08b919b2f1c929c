package authority

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// report is a holder's report to the authority of a new reign, split into chunks once, at the first request. Later
// requests of clients are sent separately.
type report struct {
	taken bool
	epoch protocol.Epoch // under which it was taken
	seqs  []uint64
	cuts  []int         // the end of each chunk
	due   protocol.Time // when to send the last chunk again, because no authority has said that it is known
	pause protocol.Time
}

// maxChunkBytes is the maximum size of a chunk's texts.
const maxChunkBytes = 1 << 20

// keptRequest is a request of an authority whose view has not been accepted here yet:
// it is answered as soon as it has been (H5).
type keptRequest struct {
	from    protocol.ID
	message InfoRequest
}

// beginReign clears the knowledge of an earlier reign's authority. If reigns outlive epochs no holder waits to be
// asked: an authority that needs no reports requests none.
func (m *Machine) beginReign(next Reign) {
	h := &m.holder
	h.stage, h.report = m.firstStage(next), report{due: protocol.Never}
	h.acks, h.acksDue, h.unanswered = nil, protocol.Never, protocol.Never
	if next.Authority == m.self || protocol.Mutated("a doubt outlasts a reign") {
		h.doubt = 0
	}
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		r.reported, r.freed, r.first, r.due, r.pause = false, false, 0, protocol.Never, 0
	}
}

// firstStage is how far a holder is with an authority that it has just come to know.
func (m *Machine) firstStage(next Reign) stage {
	if m.config.Outlives && next.Authority != 0 && next.Authority != m.self {
		return known
	}
	return silent
}

// unconfirm begins an epoch: its authority has not confirmed yet that it knows the holds here.
func (m *Machine) unconfirm() {
	h := &m.holder
	h.unconfirmed, h.revalidatePause, h.revalidateDue = 0, 0, protocol.Never
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		if r.state == held {
			r.confirmed = false
			h.unconfirmed++
		}
	}
}

// revalidate asks the authority whether it knows the holds here, if a report does not show that by itself; and, if this
// member doubts it, whether it still is the authority.
func (m *Machine) revalidate(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	h.revalidateDue = protocol.Never
	if h.unconfirmed == 0 && h.doubt == 0 || !m.config.Outlives || !m.speaks() {
		return
	}
	m.toAuthority(Revalidate{Stamp: m.stamp(), View: m.view.Number}, out)
	m.expect(now)
	h.revalidatePause = protocol.Longer(h.revalidatePause, m.config.Patience)
	h.revalidateDue = now + h.revalidatePause
}

// revalidated continues when the authority has confirmed that it knows the holds here.
func (m *Machine) revalidated(out *protocol.Effects) {
	h := &m.holder
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		r.confirmed = r.confirmed || r.state == held
	}
	h.unconfirmed = 0
	h.endRevalidation()
	m.confirm(out)
}

// endRevalidation asks no more when nothing is left to ask.
func (h *holder) endRevalidation() {
	if h.unconfirmed == 0 && h.doubt == 0 {
		h.revalidateDue = protocol.Never
	}
}

// confirm informs the membership, once, that the authority of the newest epoch knows all holds here.
func (m *Machine) confirm(out *protocol.Effects) {
	h := &m.holder
	if m.view == nil || h.confirmed == m.view.Epoch && h.tenure == m.lease.Tenure {
		return
	}
	if m.authority != nil && h.unconfirmed > 0 {
		// This member is the authority, and knows its own holds.
		for r := h.all.first; r != nil; r = r.links[ofAll].next {
			r.confirmed = r.state == held
		}
		h.unconfirmed = 0
	}
	if h.unconfirmed > 0 {
		return
	}
	h.confirmed, h.tenure = m.view.Epoch, m.lease.Tenure
	out.Raise(&protocol.Confirmed{Epoch: m.view.Epoch.Counter})
}

// onInfoRequest answers the authority with a part of the report.
func (m *Machine) onInfoRequest(now protocol.Time, from protocol.ID, msg *InfoRequest, out *protocol.Effects) {
	if !m.hears(now, from, &msg.Stamp, out) && !m.hasNothing(from, &msg.Stamp) {
		h := &m.holder
		ahead := m.view == nil || msg.Epoch.Counter > m.view.Epoch.Counter || msg.Epoch == m.view.Epoch && !m.admitted() ||
			// In mode any another candidate may have chosen the same counter, and come next.
			msg.Epoch.Counter == m.view.Epoch.Counter && msg.Epoch != m.view.Epoch
		if ahead && (h.kept.from == 0 || h.kept.message.Epoch.Counter <= msg.Epoch.Counter) {
			h.kept = keptRequest{from, *msg}
		}
		return
	}
	if h := &m.holder; msg.Chunk == 0 && h.report.epoch != m.view.Epoch && (h.stage == known || protocol.Mutated("a report stays as it is until it is known")) {
		// A reign that outlives epochs asks each member again that it has seen leave: that one may have got something
		// since, from another side of a partition. A report that the authority has not confirmed stays unchanged: a
		// copy of it may still be in flight.
		h.report.taken = false
	}
	m.answerInfo(now, msg.Chunk, out)
}

// keptInfoRequest answers a request that came before this view was accepted.
func (m *Machine) keptInfoRequest(now protocol.Time, out *protocol.Effects) {
	kept := m.holder.kept
	if kept.from == 0 || kept.message.Epoch.Counter > m.view.Epoch.Counter {
		return
	}
	m.holder.kept = keptRequest{}
	m.onInfoRequest(now, kept.from, &kept.message, out)
}

// answerInfo sends a chunk. A repetition has the current state of the same part.
func (m *Machine) answerInfo(now protocol.Time, chunk uint32, out *protocol.Effects) {
	h := &m.holder
	if !h.report.taken {
		m.holder.letAllGo()
		m.takeReport()
	}
	if int64(chunk) >= int64(len(h.report.cuts)) {
		return
	}
	last := int(chunk) == len(h.report.cuts)-1
	answer := InfoAnswer{Chunk: chunk, Last: last}
	from := 0
	if chunk > 0 {
		from = h.report.cuts[chunk-1]
	}
	for _, seq := range h.report.seqs[from:h.report.cuts[chunk]] {
		r := h.records[seq]
		switch {
		case r == nil || r.sessionEnd:
		case r.state == ending && !(protocol.Mutated("H4") && r.token != 0):
			answer.Released = append(answer.Released, r.ended())
		case r.state == ending:
			s := m.entry(now, r)
			s.Token, s.Age = r.token, 0
			answer.Entries = append(answer.Entries, s)
		default:
			r.sent = true
			answer.Entries = append(answer.Entries, m.entry(now, r))
		}
	}
	answer.Stamp = m.stamp()
	m.toAuthority(answer, out)
	if h.stage != reporting || !last {
		return
	}
	if len(h.report.seqs) == 0 {
		// There was no message, so the order of arrival does not matter.
		m.reportKnown(now, out)
		return
	}
	h.report.pause = protocol.Longer(h.report.pause, m.config.Patience)
	h.report.due = now + h.report.pause
}

// repeatReport sends the last chunk again: that it has arrived was not heard.
func (m *Machine) repeatReport(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	h.report.due = protocol.Never
	if h.stage == reporting && m.admitted() {
		m.answerInfo(now, uint32(len(h.report.cuts)-1), out)
	}
}

// takeReport determines the contents of the report and its chunks. A copy of an earlier report under the same reign may
// be taken for this one, so anything missing from that is resent when the report is known.
func (m *Machine) takeReport() {
	h := &m.holder
	first := len(h.report.cuts) == 0 || protocol.Mutated("a second report is confirmed wish by wish")
	h.stage = reporting
	h.report = report{taken: true, epoch: m.view.Epoch, due: protocol.Never}
	bytes, begun := 0, 0
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		// A report lists no ended sessions. If its authority has inherited a table with one, it is informed of the end
		// afterwards.
		inherited := r.sessionEnd && m.config.Outlives && m.config.Any
		r.reported, r.freed = first && r.state != ending, first && r.state == ending && !inherited
		q := &r.request
		bytes += len(q.Name) + q.TextBytes() + len(q.Client)
		if n := len(h.report.seqs); n > begun && (n-begun == m.config.Chunk || bytes > maxChunkBytes) {
			h.report.cuts = append(h.report.cuts, n)
			begun, bytes = n, 0
		}
		h.report.seqs = append(h.report.seqs, r.seq)
	}
	h.report.cuts = append(h.report.cuts, len(h.report.seqs))
}

// reportKnown continues when the authority knows the report: holds are confirmed, waits are in its queue, released
// requests are gone, and everything else is sent.
func (m *Machine) reportKnown(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	h.stage = known
	h.report = report{taken: true, epoch: h.report.epoch, due: protocol.Never, cuts: h.report.cuts, seqs: h.report.seqs}
	h.unconfirmed = 0
	var records []*record
	for r := h.all.first; r != nil; r = r.links[ofAll].next {
		if r.state == held {
			r.confirmed = true
		}
		records = append(records, r)
	}
	for _, r := range records {
		switch {
		case r.freed:
			m.drop(r, out)
			continue
		case r.reported && r.waits():
			r.state = queued
		default:
			if r.state == queued {
				r.state = requested
			}
			m.send(now, r, out)
		}
		m.remind(r)
	}
	m.confirm(out)
	m.sendWaiting(now, out)
	m.revalidate(now, out)
}

// onAcks handles acknowledgements, and the answer to a Revalidate. A doubt ends with an answer given under the view
// with which it began, or a later one: anything else may have been sent before the authority was deposed, over a slow
// path.
func (m *Machine) onAcks(now protocol.Time, from protocol.ID, msg *Acks, out *protocol.Effects) {
	if m.hears(now, from, &msg.Stamp, out) && msg.View >= m.holder.doubt {
		m.holder.doubt = 0
		m.holder.endRevalidation()
	}
}

// hears reports whether a message is valid: it is from the authority of the newest view, of its epoch, to this tenure,
// which still has a lease; and nothing newer was promised. It processes the message's acknowledgements.
func (m *Machine) hears(now protocol.Time, from protocol.ID, s *Stamp, out *protocol.Effects) bool {
	if m.view == nil || s.Tenure != m.lease.Tenure || now >= m.lease.Member || m.authority != nil {
		return false
	}
	off := protocol.Mutated("epoch check off") || protocol.Mutated("H3")
	if !m.isNewest(from, s) {
		return off && s.Epoch.Counter <= m.view.Epoch.Counter
	}
	m.holder.unanswered = protocol.Never
	if protocol.Mutated("a doubt ends with its answer") {
		m.holder.doubt = 0
	}
	for _, seq := range s.Acks {
		if r := m.holder.records[seq]; r != nil && r.state == ending {
			m.drop(r, out)
		}
	}
	switch {
	case s.Known && m.holder.stage == reporting:
		m.reportKnown(now, out)
	case s.Known && m.config.Outlives && m.holder.unconfirmed > 0:
		m.revalidated(out)
	}
	return true
}

// isNewest reports whether a message is from the authority of the newest reign that is
// known here, under the newest epoch.
func (m *Machine) isNewest(from protocol.ID, s *Stamp) bool {
	return m.admitted() && from == m.reign.Authority && s.Version == m.reign.Version &&
		s.Epoch == m.view.Epoch && s.Epoch.Counter >= m.lease.Promised
}

// hasNothing reports whether this member may report to an authority that it holds nothing, which needs no lease: if
// reigns outlive epochs, a member that cannot get a lease, for example without a disk, would otherwise keep a reign
// from beginning.
func (m *Machine) hasNothing(from protocol.ID, s *Stamp) bool {
	return m.config.Outlives && m.view != nil && m.authority == nil && m.holder.held == 0 &&
		s.Tenure == m.lease.Tenure && m.isNewest(from, s)
}

// onDecided handles the outcome of a request.
func (m *Machine) onDecided(now protocol.Time, from protocol.ID, msg *Decided, out *protocol.Effects) {
	if !m.hears(now, from, &msg.Stamp, out) {
		out.Note(Ignored{What: "void " + msg.String()})
		return
	}
	r := m.holder.records[msg.Seq]
	switch {
	case r == nil || r.sessionEnd || r.request.Name != msg.Name || r.grantee() != msg.Session:
		m.rejectDecision(now, msg, out)
	case r.state == kept:
		m.decidedKept(now, r, msg, out)
	case r.state == ending:
		// Its release is under way, and answers everything.
	case msg.Extension != 0:
		m.extended(r, msg, out)
	case msg.Amendment != 0:
		m.amended(r, msg, out)
	default:
		m.decided(now, r, msg, out)
	}
}

// rejectDecision answers a decision about a request that no client here has: a granted or queued
// request is released, so that nothing is stranded.
func (m *Machine) rejectDecision(now protocol.Time, msg *Decided, out *protocol.Effects) {
	switch {
	case msg.Extension != 0 || msg.Amendment != 0 || !m.admitted():
	case protocol.Mutated("cancelled wait sends no cancel") && msg.AckID != 0:
		m.ack(now, msg.AckID, out)
	case msg.Kind == lock.Granted || msg.Kind == lock.Queued || msg.Kind == lock.Revoked:
		m.toAuthority(Release{Stamp: m.stamp(), Ended: msg.Ended, Name: msg.Name}, out)
	case msg.AckID != 0:
		m.ack(now, msg.AckID, out)
	}
}

func (m *Machine) decided(now protocol.Time, r *record, msg *Decided, out *protocol.Effects) {
	if msg.AckID != 0 && msg.Kind != lock.Revoked {
		m.ack(now, msg.AckID, out)
	}
	switch msg.Kind {
	case lock.Queued:
		if r.state == requested {
			r.state, r.position, r.due, r.pause = queued, msg.Position, protocol.Never, 0
			d := r.decision(lock.Queued)
			out.Decide(protocol.CallID{}, &d)
			m.remind(r)
		}
	case lock.Granted:
		if r.waits() {
			m.granted(now, r, msg, out)
		} else if !msg.Keep {
			m.giveWay(r, out)
		}
	case lock.Refused:
		if r.waits() {
			m.notifyRefused(now, r, msg.Err, out)
			m.drop(r, out)
		}
	case lock.Revoked:
		if r.state != held {
			m.notifyRefused(now, r, msg.Loss, out)
			m.endRecord(now, r, out)
		} else if !r.revoked {
			r.revoked, r.loss = true, msg.Loss
			m.notifyLoss(r, lock.Revoked, msg.Loss, out)
		}
	case lock.Lost:
		if r.state == held {
			m.notifyLoss(r, lock.Lost, msg.Loss, out)
		} else {
			m.notifyRefused(now, r, msg.Loss, out)
		}
		m.drop(r, out)
	}
}

// granted processes a grant. Its hold limit counts from the client's request; the client's clock may be slower than
// this one, so the record lasts longer by the drift.
func (m *Machine) granted(now protocol.Time, r *record, msg *Decided, out *protocol.Effects) {
	hold := m.holder.remains(r, msg)
	if msg.Hold > 0 && now >= lock.After(r.request.Arrived, hold) {
		// It has ended on its way.
		m.notifyRefused(now, r, holdfast.HoldLimit, out)
		m.endRecord(now, r, out)
		return
	}
	end := protocol.Never
	if hold > 0 {
		end = lock.After(r.request.Arrived, lock.Stretch(hold, m.config.Table.Drift))
	}
	m.holder.take(r, msg.Token, now, end)
	m.holder.shareValue(r)
	r.keep = msg.Keep
	if hold > 0 {
		r.limit = lock.After(r.request.Arrived, hold)
	}
	d := r.decision(lock.Granted)
	d.Waited, d.Hold = max(0, now-r.request.Arrived), hold
	out.Decide(protocol.CallID{}, &d)
	m.remind(r)
}

// extended processes the answer to an extension. The limit is the grant's, so it applies to every record of it.
func (m *Machine) extended(r *record, msg *Decided, out *protocol.Effects) {
	x := r.extension
	if x == nil || x.number != msg.Extension {
		return
	}
	if msg.Kind != lock.Granted {
		m.refuseExtension(r, msg.Err, out)
		return
	}
	end, limit := protocol.Never, protocol.Never
	if x.hold > 0 {
		end, limit = lock.After(x.sent, lock.Stretch(x.hold, m.config.Table.Drift)), lock.After(x.sent, x.hold)
	}
	for mate := m.holder.names[r.request.Name].first; mate != nil; mate = mate.links[ofName].next {
		if mate.state == held && mate.token == r.token && mate.request.Session == r.request.Session {
			mate.end, mate.limit = end, limit
			m.remind(mate)
		}
	}
	if r.extension = nil; r.amendment == nil {
		r.due, r.pause = protocol.Never, 0
	}
	m.holder.changing--
	d := lock.Decision{
		Kind: lock.Granted, Session: r.request.Session, Request: r.request.ID, Name: r.request.Name, Token: r.token, Hold: x.hold,
	}
	out.Decide(x.call, &d)
}
