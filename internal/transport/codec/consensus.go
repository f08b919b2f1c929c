package codec

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/storage"
)

// What members of protocol consensus say to each other. All of it goes in envelopes, which name the cluster and
// the shard once; what they say has numbers as messages have, and is none.

const (
	// maxData is how long the data of an entry and a part of a snapshot may be: what no journal takes no member
	// sends. Both are smaller by far (shard.Forward, replica.Replica.Snapshot), so that the message around them
	// is not too large for a transport.
	maxData = storage.MaxPart
	// maxContext is how long what Raft says of a message may be: it is the number of a read, or a word.
	maxContext = 64
)

// The fewest bytes that an element of a list can have.
const (
	leastEntry   = 4
	leastSession = 9
	leastVoter   = 8
)

// kindOfConsensus is the part of kindOf for these messages.
func kindOfConsensus(m protocol.Message) kind {
	if _, is := m.(consensus.Envelope); is {
		return kindShardEnvelope
	}
	return 0
}

// kindOfMinute returns the number of what a shard's envelope says; 0 where none says such a thing.
func kindOfMinute(m shard.Message) kind {
	switch m.(type) {
	case shard.RaftMessage:
		return kindRaftMessage
	case shard.Forward:
		return kindForward
	case shard.Beat:
		return kindBeat
	case shard.Beaten:
		return kindBeaten
	case shard.ReadRequest:
		return kindReadRequest
	case shard.ReadIndex:
		return kindReadIndex
	case shard.SnapshotPart:
		return kindSnapshotPart
	case shard.SnapshotAck:
		return kindSnapshotAck
	case consensus.TransferLeader:
		return kindTransferLeader
	case consensus.Founding:
		return kindFounding
	case consensus.Reform:
		return kindReform
	case consensus.Reformed:
		return kindReformed
	}
	return 0
}

func (c *coder) writeConsensus(m protocol.Message) {
	envelope, is := m.(consensus.Envelope)
	if !is {
		c.fail(ErrKind)
		return
	}
	c.shardEnvelope(&envelope)
}

func (c *coder) readConsensus(k kind) protocol.Message {
	if k != kindShardEnvelope {
		c.fail(ErrKind)
		return nil
	}
	var m consensus.Envelope
	c.shardEnvelope(&m)
	return m
}

// shardEnvelope has the number of what it says before that.
func (c *coder) shardEnvelope(v *consensus.Envelope) {
	fixed(c, &v.Cluster)
	number(c, &v.Shard)
	if optional(c, &v.Carriage) {
		fixed(c, &v.Carriage.Other)
		c.truth(&v.Carriage.Brought)
		c.truth(&v.Carriage.Deaf)
	}
	k := kindOfMinute(v.Body)
	number(c, &k)
	switch {
	case c.writing:
		c.writeMinute(v.Body)
	case c.err == nil:
		v.Body = c.readMinute(k)
	}
}

func (c *coder) writeMinute(m shard.Message) {
	switch m := m.(type) {
	case shard.RaftMessage:
		c.agreement(&m.Message)
	case shard.Forward:
		c.operations(&m.Ops)
	case shard.Beat:
		c.beat(&m)
	case shard.Beaten:
		c.beaten(&m)
	case shard.ReadRequest:
		number(c, &m.ID)
	case shard.ReadIndex:
		c.readIndex(&m)
	case shard.SnapshotPart:
		c.snapshotPart(&m)
	case shard.SnapshotAck:
		c.snapshotAck(&m)
	case consensus.TransferLeader:
		c.transferLeader(&m)
	case consensus.Founding:
		c.founding(&m)
	case consensus.Reform:
		c.reform(&m)
	case consensus.Reformed:
		c.reformed(&m)
	default:
		c.fail(ErrKind)
	}
}

func (c *coder) readMinute(k kind) shard.Message {
	switch k {
	case kindRaftMessage:
		var m shard.RaftMessage
		c.agreement(&m.Message)
		return m
	case kindForward:
		var m shard.Forward
		c.operations(&m.Ops)
		return m
	case kindBeat:
		var m shard.Beat
		c.beat(&m)
		return m
	case kindBeaten:
		var m shard.Beaten
		c.beaten(&m)
		return m
	case kindReadRequest:
		var m shard.ReadRequest
		number(c, &m.ID)
		return m
	case kindReadIndex:
		var m shard.ReadIndex
		c.readIndex(&m)
		return m
	case kindSnapshotPart:
		var m shard.SnapshotPart
		c.snapshotPart(&m)
		return m
	case kindSnapshotAck:
		var m shard.SnapshotAck
		c.snapshotAck(&m)
		return m
	case kindTransferLeader:
		var m consensus.TransferLeader
		c.transferLeader(&m)
		return m
	case kindFounding:
		var m consensus.Founding
		c.founding(&m)
		return m
	case kindReform:
		var m consensus.Reform
		c.reform(&m)
		return m
	case kindReformed:
		var m consensus.Reformed
		c.reformed(&m)
		return m
	}
	c.fail(ErrKind)
	return nil
}

func (c *coder) founding(v *consensus.Founding) {
	for i := range list(c, &v.Voters, leastVoter) {
		fixed(c, &v.Voters[i])
	}
}

func (c *coder) reform(v *consensus.Reform) {
	number(c, &v.ID)
	fixed(c, &v.Member)
	enum(c, &v.As, protocol.Voter)
}

func (c *coder) reformed(v *consensus.Reformed) {
	number(c, &v.ID)
	enum(c, &v.Verdict, consensus.LastVerdict)
	number(c, &v.Lacks)
}

// agreement is what Raft says. Votes are few, so that theirs, an id, is no fixed one: it is one byte in all others.
func (c *coder) agreement(v *group.Message) {
	enum(c, &v.Kind, group.LastKind)
	fixed(c, &v.From)
	fixed(c, &v.To)
	number(c, &v.Term)
	number(c, &v.LogTerm)
	number(c, &v.Index)
	number(c, &v.Commit)
	number(c, &v.Vote)
	number(c, &v.RejectHint)
	c.truth(&v.Reject)
	c.data(&v.Context, maxContext)
	for i := range list(c, &v.Entries, leastEntry) {
		c.entry(&v.Entries[i])
	}
	if optional(c, &v.Snapshot) {
		c.mark(v.Snapshot)
	}
}

// entry is one without what it means for who is a member: each finds that out by itself.
func (c *coder) entry(v *group.Entry) {
	enum(c, &v.Kind, group.LastEntryKind)
	number(c, &v.Index)
	number(c, &v.Term)
	c.data(&v.Data, maxData)
}

// mark is written as it is kept.
func (c *coder) mark(v *group.Mark) {
	if c.writing {
		c.b = v.Append(c.b)
		return
	}
	mark, rest, err := group.TakeMark(c.b[c.at:])
	if err != nil {
		c.fail(err)
		return
	}
	*v, c.at = mark, len(c.b)-len(rest)
}

func (c *coder) operations(v *[]replica.Op) {
	for i := range bounded(c, v, replica.LeastOp, shard.MostForwarded) {
		if !c.operation(&(*v)[i]) {
			return
		}
	}
}

// operation is written as it is in an entry. It reports whether it could be.
func (c *coder) operation(v *replica.Op) bool {
	if c.writing {
		if err := v.Check(); err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrRange, err))
			return false
		}
		c.b = v.Append(c.b)
		return true
	}
	op, rest, err := replica.TakeOp(c.b[c.at:])
	if err != nil {
		c.fail(err)
		return false
	}
	*v, c.at = op, len(c.b)-len(rest)
	return true
}

func (c *coder) beat(v *shard.Beat) {
	number(c, &v.ID)
	c.sessions(&v.Sessions)
}

func (c *coder) beaten(v *shard.Beaten) {
	number(c, &v.ID)
	c.sessions(&v.Gone)
	for i := range list(c, &v.Taken, leastSession+2) {
		c.session(&v.Taken[i].Session)
		number(c, &v.Taken[i].Attached.Client)
		number(c, &v.Taken[i].Attached.Generation)
	}
}

func (c *coder) sessions(v *[]lock.SessionID) {
	for i := range list(c, v, leastSession) {
		c.session(&(*v)[i])
	}
}

func (c *coder) readIndex(v *shard.ReadIndex) {
	number(c, &v.ID)
	number(c, &v.Index)
}

func (c *coder) snapshotPart(v *shard.SnapshotPart) {
	number(c, &v.Index)
	number(c, &v.Number)
	c.data(&v.Data, maxData)
	c.truth(&v.Last)
	c.agreement(&v.Message)
}

func (c *coder) snapshotAck(v *shard.SnapshotAck) {
	number(c, &v.Index)
	number(c, &v.Number)
	c.truth(&v.Refused)
}

func (c *coder) transferLeader(v *consensus.TransferLeader) {
	fixed(c, &v.To)
	v.Life = c.varint(v.Life)
}
