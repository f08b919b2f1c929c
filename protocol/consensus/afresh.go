package consensus

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// Afresh begins a shard's log in a new cluster of one member, with a copy of the shard from another cluster, whose log
// may have continued since. The package's comment says what stays and what does not.
type Afresh struct {
	// Self is the new cluster's only member. The other cluster must not have had it: its members' operations are
	// remembered by their ids. Log is the journal's number.
	Self protocol.ID
	Log  uint64
	// Above is a reign that the other cluster has not come to: all tokens are of a higher one.
	Above uint64
	// Grace is the minimum time for which clients of the other cluster may continue to believe in their holds. A
	// session of the copy with a longer ttl counts as that. Nothing is granted before. Zero, or less, means that no
	// client believes any more.
	Grace time.Duration
	// Reason is a text for people why nothing is granted in the meantime.
	Reason string
}

// Copier reads the copy of a shard's state.
func Copier() (*replica.Restorer, error) {
	// The copy was within its own cluster's limits, and does not stay.
	unbounded := lock.Config{WaitersPerName: math.MaxInt32, LocksPerSession: math.MaxInt32}
	return replica.Restore(replica.Config{Table: unbounded, Sessions: math.MaxInt32})
}

// Begun is the beginning of the log.
type Begun struct {
	// Requests are for the journal, in their order.
	Requests []any
	// Reign is that of the tokens behind which all others come.
	Reign uint64
	// Grace is for how long nothing is granted, by the clock of a client.
	Grace time.Duration
	// Longest is the longest ttl of a session of the copy; zero if it has none.
	Longest time.Duration
}

// Begin returns the log's beginning from a copy, which is used up. The error says why that is impossible.
func (a *Afresh) Begin(copied *replica.Replica) (*Begun, error) {
	copied.AdvancePast(a.Above)
	if copied.Reign() >= lock.MaxReign-1 {
		return nil, fmt.Errorf("reign %d is the last but one, and tokens cannot come above it", copied.Reign())
	}
	b := &Begun{Grace: max(0, a.Grace)}
	entry := replica.Entry{At: copied.Now(), Begin: true, Ops: expireAll(copied, b)}
	if b.Grace > 0 {
		entry.Ops = append(entry.Ops, a.suspend(b.Grace)...)
	}
	var effects replica.Effects
	copied.Apply(&entry, &effects)
	if len(effects.Failures) > 0 {
		return nil, fmt.Errorf("end what the copy has: %w", effects.Failures[0].Err)
	}
	if _, suspended := copied.Table().Suspension(); suspended != (b.Grace > 0) || copied.Table().Waiters() > 0 {
		panic("consensus: a shard that begins afresh has more than its suspension")
	}
	b.Reign = copied.Reign()
	b.Requests = a.write(copied)
	return b, nil
}

// expireAll ends all sessions of a copy.
func expireAll(copied *replica.Replica, b *Begun) (ops []replica.Op) {
	copied.Sessions(func(s replica.Session) {
		b.Longest = max(b.Longest, s.TTL)
		ops = append(ops, replica.Op{Kind: replica.Expire, Session: s.ID})
	})
	if b.Grace > 0 {
		b.Grace = max(b.Grace, b.Longest)
	}
	slices.SortFunc(ops, func(x, y replica.Op) int {
		return cmp.Or(cmp.Compare(x.Session.Member, y.Session.Member), cmp.Compare(x.Session.Number, y.Session.Number))
	})
	return ops
}

// graceOwner is the owner of the suspension that lasts until no client of another cluster can believe any more;
// graceNumber is its session's number, which no life of a member uses.
const (
	graceOwner  = "restore"
	graceNumber = 1
)

// suspend suspends a shard by a session that no member beats for: the leader ends it (1+δ)·ttl after it has started to
// lead.
func (a *Afresh) suspend(grace time.Duration) []replica.Op {
	session := lock.SessionID{Member: uint64(a.Self), Number: graceNumber}
	return []replica.Op{
		{Kind: replica.Open, Session: session, TTL: grace, Client: graceOwner},
		{
			Kind: replica.Acquire, Session: session, Request: 1, Name: lock.SpaceLock, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}, Owner: graceOwner, Reason: a.Reason}, Client: graceOwner,
			Wait: lock.Never,
		},
	}
}

// endsByItself returns why a name may not be taken from its holder: it is the suspension after a restore, which
// protects clients that cannot be notified.
func (p *part) endsByItself(name string) error {
	if name != lock.SpaceLock {
		return nil
	}
	grant, is := p.shard.Replica().Table().Suspension()
	if !is || grant.Owner != graceOwner || grant.Session.Number != graceNumber {
		return nil
	}
	return fmt.Errorf("%w: the space was restored, and resumes by itself when no client of the old cluster can believe in its locks any more; if none is left, restore it again with a shorter grace",
		holdfast.ErrConflict)
}

// write returns the request to the journal.
func (a *Afresh) write(from *replica.Replica) (requests []any) {
	id := uint64(0)
	next := func() uint64 { id++; return id }
	chunks := uint64(0)
	err := from.Snapshot(func(part []byte) error {
		requests = append(requests, storage.Chunk{ID: next(), Log: a.Log, Snapshot: first, Number: chunks, Data: part})
		chunks++
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("consensus: %v", err)) // there is no other error than ours
	}
	voters := []uint64{uint64(a.Self)}
	mark := group.Founding(voters)
	mark.Index++ // behind the founding one, which has no state
	meta := mark.Append(binary.BigEndian.AppendUint64(nil, clusterOf(voters)))
	return append(requests, storage.Install{ID: next(), Log: a.Log, Snapshot: first, Chunks: chunks, Meta: meta, Drop: mark.Index, Anew: true})
}
