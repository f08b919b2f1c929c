package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config is a member's configuration. Zero values have the documented defaults.
type Config struct {
	Group   group.Config
	Replica replica.Config
	// Log is the journal's log.
	Log uint64
	// Life numbers the lives of this member, each higher than the previous one: its operations' numbers contain it.
	// Required.
	Life uint64
	// Drift is by how much one clock may run faster than another. Zero means 0.05.
	Drift float64
	// Every is the number of entries between snapshots, or more if they have less than half the snapshot's bytes; Keep
	// is the number of entries before it that stay. Zero means 10,000 and 1,000.
	Every, Keep uint64
	// Linger is for how long an operation that no client waits for may wait for others to be in one entry with. Zero
	// means a fiftieth of the group's Heartbeat.
	Linger time.Duration
	// Append is the maximum size of the entries passed to the journal at once, in bytes, exceeded by at most one entry.
	// Zero means 4 MiB.
	Append int
	// Pending is the maximum number of this member's operations in progress. Zero means 100,000.
	Pending int
	// Above is a lower bound for the first reign of a new log: see consensus.Config.
	Above uint64
}

func (c *Config) resolve() error {
	c.Every, c.Keep = cmp.Or(c.Every, 10_000), cmp.Or(c.Keep, 1000)
	c.Append = cmp.Or(c.Append, storage.MaxAppend/2)
	c.Pending = cmp.Or(c.Pending, 100_000)
	c.Group.Election = cmp.Or(c.Group.Election, time.Second)
	c.Group.Heartbeat = cmp.Or(c.Group.Heartbeat, c.Group.Election/10)
	c.Drift = cmp.Or(c.Drift, lock.DefaultDrift)
	c.Linger = cmp.Or(c.Linger, c.Group.Heartbeat/50)
	switch {
	case c.Linger < 0:
		return fmt.Errorf("shard: Linger is %v; a positive duration is allowed, and 0 for its default", c.Linger)
	case c.Life == 0 || c.Life >= 1<<24:
		return fmt.Errorf("shard: Life is %d; 1 to %d is allowed", c.Life, 1<<24-1)
	case c.Append < 0 || c.Append > storage.MaxAppend/2:
		return fmt.Errorf("shard: Append is %d; up to %d is allowed, and 0 for that", c.Append, storage.MaxAppend/2)
	case c.Pending < 0:
		return fmt.Errorf("shard: Pending is %d; a positive number is allowed, and 0 for its default", c.Pending)
	case c.Drift < 0 || c.Drift >= 1:
		return fmt.Errorf("shard: Drift is %v; 0 to less than 1 is allowed", c.Drift)
	}
	return nil
}

// Kept is the contents of a member's journal at its start.
type Kept struct {
	Group group.Kept
	// Parts are those of the snapshot; none if there is only the founding one.
	Parts [][]byte
	// Begins is the index that the log begins behind, and Number the snapshot's in the journal.
	Begins, Number uint64
}

// Envelope is a message to another member.
type Envelope struct {
	To      uint64
	Message Message
}

// Result is the result of an operation of this member. For one with a decision it only reports that it was made.
type Result struct {
	Number uint64
	Err    error
	// Broken are the grants whose holders a Break has notified to stop.
	Broken []lock.Grant
	// Repeated reports that it had been done before, where this member could not see it: its effects then do not come
	// out of the replica again, and Err is nil regardless of the first result.
	Repeated bool
}

// Output is the work for the caller, who resets it when done.
type Output struct {
	// Journal is the requests to the journal, in order; each answer goes to [Shard.Stored].
	Journal []any
	// Messages go to other members.
	Messages []Envelope
	// Decisions are the outcomes of all members' clients' requests. After a start they include old ones: see the
	// package's comment.
	Decisions []lock.Decision
	// Attached are the sessions that another client uses than before.
	Attached []lock.SessionID
	// Results are of this member's operations, Beaten of its beats, Answered of its reads: the replica
	// may be looked at now.
	Results  []Result
	Beaten   []Beaten
	Answered []uint64
	// Restored reports that the replica has been replaced by one made from a snapshot: decisions between the two do not
	// come out.
	Restored bool
	// Turned reports that Leader has changed.
	Turned bool
}

// Reset empties o.
func (o *Output) Reset() {
	*o = Output{
		Journal: o.Journal[:0], Messages: o.Messages[:0], Decisions: o.Decisions[:0], Results: o.Results[:0],
		Beaten: o.Beaten[:0], Answered: o.Answered[:0], Attached: o.Attached[:0],
	}
}

// Shard is one member's part. Its methods are called by one caller at a time.
type Shard struct {
	config  Config
	group   *group.Group
	replica *replica.Replica
	failed  error // what the journal has answered

	own   own
	lead  *lead // nil if another leads, or none does
	reads reads

	journal     map[uint64]request // in progress
	lastRequest uint64
	making      *making
	sending     map[uint64]*sending // to members
	taking      *taking
	keeping     *taking // it is being installed
	groupOutput group.Output
	effects     replica.Effects
	latest      replica.Entry // for decoding
	applied     uint64        // the latest entry that was
	snapshot    uint64        // the position of the journal's
	parts       uint64        // how many it has
	dropped     uint64        // the entry that the journal's log begins behind
	number      uint64        // the journal's, of its snapshot
	series      uint64        // the number of the latest one
	weighs      uint64        // how many bytes the snapshot has
	logged      uint64        // bytes of entries written since it was begun
}

// New returns a member's shard with the kept state k. The error says what is wrong with c or k.
func New(c Config, k *Kept, now protocol.Time) (*Shard, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	g, err := group.New(c.Group, &k.Group, now)
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	s := &Shard{config: c, group: g, journal: map[uint64]request{}, sending: map[uint64]*sending{}, snapshot: k.Group.Snapshot.Index, parts: uint64(len(k.Parts)), dropped: k.Begins, applied: k.Group.Snapshot.Index, number: k.Number, series: k.Number}
	if k.Group.Snapshot.Index > 1 {
		s.replica, err = restored(c.Replica, k.Parts)
	} else if len(k.Parts) > 0 {
		err = errors.New("there are parts of a snapshot where none was made")
	} else {
		s.replica, err = replica.New(c.Replica)
	}
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	for _, part := range k.Parts {
		s.weighs += uint64(len(part))
	}
	for _, record := range k.Group.Records {
		s.logged += uint64(len(record))
	}
	s.own = own{ops: map[uint64]*replica.Op{}, next: c.Life << 40}
	s.reads = reads{pending: map[uint64]uint64{}}
	return s, nil
}

func restored(c replica.Config, parts [][]byte) (*replica.Replica, error) {
	r, err := replica.Restore(c)
	for i := 0; err == nil && i < len(parts); i++ {
		err = r.Add(parts[i])
	}
	if err != nil {
		return nil, err
	}
	return r.Done()
}

// Replica is for looking at, at any time as old as it may be, and after Answered as new as when ReadIndex was called.
func (s *Shard) Replica() *replica.Replica { return s.replica }

// Election is for how long a leader may be silent, which follows how long messages take; Trip is how long, there and back.
func (s *Shard) Election() protocol.Time { return s.group.Election() }

// Trip returns the round trip to a majority; 0 if unknown.
func (s *Shard) Trip() protocol.Time { return s.group.Trip() }

// Leader returns the leader, or 0.
func (s *Shard) Leader() uint64 { return s.group.Leader() }

// Leads reports whether this member does, and has applied all that others have committed before.
func (s *Shard) Leads() bool { return s.lead != nil && s.lead.ready }

// Members returns the members.
func (s *Shard) Members() group.Conf { return s.group.Members() }

// Failed returns the journal's failure. After it the shard does nothing more.
func (s *Shard) Failed() error { return s.failed }

// Wake returns when to Tick.
func (s *Shard) Wake() protocol.Time {
	if s.failed != nil {
		return protocol.Never
	}
	at := min(s.group.Wake(), s.own.again, s.reads.again)
	if s.lead != nil {
		at = min(at, s.lead.wake(s))
	}
	//tidy:unordered the least of all
	for _, t := range s.sending {
		at = min(at, t.again)
	}
	return at
}

// Tick does the work that is due.
func (s *Shard) Tick(now protocol.Time, out *Output) {
	if s.failed != nil {
		return
	}
	if s.group.Wake() <= now {
		s.group.Tick(now, &s.groupOutput)
	}
	s.settle(now, out)
}

// settle processes all consequences, until there are none. Each of its actions waits for something from outside, so it
// terminates.
func (s *Shard) settle(now protocol.Time, out *Output) {
	for {
		s.carry(now, out)
		s.turn()
		s.forward(now, out)
		s.requestReads(now, out)
		if s.lead != nil {
			s.lead.work(s, now, out)
		}
		s.send(now, out)
		s.make(out)
		if !s.groupOutput.Any() {
			return
		}
	}
}

// carry does the group's work.
func (s *Shard) carry(now protocol.Time, out *Output) {
	for s.groupOutput.Any() {
		o := s.groupOutput
		s.groupOutput = group.Output{}
		for i := range o.Writes {
			s.write(&o.Writes[i], out)
			if protocol.Mutated("what is acknowledged is synced") { // Stored does nothing about it then
				s.group.Written(now, o.Writes[i].ID, &s.groupOutput)
			}
		}
		for _, m := range o.Messages {
			out.Messages = append(out.Messages, Envelope{m.To, RaftMessage{m}})
		}
		for i := range o.Snapshots {
			s.bring(now, &o.Snapshots[i], out)
		}
		if o.Restored != nil {
			s.restore(o.Restored)
			out.Restored = true
		}
		for i := range o.Entries {
			s.apply(now, &o.Entries[i], out)
		}
		for _, r := range o.Reads {
			s.confirm(now, r, out)
		}
		if o.Wanted {
			s.begin()
		}
		out.Turned = out.Turned || o.Turned
		if s.lead != nil {
			s.count(out)
		}
		s.answer(out)
	}
}

// turn notes whether this member leads.
func (s *Shard) turn() {
	switch leading := s.group.Leading(); {
	case leading && (s.lead == nil || s.lead.term != s.group.Term()):
		s.lead = newLead(s.group.Term())
	case !leading && s.lead != nil:
		s.lead = nil
	default:
		return
	}
	s.own.unsend()
	s.reads.unsend()
}

// apply applies a committed entry.
func (s *Shard) apply(now protocol.Time, e *group.Entry, out *Output) {
	s.applied = e.Index
	if e.Kind != 0 || len(e.Data) == 0 {
		return
	}
	if err := s.latest.Decode(e.Data); err != nil {
		// All others read the same; a member that continues without it would differ from them.
		panic(fmt.Sprintf("shard: entry %d: %v", e.Index, err))
	}
	s.effects.Reset()
	done := &s.latest
	if protocol.Mutated("an operation acts once") {
		done = unnumbered(done)
	}
	s.replica.Apply(done, &s.effects)
	out.Decisions = append(out.Decisions, s.effects.Decisions...)
	out.Attached = append(out.Attached, s.effects.Attached...)
	if s.lead != nil {
		s.lead.flushCommits(s)
	}
	s.report(now, out)
	if s.latest.Begin && s.lead != nil && e.Term == s.lead.term {
		s.lead.began(s, now)
	}
}

// unnumbered returns an entry whose operations are new to every replica, regardless of earlier ones.
func unnumbered(e *replica.Entry) *replica.Entry {
	all := *e
	all.Ops = slices.Clone(e.Ops)
	for i := range all.Ops {
		all.Ops[i].ID = replica.OpID{}
	}
	return &all
}

// report outputs the results of the applied entry's operations.
func (s *Shard) report(now protocol.Time, out *Output) {
	failures, breaks, repeated := s.effects.Failures, s.effects.Breaks, s.effects.Repeated
	for i := range s.latest.Ops {
		o := &s.latest.Ops[i]
		r := Result{Number: o.ID.Number}
		if len(failures) > 0 && failures[0].Op == i {
			r.Err, failures = failures[0].Err, failures[1:]
		}
		if len(breaks) > 0 && breaks[0].Op == i {
			r.Broken, breaks = breaks[0].Grants, breaks[1:]
		}
		if len(repeated) > 0 && repeated[0] == i {
			r.Repeated, repeated = true, repeated[1:]
		}
		if o.ID.Member == s.config.Group.Self && s.own.done(o.ID.Number) {
			out.Results = append(out.Results, r)
		}
		if s.lead != nil {
			s.lead.applied(s, now, o, r.Err)
		}
	}
}

// Hand makes another member leader, if this one leads and the other has the log. Turned then reports the new leader.
func (s *Shard) Hand(now protocol.Time, to uint64, out *Output) error {
	if s.failed != nil {
		return s.failed
	}
	err := s.group.Hand(now, to, &s.groupOutput)
	s.settle(now, out)
	return err
}

// Change proposes the voters and the learners, if this member leads: see [group.Group.Change].
func (s *Shard) Change(now protocol.Time, voters, learners []uint64, out *Output) error {
	if s.failed != nil {
		return s.failed
	}
	err := s.group.Change(now, voters, learners, &s.groupOutput)
	s.settle(now, out)
	return err
}

// Changing reports whether such a change is under way, as far as this member knows, which leads.
func (s *Shard) Changing() bool { return s.group.Changing() }

// Lacks returns how many committed entries a member is not known to have; known reports whether it is a member. Only a
// leader knows.
func (s *Shard) Lacks(member uint64) (entries uint64, known bool) { return s.group.Lacks(member) }

// takesPart reports whether a member gets the log. A removed one learns neither that its copy is new enough, nor that
// sessions were heard: it would continue to serve clients to which it has nothing to say.
func (s *Shard) takesPart(id uint64) bool {
	is := s.group.Members()
	return slices.Contains(is.Voters, id) || slices.Contains(is.Learners, id) || slices.Contains(is.Outgoing, id) || slices.Contains(is.LearnersNext, id)
}

// Hear handles another member's message. The error says why it is invalid; then nothing has changed.
func (s *Shard) Hear(now protocol.Time, from uint64, m Message, out *Output) error {
	if s.failed != nil {
		return s.failed
	}
	var err error
	switch m := m.(type) {
	case RaftMessage:
		if m.Message.From != from || m.Message.Snapshot != nil {
			return fmt.Errorf("message %v of member %d, which does not say that", m, from)
		}
		err = s.group.Hear(now, &m.Message, &s.groupOutput)
	case Forward:
		err = s.forwarded(now, from, &m)
	case Beat:
		if s.takesPart(from) {
			s.beat(now, from, &m)
		}
	case Beaten:
		s.beaten(&m, out)
	case ReadRequest:
		if s.takesPart(from) {
			s.onReadRequest(from, m.ID)
		}
	case ReadIndex:
		s.onReadIndex(&m)
	case SnapshotPart:
		err = s.onSnapshotPart(now, from, &m, out)
	case SnapshotAck:
		s.isAck(now, from, &m, out)
	default:
		return fmt.Errorf("message %T of member %d, which no member says", m, from)
	}
	s.settle(now, out)
	return err
}
