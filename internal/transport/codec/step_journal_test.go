package codec

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/storage"
)

// consensusMode is the bit of protocol consensus.
const consensusMode = 128

// newConsensus makes a space whose shards' logs begin with that of a number.
func newConsensus(id protocol.ID, number uint64, mode stepMode, c consensus.Config) (protocol.Machine, error) {
	c.Self, c.Life, c.Founders, c.Founder, c.Log, c.Random = id, 1, 3, true, number, uint64(id)
	c.Election, c.Heartbeat = 3*time.Second, time.Second // messages about locks are not to drown in beats
	if mode.sharded {
		c.Shards = 3
	}
	if mode.short {
		c.Every, c.Keep = 4, 1 // members that were not heard are brought snapshots
	}
	return consensus.New(c)
}

// enroll tells the spaces which sessions their member serves, as no session machine does yet.
func (b *stepHarness) enroll() {
	for _, p := range b.places {
		for _, s := range p.sessions {
			for port := range protocol.Port(2) {
				b.call(p, port+1, &protocol.Enroll{Session: s, TTL: time.Minute, Proof: [32]byte{byte(s.Number)}})
			}
		}
	}
	b.deliver()
}

// journal is what a member's logs have: it does at once what it is asked.
type journal struct {
	t         testing.TB
	logs      map[uint64]*keptLog
	answers   []protocol.Event // under way, in order
	answering bool
}

type keptLog struct {
	first    uint64
	records  [][]byte
	snapshot uint64
	chunks   [][]byte
	written  [][]byte
}

// answer steps a member with what its journal answers, one answer after the other.
func (b *stepHarness) answer(p *place) {
	if p.journal.answering {
		return // what asks was answered itself: those before it come first
	}
	p.journal.answering = true
	for len(p.journal.answers) > 0 {
		next := p.journal.answers[0]
		p.journal.answers = p.journal.answers[1:]
		b.step(p, next)
	}
	p.journal.answering = false
}

// do answers a request; nil where it is none. What no journal takes is a mistake of the member's.
func (j *journal) do(request protocol.Message) any {
	of := func(number uint64) *keptLog {
		if j.logs[number] == nil {
			j.logs[number] = &keptLog{first: 1}
		}
		return j.logs[number]
	}
	switch q := request.(type) {
	case storage.Append:
		l := of(q.Log)
		if err := q.Check(); err != nil || q.First > l.first+uint64(len(l.records)) || q.First > 0 && q.First < l.first {
			j.t.Fatalf("%v to a log that has %d records from %d on: %v", q, len(l.records), l.first, err)
		}
		if q.First > 0 {
			l.records = append(slices.Clip(l.records[:q.First-l.first]), q.Records...)
		}
		return storage.Appended{ID: q.ID}
	case storage.Chunk:
		l := of(q.Log)
		if err := q.Check(); err != nil {
			j.t.Fatalf("%v: %v", q, err)
		}
		if q.Number == 0 {
			l.written = nil
		}
		l.written = append(l.written, q.Data)
		return storage.Chunked{ID: q.ID}
	case storage.Install:
		l := of(q.Log)
		if err := q.Check(); err != nil || q.Chunks != uint64(len(l.written)) {
			j.t.Fatalf("%v behind %d chunks: %v", q, len(l.written), err)
		}
		if q.Anew {
			l.records = nil
		} else {
			l.records = l.records[q.Drop+1-l.first:]
		}
		l.first, l.snapshot, l.chunks, l.written = q.Drop+1, q.Snapshot, l.written, nil
		return storage.Installed{ID: q.ID}
	case storage.Fetch:
		l := of(q.Log)
		if q.Snapshot != l.snapshot || q.Number >= uint64(len(l.chunks)) {
			return storage.Fetched{ID: q.ID, Err: storage.ErrGone}
		}
		return storage.Fetched{ID: q.ID, Data: l.chunks[q.Number]}
	}
	return nil
}
