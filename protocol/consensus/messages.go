package consensus

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// Envelope is the message between members: a shard's message, and its cluster. Carriage marks one that another member
// carries; nil if it goes directly.
type Envelope struct {
	Cluster  uint64
	Shard    uint16
	Carriage *Carriage
	Body     shard.Message
}

func (l Envelope) String() string {
	if l.Carriage != nil {
		return fmt.Sprintf("carried %v · %v, shard %d of cluster %x", l.Body, l.Carriage, l.Shard, l.Cluster)
	}
	return fmt.Sprintf("%v · shard %d of cluster %x", l.Body, l.Shard, l.Cluster)
}

// Routine reports whether no client waits for it: a leader's beat that brings no entries, or its answer.
func (l Envelope) Routine() bool {
	msg, is := l.Body.(shard.RaftMessage)
	return is && msg.Message.Beats()
}

// TransferLeader asks a shard's leader to make another member leader, which an operator has chosen for all shards. With
// To 0 it reports that its sender is to lead nothing any more in its present life, the incarnation Life, because it
// leaves.
type TransferLeader struct {
	To   protocol.ID
	Life uint64
}

func (y TransferLeader) String() string {
	if y.To == 0 {
		return fmt.Sprintf("it is to lead nothing any more in its life %d", y.Life)
	}
	return fmt.Sprintf("transfer leader to member %d", y.To)
}

// Reform asks the shard's leader to change a member's role in it. Reformed answers it.
type Reform struct {
	ID     uint64
	Member protocol.ID
	As     protocol.Role
}

func (r Reform) String() string {
	return fmt.Sprintf("reform #%d: member %d as %v", r.ID, r.Member, r.As)
}

// Reformed reports the result of a Reform, or the obstacle. With ID 0 it answers none: it informs a removed member that
// sends messages that it is no longer a member.
type Reformed struct {
	ID      uint64
	Verdict Verdict
	Lacks   uint64 // with LogMissing: how many entries
}

func (r Reformed) String() string { return fmt.Sprintf("reformed #%d: %v", r.ID, r.Verdict) }

// Verdict is the result of a Reform.
type Verdict uint8

// The verdicts.
const (
	Done        Verdict = iota
	NotAdded            // the future voter is not a learner
	LogMissing          // the future voter does not have the log yet
	Unreached           // the future voter, or too many of the resulting voters, were not heard recently
	LastVoter           // no other member votes
	LastVerdict = LastVoter
)

var verdicts = [...]string{"done", "it was not added", "it has not got the log", "too few are heard", "it is the last one that votes"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

// Founding asks for the members that the logs have begun with; with Voters it reports them, or the current voters.
type Founding struct{ Voters []uint64 }

func (f Founding) String() string { return fmt.Sprintf("founding %v", f.Voters) }
