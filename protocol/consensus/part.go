package consensus

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/storage"
)

// part is a shard as a part of the machine.
type part struct {
	index     int
	shard     *shard.Shard // nil until the log begins
	voters    []uint64     // of a log whose beginning is on its way to the journal
	output    shard.Output
	spare     shard.Output // is worked on
	touched   bool
	stirred   bool // something has happened to a suspension
	wake      protocol.Time
	leader    uint64
	former    uint64           // the leader before that
	turned    protocol.Time    // when that came to be known
	reign     uint64           // in which this member has last led
	nonmember bool             // another member that led said that this one takes no part any more
	lacks     *group.LackError // another leader has reported that this member lacks entries that it has acknowledged

	election  protocol.Time // how long a leader may be silent
	noted     protocol.Time // the noted value of that, if longer than configured; else 0
	strayed   protocol.Time // since when its leader has had no place in the view; 0 if it has one
	given     protocol.Time // until then the previous leader wants this member's election
	offered   protocol.ID   // was to lead it, under this view, and has not come to
	passed    bool          // this member has handed it over in its present round of spreading: should it come back, it stays
	successor protocol.ID   // was asked last to lead it in the place of this member, which leaves,
	handed    protocol.Time // and since when

	led    protocol.Time        // since when this member leads it, if it does
	silent map[protocol.ID]bool // silent voters that stay, for a noted reason

	work map[uint64]*work // this member's operations in progress, by number

	// The latest entry was applied when this clock showed since, and the table's showed table.
	since, table protocol.Time

	batches []batch    // of beats in flight, in sending order
	awaited bool       // a reminder looks after their answers
	behind  []*hearing // to be sent next
	early   []hearing  // sessions to open when the log has begun
}

// first is the number of the snapshot of a log that has just begun.
const first = 1

// clusterOf returns one number for the founders' ids, which are in order. It is never 0.
func clusterOf(voters []uint64) uint64 {
	h := fnv.New64a()
	for _, id := range voters {
		h.Write(binary.BigEndian.AppendUint64(nil, id))
	}
	return max(1, h.Sum64())
}

// recover makes the part of an existing log.
func (m *Machine) recover(k *storage.Kept) error {
	at := k.Log - m.config.Log
	if k.Log < m.config.Log || at >= uint64(len(m.parts)) {
		return fmt.Errorf("consensus: there is a log of shard %d, and the space has %d shards, as many as from the first start on; configure it with as many", at, len(m.parts))
	}
	p := m.parts[at]
	kept, cluster, err := keptOf(k)
	switch {
	case err != nil:
		return fmt.Errorf("consensus: the log of shard %d: %w", at, err)
	case m.cluster != 0 && cluster != m.cluster:
		return fmt.Errorf("consensus: the log of shard %d is of cluster %x, and another one of cluster %x: the folder has been put together from two", at, cluster, m.cluster)
	}
	m.cluster = cluster
	return m.takePart(p, kept)
}

// keptOf decodes a log's kept state: each mark and state is preceded by the cluster.
func keptOf(k *storage.Kept) (*shard.Kept, uint64, error) {
	if k.Snapshot == 0 && len(k.State) == 0 {
		return nil, 0, fmt.Errorf("it has %d records, and neither a snapshot nor a state", len(k.Records))
	}
	kept := &shard.Kept{Parts: k.Chunks, Begins: k.First - 1, Number: k.Snapshot}
	kept.Group.Records = k.Records
	cluster := uint64(0)
	for _, prefixed := range [][]byte{k.Meta, k.State} {
		if prefixed == nil {
			continue
		}
		if len(prefixed) < 8 {
			return nil, 0, fmt.Errorf("its data other than records have %d bytes", len(prefixed))
		}
		if of := binary.BigEndian.Uint64(prefixed); cluster == 0 || of == cluster {
			cluster = of
		} else {
			return nil, 0, fmt.Errorf("its snapshot is of cluster %x, and its state of %x", cluster, of)
		}
	}
	if k.Meta != nil {
		mark, err := group.ReadMark(k.Meta[8:])
		if err != nil {
			return nil, 0, err
		}
		kept.Group.Snapshot = mark
	}
	if k.State != nil {
		kept.Group.State = k.State[8:]
	}
	return kept, cluster, nil
}

// takePart makes the shard of a part.
func (m *Machine) takePart(p *part, kept *shard.Kept) error {
	c := &m.config
	s, err := shard.New(shard.Config{
		Group:   group.Config{Self: uint64(c.Self), Election: c.Election, Heartbeat: c.Heartbeat, Random: c.Random + uint64(p.index)<<32},
		Replica: replica.Config{Table: c.Table, Sessions: c.Sessions, Part: c.Part},
		Log:     c.Log + uint64(p.index), Life: c.Life, Drift: c.Table.Drift, Every: c.Every, Keep: c.Keep, Above: c.Above,
	}, kept, m.now)
	if err != nil {
		return fmt.Errorf("consensus: shard %d: %w", p.index, err)
	}
	p.shard = s
	m.touch(p)
	return nil
}

// begin begins the life of a member that has no log yet, and is alone or no founder.
func (m *Machine) begin(out *protocol.Effects) {
	if !m.config.Founder {
		m.takeParts(out)
	}
}

// takeParts makes the parts of a member that will be sent everything.
func (m *Machine) takeParts(out *protocol.Effects) {
	for _, p := range m.parts {
		if p.shard != nil || p.voters != nil {
			continue
		}
		if err := m.takePart(p, &shard.Kept{}); err != nil {
			m.fail(err, out)
			return
		}
	}
}

// found writes down the beginning of the logs, when all founders are known.
func (m *Machine) found(out *protocol.Effects) {
	if voters := m.founders(); voters != nil {
		m.write(voters, out)
	}
}

// learnFounding learns from others which members the logs have begun with: they have had a view of all founders, which
// has not reached this one, and may not come again. If others have got votes since, they have to send it everything;
// its own folder says that it has a vote itself.
func (m *Machine) learnFounding(l *Envelope, from protocol.ID, out *protocol.Effects) {
	founding, is := l.Body.(Founding)
	switch {
	case m.view == nil:
		return // it may not have remembered its own id yet
	case !is || len(founding.Voters) == 0:
		out.Send(from, Envelope{Cluster: l.Cluster, Shard: l.Shard, Body: Founding{}})
	case clusterOf(founding.Voters) == l.Cluster && slices.Contains(founding.Voters, uint64(m.config.Self)):
		m.write(founding.Voters, out)
	case slices.Contains(founding.Voters, uint64(m.config.Self)):
		m.cluster = l.Cluster
		m.takeParts(out)
	default:
		m.foreign = l.Cluster
	}
}

// onFounding answers with the members that the logs have begun with, or the current voters.
func (m *Machine) onFounding(p *part, f *Founding, from protocol.ID, out *protocol.Effects) {
	if voters := p.shard.Members().Voters; len(f.Voters) == 0 && len(voters) > 0 {
		out.Send(from, m.envelope(p, Founding{voters}))
	}
}

// write writes the beginning of each log that has not begun.
func (m *Machine) write(voters []uint64, out *protocol.Effects) {
	cluster := clusterOf(voters)
	for _, p := range m.parts {
		if p.shard != nil || p.voters != nil || m.cluster != 0 && m.cluster != cluster {
			continue
		}
		m.cluster = cluster
		p.voters = voters
		mark := group.Founding(voters)
		out.Send(protocol.Storage, storage.Install{
			ID: m.requestID(p, 0), Log: m.config.Log + uint64(p.index), Snapshot: first, Meta: m.prefixed(mark.Append(nil)), Drop: mark.Index, Anew: true,
		})
	}
}

// founders returns the founders' ids, or nil as long as they are not all known, or this member is not one of them.
func (m *Machine) founders() []uint64 {
	if !m.config.Founder || m.view == nil {
		return nil // not even if it is alone: before its first view it may not have remembered its own id
	}
	if m.config.Founders == 1 {
		return []uint64{uint64(m.config.Self)}
	}
	for _, p := range m.parts { // a crash may have left some without a log
		if p.shard != nil && clusterOf(p.shard.Members().Voters) == m.cluster {
			return p.shard.Members().Voters
		}
	}
	var ids []uint64
	for _, member := range m.view.Members {
		if member.Founder {
			ids = append(ids, uint64(member.ID))
		}
	}
	if len(ids) != m.config.Founders || !slices.Contains(ids, uint64(m.config.Self)) {
		return nil
	}
	slices.Sort(ids)
	return ids
}

func (m *Machine) prefixed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(b)), m.cluster), b...)
}

// requestID converts a shard's number of a journal request to the space's. A shard's own are above 0.
func (m *Machine) requestID(p *part, id uint64) uint64 {
	return id*uint64(len(m.parts)) + uint64(p.index)
}

// onStored passes an answer of the journal to its shard.
func (m *Machine) onStored(answer any, out *protocol.Effects) {
	count := uint64(len(m.parts))
	var id uint64
	switch a := answer.(type) {
	case storage.Appended:
		id = a.ID
		a.ID /= count
		answer = a
	case storage.Chunked:
		id = a.ID
		a.ID /= count
		answer = a
	case storage.Installed:
		id = a.ID
		a.ID /= count
		if a.ID == 0 {
			m.begun(m.parts[id%count], a.Err, out)
			return
		}
		answer = a
	case storage.Fetched:
		id = a.ID
		a.ID /= count
		answer = a
	default:
		out.Note(Ignored{fmt.Sprintf("answer %v, which no journal gives", answer)})
		return
	}
	p := m.parts[id%count]
	if p.shard == nil || m.failed != nil {
		return
	}
	p.shard.Stored(m.now, answer, &p.output)
	m.touch(p)
}

// begun starts participation, when the beginning of a log is synced.
func (m *Machine) begun(p *part, err error, out *protocol.Effects) {
	if p.shard != nil || m.failed != nil {
		return
	}
	if err != nil {
		m.fail(fmt.Errorf("begin the log of shard %d: %w", p.index, err), out)
		return
	}
	mark := group.Founding(p.voters)
	if err := m.takePart(p, &shard.Kept{Group: group.Kept{Snapshot: mark}, Begins: mark.Index, Number: first}); err != nil {
		m.fail(err, out)
		return
	}
	out.Note(Founded{m.cluster, p.voters})
	p.voters = nil
	m.openEarly(p, out)
}

// hasBegun reports whether all logs have.
func (m *Machine) hasBegun() bool {
	return !slices.ContainsFunc(m.parts, func(p *part) bool { return p.shard == nil })
}

// openEarly opens the sessions that have waited for the log's beginning, and for this member's first view: before that
// it may not have recorded its current life, and the numbers based on it may be reused.
func (m *Machine) openEarly(p *part, out *protocol.Effects) {
	if p.shard == nil || m.view == nil {
		return
	}
	early := p.early
	p.early = nil
	for _, h := range early {
		if h.presence.state == opening && m.counts(&h) {
			m.open(h.client, h.presence, out)
		}
	}
}

// carry does a shard's work.
func (m *Machine) carry(p *part, out *protocol.Effects) {
	p.output, p.spare = p.spare, p.output
	o := &p.spare
	defer o.Reset()
	if err := p.shard.Failed(); err != nil {
		m.fail(err, out)
		return
	}
	if table := p.shard.Replica().Now(); table != p.table {
		p.table, p.since = table, m.now
	}
	for _, request := range o.Journal {
		out.Send(protocol.Storage, m.addressed(p, request))
	}
	for _, e := range o.Messages {
		m.say(p, protocol.ID(e.To), e.Message, out)
	}
	for i := range o.Decisions {
		m.decided(p, &o.Decisions[i], out)
	}
	for _, id := range o.Attached {
		if c := m.clients[id]; c != nil {
			m.noteAttached(c, p, out)
		}
	}
	for i := range o.Results {
		m.done(p, &o.Results[i], out)
	}
	if o.Restored {
		m.compare(p, out)
	}
	if p.stirred || o.Restored {
		p.stirred = false
		m.stir(out)
	}
	for i := range o.Beaten {
		m.beaten(p, &o.Beaten[i], out)
	}
	for _, id := range o.Answered {
		m.answer(id, out)
	}
	if reign := p.shard.Replica().Reign(); p.shard.Leads() && reign != p.reign {
		p.reign = reign
		out.Note(protocol.Serving{Reign: reign})
	}
	if leader := p.shard.Leader(); leader != p.leader {
		p.leader, p.former, p.turned = leader, p.leader, m.now
		m.turned(p, out)
		m.stray(p)
	}
	m.pace(p, out)
}

// addressed converts a shard's journal request to the space's.
func (m *Machine) addressed(p *part, request any) protocol.Message {
	switch q := request.(type) {
	case storage.Append:
		q.ID = m.requestID(p, q.ID)
		if q.State != nil {
			q.State = m.prefixed(q.State)
		}
		return q
	case storage.Chunk:
		q.ID = m.requestID(p, q.ID)
		return q
	case storage.Install:
		q.ID, q.Meta = m.requestID(p, q.ID), m.prefixed(q.Meta)
		if q.State != nil {
			q.State = m.prefixed(q.State)
		}
		return q
	case storage.Fetch:
		q.ID = m.requestID(p, q.ID)
		return q
	}
	panic(fmt.Sprintf("consensus: a shard asks the journal for a %T", request))
}

// submit passes an operation to a shard. The error is an ErrLimit, or the journal's failure.
func (m *Machine) submit(p *part, op replica.Op, w *work) error {
	number, err := p.shard.Submit(m.now, op, &p.output)
	if err != nil {
		return err
	}
	w.op, w.number = op, number
	p.work[number] = w
	m.touch(p)
	return nil
}

// partOf returns the shard of a name: for the space's own name, which all have, the last one in order.
func (m *Machine) partOf(name string) *part {
	if len(m.parts) == 1 || name == lock.SpaceLock {
		return m.parts[len(m.parts)-1]
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return m.parts[h.Sum64()%uint64(len(m.parts))]
}

// shift returns the difference between the table's times and this member's.
func (p *part) shift() protocol.Time { return p.since - p.table }

// here converts a time of the table to one of this member.
func (p *part) here(t protocol.Time) protocol.Time {
	if t == lock.Never || t == 0 {
		return t
	}
	return t + p.shift()
}
