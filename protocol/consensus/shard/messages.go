package shard

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
)

// Message is a message between members of a shard. Each kind may be lost, delayed, duplicated and reordered.
type Message interface{ String() string }

// RaftMessage is the group's own.
type RaftMessage struct{ Message group.Message }

// Forward carries operations to the leader.
type Forward struct{ Ops []replica.Op }

// Beat lists the sessions that have been heard. Beaten answers it, if this member leads.
type Beat struct {
	ID       uint64
	Sessions []lock.SessionID
}

// Beaten confirms the sessions of a Beat, except those in Gone. Taken are those that were ever taken over.
type Beaten struct {
	ID    uint64
	Gone  []lock.SessionID
	Taken []Taken
}

// ReadRequest asks for the commit index. ReadIndex answers it, if this member leads.
type ReadRequest struct{ ID uint64 }

// ReadIndex reports that a member that has applied the index is as new as the question.
type ReadIndex struct{ ID, Index uint64 }

// SnapshotPart is a part of a snapshot. SnapshotAck answers it. Several are on their way, in any order, once the first is answered.
type SnapshotPart struct {
	Index   uint64 // the snapshot's position
	Number  uint64 // of the part, from 0 on
	Data    []byte
	Last    bool
	Message group.Message // for when all parts are there, or are not needed
}

// SnapshotAck reports that the part is there, and all before it; or that the member does not want it.
type SnapshotAck struct {
	Index, Number uint64
	Refused       bool
}

func (m RaftMessage) String() string { return m.Message.String() }
func (m Forward) String() string     { return fmt.Sprintf("forward %d operations", len(m.Ops)) }
func (m Beat) String() string        { return fmt.Sprintf("beat #%d of %d sessions", m.ID, len(m.Sessions)) }
func (m Beaten) String() string      { return fmt.Sprintf("beaten #%d, %d gone", m.ID, len(m.Gone)) }
func (m ReadRequest) String() string { return fmt.Sprintf("read request #%d", m.ID) }
func (m ReadIndex) String() string   { return fmt.Sprintf("read index #%d: %d", m.ID, m.Index) }
func (m SnapshotPart) String() string {
	return fmt.Sprintf("part %d of the snapshot at %d, %d bytes, last=%v", m.Number, m.Index, len(m.Data), m.Last)
}
func (m SnapshotAck) String() string {
	return fmt.Sprintf("ack %d of the snapshot at %d, refused=%v", m.Number, m.Index, m.Refused)
}
