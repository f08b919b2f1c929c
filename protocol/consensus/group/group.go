package group

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Time is how long this member has run, by its own clock.
type Time = time.Duration

// Never is the Time that does not come.
const Never Time = 1<<63 - 1

// What a call may be refused with.
var (
	// ErrNotLeader: another member leads, or none does.
	ErrNotLeader = errors.New("this member does not lead the group")
	// ErrBusy: too much is proposed that is not committed yet.
	ErrBusy = errors.New("too much is proposed and not committed yet")
	// ErrLeads reports that a leader cannot remove its own vote.
	ErrLeads = errors.New("this member leads the group and would lose its vote; let another member lead first")
	// ErrNoVoters: no member would be left to agree on anything.
	ErrNoVoters = errors.New("a group needs a member that votes")
)

// Config is a member's configuration. Zero values have the documented defaults.
type Config struct {
	// Self is this member. Required.
	Self uint64
	// Election is E. Zero means 1 s. Heartbeat is how often a leader beats; zero means a tenth of E.
	Election, Heartbeat time.Duration
	// Random draws when to ask for votes.
	Random uint64
	// Linger is for how long a leader may keep from others that entries are committed which they have, unless it sends
	// them something else, or [Group.FlushCommit] asks it to. Zero means a tenth of Heartbeat.
	Linger time.Duration
	// Message is the maximum size of a message's entries, Inflight of those in flight to one member, and Uncommitted of
	// the proposed and uncommitted ones, in bytes. Zero means 256 KiB, 4 MiB, 64 MiB.
	Message, Inflight, Uncommitted uint64
}

func (c *Config) resolve() error {
	c.Message = cmp.Or(c.Message, 256<<10)
	c.Inflight = cmp.Or(c.Inflight, 4<<20)
	c.Uncommitted = cmp.Or(c.Uncommitted, 64<<20)
	if c.Election == 0 {
		c.Election = time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = c.Election / 10
	}
	c.Linger = cmp.Or(c.Linger, c.Heartbeat/10)
	switch {
	case c.Self == 0:
		return errors.New("group: Self is 0; give the member's id")
	case c.Linger < 0 || c.Linger > c.Heartbeat:
		return fmt.Errorf("group: Linger is %v and Heartbeat is %v; the former is to be positive, and no more than the latter", c.Linger, c.Heartbeat)
	case c.Heartbeat <= 0 || c.Election < 3*c.Heartbeat:
		return fmt.Errorf("group: Election is %v and Heartbeat is %v; the former is to be three times the latter at least", c.Election, c.Heartbeat)
	case c.Inflight < c.Message:
		return fmt.Errorf("group: Inflight is %d and Message is %d; the former is to be no less", c.Inflight, c.Message)
	}
	return nil
}

// Output is the work for the caller, in the order of its fields. The caller resets it when done.
type Output struct {
	// Writes go to the journal, in their order; each is answered by [Group.Written].
	Writes []Write
	// Messages go to other members. They may be lost, late, twice and in any order.
	Messages []Message
	// Snapshots are to be transferred to other members, each with the message to pass to the other's Hear afterwards.
	// [Group.Reported] reports the result.
	Snapshots []Message
	// Restored reports that the state is now that of another snapshot: read it from the journal before applying
	// Entries, which follow it.
	Restored *Mark
	// Wanted reports that the snapshot should be replaced by a newer one ([Group.Compact]): it does not include members
	// that need it.
	Wanted bool
	// Entries are committed, in their order, each once.
	Entries []Entry
	// Reads are the confirmed reads.
	Reads []Read
	// Turned reports that Leading, Leader or Term has changed.
	Turned bool
}

// Reset empties o.
func (o *Output) Reset() {
	*o = Output{Writes: o.Writes[:0], Messages: o.Messages[:0], Snapshots: o.Snapshots[:0], Entries: o.Entries[:0], Reads: o.Reads[:0]}
}

// Any reports whether there is any work.
func (o *Output) Any() bool {
	return len(o.Writes)+len(o.Messages)+len(o.Snapshots)+len(o.Entries)+len(o.Reads) > 0 || o.Restored != nil || o.Wanted || o.Turned
}

// Read reports that no other member led at the time of the question. A state that has applied Index is as new as any
// acknowledged until then.
type Read struct{ ID, Index uint64 }

// Group is one member's part. Its methods are called by one caller at a time.
type Group struct {
	config Config
	node   *raft.RawNode
	log    *raft.MemoryStorage // the contents of the journal, except writes in progress
	wanted bool                // a snapshot that all members are in
	// snapshot is up to which entry the log's snapshot is, which cannot be read from there without a copy of all of it.
	snapshot uint64
	random   *rand.Rand
	heard    Time // the leader, or a vote was given
	draw     Time // for how long after that this member asks for no votes
	forgot   bool // the leader, since then
	beatDue  Time
	conf     *raftpb.ConfState

	writes    []writing        // in progress, in order, with the messages that wait for them
	lastWrite uint64           // the id of the latest Write
	seen      raft.BasicStatus // as of the last Output
	vote      uint64
	// unstable is the highest entry that was ever there or to be written.
	unstable uint64

	latest      uint64    // the term of the latest entry that was applied
	hard        hardState // as the library said it last
	savedCommit uint64    // what the latest Write with a State said was committed
	changing    uint64    // the entry that has to be remembered as committed for changes to be over; 0 when they are
	held        []Message // entries that wait for that this member has them itself
	// inherited is the latest member-changing entry that this member has taken over as leader; 0 for none.
	inherited uint64

	now  Time // of the call
	pace pace

	deferred []Message // what others have of the log is committed, and they do not know yet
	flushDue Time      // when they are, at the latest
}

// New returns a member's group with the kept state k, at the time now. The error says what is wrong with c or k.
func New(c Config, k *Kept, now Time) (*Group, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	log, err := k.storage()
	if err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	g := &Group{config: c, log: log, snapshot: k.Snapshot.Index, now: now, pace: pace{of: map[uint64][]Time{}, echoes: map[uint64][]byte{}}, random: rand.New(rand.NewPCG(c.Random, c.Self)), heard: now, conf: k.Snapshot.conf()}
	node, err := raft.NewRawNode(&raft.Config{
		ID: c.Self, ElectionTick: int(c.Election / c.Heartbeat), HeartbeatTick: 1, Storage: shown{log, g}, Applied: k.Snapshot.Index,
		AsyncStorageWrites: true, MaxSizePerMsg: c.Message, MaxInflightMsgs: 1024, MaxInflightBytes: c.Inflight,
		MaxCommittedSizePerReady: 1 << 62, MaxUncommittedEntriesSize: c.Uncommitted,
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: quiet{},
	})
	if err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	g.node = node
	g.redraw(now)
	if v := g.conf.GetVoters(); len(v) == 1 && v[0] == c.Self {
		g.forgot, g.draw = true, 0 // there is no other member to be waited for
	}
	g.seen, g.beatDue, g.flushDue = node.BasicStatus(), Never, Never
	g.vote, g.hard, g.savedCommit = g.seen.GetVote(), hardState{g.seen.GetTerm(), g.seen.GetVote(), g.seen.GetCommit()}, g.seen.GetCommit()
	if g.unstable, err = log.LastIndex(); err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	return g, nil
}

// redraw restarts the random time before an election.
func (g *Group) redraw(now Time) {
	g.heard, g.forgot = now, false
	election := g.Election()
	g.draw = election + Time(g.random.Int64N(int64(election)))
}

// Leading reports whether this member leads, as far as it knows; Leader returns the leader, or 0.
func (g *Group) Leading() bool  { return g.seen.RaftState == raft.StateLeader }
func (g *Group) Leader() uint64 { return g.seen.Lead }

// Term is that of the present leader, or of the election.
func (g *Group) Term() uint64 { return g.seen.GetTerm() }

// Wake returns when to Tick.
func (g *Group) Wake() Time {
	switch {
	case g.Leading():
		return min(g.beatDue, g.flushDue)
	case !g.forgot:
		return g.heard + g.Election()
	}
	return g.heard + g.draw
}

// Tick does the work that is due.
func (g *Group) Tick(now Time, out *Output) {
	g.now = now
	switch {
	case g.Leading() && now >= g.beatDue:
		g.beatDue = now + g.heartbeat()
		g.node.Tick()
	case g.Leading():
		if now >= g.flushDue {
			g.FlushCommits(out)
		}
	default:
		if !g.forgot && now >= g.heard+g.Election() {
			g.forgot = true
			g.must(g.node.ForgetLeader())
		}
		if now >= g.heard+g.draw {
			g.redraw(now)
			g.forgot = true // it has not heard one
			g.must(g.node.Campaign())
		}
	}
	g.drain(now, out)
}

// must panics if the library refuses a call that it must not refuse.
func (g *Group) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("group: member %d: %v", g.config.Self, err))
	}
}

// Hear handles another member's message. The error says why it is invalid; then nothing has changed.
func (g *Group) Hear(now Time, m *Message, out *Output) error {
	if err := g.Check(m); err != nil {
		return err
	}
	g.now = now
	g.measure(now, m)
	err := g.node.Step(m.raft())
	status := g.node.BasicStatus()
	if m.fromLeader() && status.Lead == m.From && status.GetTerm() == m.Term {
		g.heard, g.forgot = now, false
	}
	g.drain(now, out)
	if err != nil && !errors.Is(err, raft.ErrProposalDropped) {
		return fmt.Errorf("message of member %d: %w", m.From, err)
	}
	return nil
}

// Propose appends an entry, if this member leads. It is committed when it comes out again; it may be lost if another
// leads in the meantime. The data belongs to the group from then on.
func (g *Group) Propose(now Time, data []byte, out *Output) error {
	g.now = now
	if !g.Leading() {
		return ErrNotLeader
	}
	if err := g.node.Propose(data); err != nil {
		if g.node.BasicStatus().LeadTransferee != 0 {
			return ErrNotLeader
		}
		return ErrBusy
	}
	g.drain(now, out)
	return nil
}

// Read asks whether this member still leads. A leader that has not committed an entry of its term yet does not know the
// commit index: the read is refused as by a follower. The library itself answers in a group of one (v3.7.0), and
// returns too low an index after a restart.
func (g *Group) Read(now Time, id uint64, out *Output) error {
	if !g.Leading() || g.latest != g.Term() {
		return ErrNotLeader
	}
	g.node.ReadIndex(readContext(id))
	g.drain(now, out)
	return nil
}

// Hand makes another member leader, if this one leads and the other is a voter.
func (g *Group) Hand(now Time, to uint64, out *Output) error {
	if !g.Leading() {
		return ErrNotLeader
	}
	g.node.TransferLeader(to)
	g.drain(now, out)
	return nil
}

// Unreachable reports that messages to a member do not arrive.
func (g *Group) Unreachable(now Time, member uint64, out *Output) {
	g.node.ReportUnreachable(member)
	g.drain(now, out)
}

// Reported reports whether a snapshot has arrived at a member.
func (g *Group) Reported(now Time, member uint64, arrived bool, out *Output) {
	status := raft.SnapshotFailure
	if arrived {
		status = raft.SnapshotFinish
	}
	g.node.ReportSnapshot(member, status)
	g.drain(now, out)
}

// quiet logs only errors that end the process.
type quiet struct{}

func (quiet) Debug(...any)              {}
func (quiet) Debugf(string, ...any)     {}
func (quiet) Error(...any)              {}
func (quiet) Errorf(string, ...any)     {}
func (quiet) Info(...any)               {}
func (quiet) Infof(string, ...any)      {}
func (quiet) Warning(...any)            {}
func (quiet) Warningf(string, ...any)   {}
func (quiet) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (quiet) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (quiet) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (quiet) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
