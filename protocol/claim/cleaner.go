package claim

import (
	"encoding/binary"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// The cleaner deletes expired claims. They block no process: reads of a row start at the oldest claim that has not
// expired. It is for stores without expiry of columns, if processes crash often. The highest deleted timestamp becomes
// the row's mark, if it is higher.

// cleanPause is how soon a row is cleaned again at the soonest: the original's cooldown.
const cleanPause = 30 * time.Second

// mostCleaned is the maximum number of claims deleted at once.
const mostCleaned = 100

// cleanUp checks a row that was just claimed for old claims.
func (m *Machine) cleanUp(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	if !m.config.Cleaner || m.cleaned[n.text] > now {
		return
	}
	m.noteCleaned(now, n)
	end := binary.BigEndian.AppendUint64(nil, uint64(c.cutoff))
	out.Send(protocol.Storage, storage.Slice{
		ID: m.inquire(now, inquiryOld, n, nil, 0), Key: n.row, Start: claimsFrom, End: string(end), Limit: mostCleaned,
	})
}

// noteCleaned keeps the row from being cleaned again too soon. What is over is forgotten.
func (m *Machine) noteCleaned(now protocol.Time, n *name) {
	if m.cleaned == nil {
		m.cleaned = map[string]protocol.Time{}
	}
	if len(m.cleaned) > 2*m.cleanedLiving+64 {
		//tidy:unordered nothing is reported
		for text, until := range m.cleaned {
			if until <= now {
				delete(m.cleaned, text)
			}
		}
		m.cleanedLiving = len(m.cleaned)
	}
	m.cleaned[n.text] = now + cleanPause
}

// clean deletes the claims that were found, strictly older than the cutoff. An error leaves them
// for the next time.
func (m *Machine) clean(now protocol.Time, n *name, read storage.Sliced, out *protocol.Effects) {
	mutate := storage.Mutate{Key: n.row}
	highest, rid := int64(-1), ""
	for i := range read.Entries {
		stamp, by, is := ParseColumn(read.Entries[i].Column)
		if !is {
			continue
		}
		mutate.Deletions = append(mutate.Deletions, read.Entries[i].Column)
		if last := m.config.Unit.lastWriteOf(&read.Entries[i], stamp); last >= highest {
			highest, rid = last, by
		}
	}
	if len(mutate.Deletions) == 0 {
		return
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(highest))
	mutate.Additions = []storage.Entry{{Column: marks, Value: string(value) + rid}}
	mutate.Timestamp = m.config.Unit.micros(highest)
	mutate.ID = m.inquire(now, inquiryCleaning, n, nil, 0)
	out.Send(protocol.Storage, mutate)
}
