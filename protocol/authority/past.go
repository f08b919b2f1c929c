package authority

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// A request acts once, and its end is final. An Acquire is resent until it is answered, so copies of it may be in
// flight when its answer is, and arrive when that has taken effect. A copy of a released request would take the name
// for a request that is gone. A copy of a refused one would queue it, though its client knows of the refusal, or is
// about to. Each Acquire carries the number below which all of the sender's requests are answered (Low): copies of
// those are late. The authority remembers which of the others have ended until they are below.

// past is an authority's memory of a holder's ended requests.
type past struct {
	low   uint64 // all below are answered
	top   uint64 // no request above is known
	ended []ended
}

// ended is a request that is over.
type ended struct {
	seq     uint64
	refusal *Decided // the answer to its holder, repeated on request; nil if the holder has ended it itself
}

// maxPast is the maximum number of remembered requests of one holder. With one more the oldest is forgotten: a copy of
// that, which is later than those of so many others, is processed as new, and its grant is returned.
const maxPast = 4096

// add remembers that a request is over, if a copy of it can still be taken.
func (p *past) add(seq uint64, refusal *Decided) {
	if seq < p.low {
		return
	}
	p.top = max(p.top, seq)
	if len(p.ended) == maxPast {
		p.ended = slices.Delete(p.ended, 0, maxPast/2)
	}
	p.ended = append(p.ended, ended{seq, refusal})
}

// take records how far a holder has been answered, and finds a request among the ended ones.
func (p *past) take(low, seq uint64) (known ended, over bool) {
	p.low = max(p.low, low)
	first := 0
	for first < len(p.ended) && p.ended[first].seq < p.low {
		first++
	}
	p.ended = slices.Delete(p.ended, 0, first)
	switch {
	case seq < p.low:
		return ended{seq: seq}, true
	case seq > p.top:
		p.top = seq
		return ended{}, false
	}
	i := slices.IndexFunc(p.ended, func(e ended) bool { return e.seq == seq })
	if i < 0 {
		return ended{}, false
	}
	return p.ended[i], true
}

// isOver reports whether an Acquire is a late copy, of a request that is over. What was refused is refused again: the
// first refusal may be lost.
func (m *Machine) isOver(p *peer, msg *Acquire, out *protocol.Effects) bool {
	known, over := p.past.take(msg.Low, msg.Entry.Request)
	if !over || protocol.Mutated("late copy asked anew") {
		return false
	}
	if known.refusal == nil {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: that is over", msg, p.id)})
		return true
	}
	again := *known.refusal
	again.Stamp = m.authorityStamp(p)
	out.Send(p.id, again)
	return true
}

// low returns the lowest request that no authority has answered. Sent requests are in order, and an answered one is
// never sent again under its number.
func (h *holder) low() uint64 {
	if len(h.requested) > 2*len(h.records)+keptDecisions { // the first of them has long been without an answer
		h.requested = slices.DeleteFunc(h.requested, func(seq uint64) bool { return !h.awaits(seq) })
	}
	for len(h.requested) > 0 && !h.awaits(h.requested[0]) {
		h.requested = h.requested[1:]
	}
	if len(h.requested) == 0 {
		return h.lapses<<protocol.NumberBits | (h.seqs + 1)
	}
	return h.requested[0]
}

func (h *holder) awaits(seq uint64) bool {
	r := h.records[seq]
	return r != nil && r.state == requested
}
