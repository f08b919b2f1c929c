package consensus

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// Envelope is what members say to each other: a shard's message, and the cluster that it is of. Carriage says that another member
// carries it; nil where it goes straight.
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

// TransferLeader asks a shard's leader to let another member lead it, which an operator has chosen for all shards. With To 0 it tells that
// its sender is to lead nothing any more in its present life, the incarnation Life, because it leaves.
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

// Reform asks who leads a shard to change what a member is in it. Reformed answers it.
type Reform struct {
	ID     uint64
	Member protocol.ID
	As     protocol.Role
}

func (r Reform) String() string {
	return fmt.Sprintf("reform #%d: member %d as %v", r.ID, r.Member, r.As)
}

// Reformed says what has become of a Reform, or what stands against it. With ID 0 it answers none: it tells a member
// that speaks as if it took part that it does not.
type Reformed struct {
	ID      uint64
	Verdict Verdict
	Lacks   uint64 // with LogMissing: how many entries
}

func (r Reformed) String() string { return fmt.Sprintf("reformed #%d: %v", r.ID, r.Verdict) }

// Verdict is what has become of a Reform.
type Verdict uint8

// The verdicts.
const (
	Done        Verdict = iota
	NotAdded            // who is to vote is no learner
	LogMissing          // who is to vote has not got the log yet
	Unreached           // who is to vote, or too many of those who would vote, were not heard lately
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

// Founding asks which members the logs have begun with; with Voters it says so, or which members vote by now.
type Founding struct{ Voters []uint64 }

func (f Founding) String() string { return fmt.Sprintf("founding %v", f.Voters) }
