package claim

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// former is the leftover of the other way to lock a name, in a store whose settings were changed: conditional writes
// leave a cell, claims leave a mark. A row of swaps and a row of mutations may be in two places (Cassandra), so the one
// does not show in a slice of the other.
type former struct {
	known bool
	token int64  // the highest that was given
	rid   string // of the process; empty for a mark: conditional writes exceed it in any case
}

// formerUnknown reports whether the highest token of the other way has to be read before a token is given.
func (m *Machine) formerUnknown(n *name) bool {
	return m.changed && !n.former.known
}

// readFormer asks for it.
func (m *Machine) readFormer(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	s := storage.Slice{ID: m.inquire(now, inquiryFormer, n, c, 0), Key: n.row, Start: marks}
	if !m.config.CAS {
		s.Start, s.End, s.Serial = cellColumn, cellColumn+"\x00", true
	}
	out.Send(protocol.Storage, s)
}

// onFormer records the other way's leftover, and continues the bid.
func (m *Machine) onFormer(now protocol.Time, a inquiry, read storage.Sliced, out *protocol.Effects) {
	n, c := a.name, a.claim
	if read.Err != nil {
		if !c.gone {
			m.unread(now, c, read.Err, out)
		}
		return
	}
	n.former.known = true
	for i := range read.Entries {
		e := &read.Entries[i]
		if mark, _, is := parseMark(e); is && m.config.CAS {
			n.former.token = mark
		}
		if was, is := decodeCell(e.Value); is && e.Column == cellColumn && !m.config.CAS {
			n.former.token, n.former.rid = int64(was.token), was.rid
			n.seen = max(n.seen, n.former.token)
		}
	}
	if !c.gone {
		c.tries, c.pause, c.due = 0, 0, now
	}
}
