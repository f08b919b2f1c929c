package codec

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// kind is the number of a type of message. Numbers are part of the format: they are
// never used again for another type.
type kind uint16

const (
	kindStatusPoll kind = 1 + iota
	kindStatusAnswer
	kindElection
	kindPromise
	kindRefuse
	kindPoll
	kindNewView
	kindPollAnswer
	kindViewAck
	kindJoin
	kindUnwelcome
	kindDropped
	kindResign
	kindJoinDeferred
)

const (
	kindAcquire kind = 32 + iota
	kindRelease
	kindExtend
	kindEndSession
	kindDecided
	kindInfoRequest
	kindInfoAnswer
	kindAcks
	kindQuery
	kindAnswer
	kindRevalidate
)

const (
	kindQuestion kind = 64 + iota
	kindInfo
	kindDepose
	kindDeposed
	kindInquiry
	kindInquiryAnswer
	kindTransferRequest
	kindTransferTable
	kindInvite
	kindInvited
	kindNotGrantor
)

const (
	kindRequest kind = 96 + iota
	kindReply
	kindFree
	kindDefer
	kindCapacityConflict
	kindClockRequest
	kindClockAnswer
	kindPeerQuery  // local.Query
	kindPeerAnswer // local.Answer
)

const (
	kindStarted kind = 128 + iota
	kindElect
	kindElected
	kindLeaders
	kindRefused
	kindExhausted
	kindEnvelope
)

// What envelopes say, and nothing else does.
const (
	kindHeard kind = 160 + iota
	kindEntering
	kindEntered
	kindGetMax
	kindMax
	kindAdd
	kindAdded
	kindExiting
	kindReady
	kindActivate
	kindActivated
	kindDrop
	kindTickets
	kindLock
	kindUnlock
	kindClaim
	kindRaise
	kindLocked
	kindQueued
	kindFailed
	kindUnlocked
	kindUnlocking
)

// What members of protocol consensus say: an envelope, and what it says.
const (
	kindShardEnvelope kind = 192 + iota // consensus.Envelope
	kindRaftMessage
	kindForward
	kindBeat
	kindBeaten
	kindReadRequest // shard.ReadRequest
	kindReadIndex
	kindSnapshotPart
	kindSnapshotAck
	kindTransferLeader
	kindFounding
	kindReform
	kindReformed
)

// kindOf returns the number of a message's type; 0 where it has none.
func kindOf(m protocol.Message) kind {
	switch m.(type) {
	case election.StatusPoll:
		return kindStatusPoll
	case election.StatusAnswer:
		return kindStatusAnswer
	case election.Election:
		return kindElection
	case election.Promise:
		return kindPromise
	case election.Refuse:
		return kindRefuse
	case membership.Poll:
		return kindPoll
	case membership.NewView:
		return kindNewView
	case membership.PollAnswer:
		return kindPollAnswer
	case membership.ViewAck:
		return kindViewAck
	case membership.Join:
		return kindJoin
	case membership.Unwelcome:
		return kindUnwelcome
	case membership.Dropped:
		return kindDropped
	case membership.Resign:
		return kindResign
	case membership.JoinDeferred:
		return kindJoinDeferred
	case authority.Acquire:
		return kindAcquire
	case authority.Release:
		return kindRelease
	case authority.Extend:
		return kindExtend
	case authority.EndSession:
		return kindEndSession
	case authority.Decided:
		return kindDecided
	case authority.InfoRequest:
		return kindInfoRequest
	case authority.InfoAnswer:
		return kindInfoAnswer
	case authority.Acks:
		return kindAcks
	case authority.Query:
		return kindQuery
	case authority.Answer:
		return kindAnswer
	case authority.Revalidate:
		return kindRevalidate
	}
	return kindOfGrantor(m)
}

// Append appends a message for the machine at port to b. The error says what of the
// message cannot be sent; then b comes back as it was.
func Append(b []byte, port protocol.Port, m protocol.Message) ([]byte, error) {
	c := coder{b: b, writing: true}
	k := kindOf(m)
	number(&c, &port)
	number(&c, &k)
	c.write(m)
	if c.err != nil {
		return b, fmt.Errorf("encode %T: %w", m, c.err)
	}
	return c.b, nil
}

// Decode takes the first message off b, with the port that it is for, and returns
// what is left. The error says what is wrong with the bytes.
func Decode(b []byte) (port protocol.Port, m protocol.Message, rest []byte, err error) {
	c := coder{b: b}
	var k kind
	number(&c, &port)
	number(&c, &k)
	if c.err == nil {
		m = c.read(k)
	}
	if c.err != nil {
		return 0, nil, nil, fmt.Errorf("decode a message of type %d: %w", k, c.err)
	}
	return port, m, b[c.at:], nil
}

// write appends the fields of m.
func (c *coder) write(m protocol.Message) {
	switch m := m.(type) {
	case authority.Acquire:
		c.acquire(&m)
	case authority.Release:
		c.release(&m)
	case authority.Extend:
		c.extend(&m)
	case authority.EndSession:
		c.endSession(&m)
	case authority.Decided:
		c.decided(&m)
	case authority.InfoRequest:
		c.infoRequest(&m)
	case authority.InfoAnswer:
		c.infoAnswer(&m)
	case authority.Acks:
		c.stampInView(&m.Stamp, &m.View)
	case authority.Query:
		c.query(&m)
	case authority.Answer:
		c.answer(&m)
	case authority.Revalidate:
		c.stampInView(&m.Stamp, &m.View)
	default:
		c.writeMembership(m)
	}
}

func (c *coder) writeMembership(m protocol.Message) {
	switch m := m.(type) {
	case election.StatusPoll:
		c.statusPoll(&m)
	case election.StatusAnswer:
		c.statusAnswer(&m)
	case election.Election:
		c.election(&m)
	case election.Promise:
		c.promise(&m)
	case election.Refuse:
		c.refuse(&m)
	case membership.Poll:
		c.poll(&m)
	case membership.NewView:
		c.newView(&m)
	case membership.PollAnswer:
		c.pollAnswer(&m)
	case membership.ViewAck:
		c.pollAnswer(&m.Answer)
	case membership.Join:
		c.join(&m)
	case membership.Unwelcome:
		c.unwelcome(&m)
	case membership.Dropped:
		c.dropped(&m)
	case membership.Resign:
		c.resign(&m)
	case membership.JoinDeferred:
		c.joinDeferred(&m)
	default:
		c.writeGrantor(m)
	}
}

// read takes the fields of a message of type k.
func (c *coder) read(k kind) protocol.Message {
	switch k {
	case kindAcquire:
		var m authority.Acquire
		c.acquire(&m)
		return m
	case kindRelease:
		var m authority.Release
		c.release(&m)
		return m
	case kindExtend:
		var m authority.Extend
		c.extend(&m)
		return m
	case kindEndSession:
		var m authority.EndSession
		c.endSession(&m)
		return m
	case kindDecided:
		var m authority.Decided
		c.decided(&m)
		return m
	case kindInfoRequest:
		var m authority.InfoRequest
		c.infoRequest(&m)
		return m
	case kindInfoAnswer:
		var m authority.InfoAnswer
		c.infoAnswer(&m)
		return m
	case kindAcks:
		var m authority.Acks
		c.stampInView(&m.Stamp, &m.View)
		return m
	case kindQuery:
		var m authority.Query
		c.query(&m)
		return m
	case kindAnswer:
		var m authority.Answer
		c.answer(&m)
		return m
	case kindRevalidate:
		var m authority.Revalidate
		c.stampInView(&m.Stamp, &m.View)
		return m
	}
	return c.readMembership(k)
}

func (c *coder) readMembership(k kind) protocol.Message {
	switch k {
	case kindStatusPoll:
		var m election.StatusPoll
		c.statusPoll(&m)
		return m
	case kindStatusAnswer:
		var m election.StatusAnswer
		c.statusAnswer(&m)
		return m
	case kindElection:
		var m election.Election
		c.election(&m)
		return m
	case kindPromise:
		var m election.Promise
		c.promise(&m)
		return m
	case kindRefuse:
		var m election.Refuse
		c.refuse(&m)
		return m
	case kindPoll:
		var m membership.Poll
		c.poll(&m)
		return m
	case kindNewView:
		var m membership.NewView
		c.newView(&m)
		return m
	case kindPollAnswer:
		var m membership.PollAnswer
		c.pollAnswer(&m)
		return m
	case kindViewAck:
		var m membership.ViewAck
		c.pollAnswer(&m.Answer)
		return m
	case kindJoin:
		var m membership.Join
		c.join(&m)
		return m
	case kindUnwelcome:
		var m membership.Unwelcome
		c.unwelcome(&m)
		return m
	case kindJoinDeferred:
		var m membership.JoinDeferred
		c.joinDeferred(&m)
		return m
	case kindDropped:
		var m membership.Dropped
		c.dropped(&m)
		return m
	case kindResign:
		var m membership.Resign
		c.resign(&m)
		return m
	}
	return c.readGrantor(k)
}
