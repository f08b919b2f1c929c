package transport

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Transport carries one member's messages to others, and theirs to it.
type Transport interface {
	// Send sends messages, in order. It never blocks, never calls back, and keeps nothing of the slice. Delivery is not
	// guaranteed; see the package comment.
	Send(envelopes []protocol.Envelope)
	// Listen begins to deliver. It is called once; nothing is delivered before.
	Listen(Deliver)
	// Close closes the transport. Nothing is delivered after it has returned, and nothing keeps running.
	Close() error
}

// Deliver receives messages that arrived together: events of kind Receive, each with its sender, its port and its
// message as Fact. It may be called from many goroutines. The transport reuses the slice after it returns; the messages
// belong to the receiver.
type Deliver func(events []protocol.Event)

// Version is the version of the protocol between members: the handshake, the frames and the messages in them. Members
// of different versions refuse each other.
const Version = 21

// Identity is how a member identifies itself in a handshake.
type Identity struct {
	// ID and Incarnation are those of its stable cell.
	ID          protocol.ID
	Incarnation uint64
	// Cluster is the cluster's id; 0 for a member that does not belong to one yet, which any cluster accepts.
	Cluster uint64
	// Name is for people.
	Name string
	// Address is the member's advertised address: HOST:PORT, or unix:///PATH.
	Address string
	// Terms has a line for everything that all members of its cluster must agree on, for a process that asks before it
	// joins. It is not part of the handshake.
	Terms []string
}

// String returns the identity as part of a sentence.
func (i Identity) String() string {
	return fmt.Sprintf("%q at %s (member %016x, incarnation %d)", i.Name, i.Address, uint64(i.ID), i.Incarnation)
}

// Refusal is the reason why two members do not talk, with both values.
type Refusal struct {
	What   string // one of the constants below
	Who    string // the other member, as far as it is known
	Ours   string
	Theirs string
}

// Reasons for two members to refuse each other.
const (
	OtherVersion = "version"     // different versions of the protocol
	OtherCluster = "cluster"     // different clusters
	SameID       = "id"          // two processes claim one id
	OldLife      = "life"        // the member has restarted since
	NoProof      = "certificate" // the certificate is not that of the member; Theirs says why
)

// Error returns a sentence with both values.
func (r *Refusal) Error() string {
	switch r.What {
	case OtherVersion:
		return fmt.Sprintf("member %s speaks version %s of the members' protocol, this one version %s", r.Who, r.Theirs, r.Ours)
	case OtherCluster:
		return fmt.Sprintf("member %s belongs to cluster %s, this one to cluster %s; if they are to be one cluster, stop the one whose state folder is of an earlier cluster, and start it afresh with an empty folder",
			r.Who, r.Theirs, r.Ours)
	case OldLife:
		return fmt.Sprintf("member %s is incarnation %s, and incarnation %s is known already", r.Who, r.Theirs, r.Ours)
	case NoProof:
		return fmt.Sprintf("member %s is not believed: %s", r.Who, r.Theirs)
	}
	return fmt.Sprintf("two processes claim one member's id: %s and %s; one of them has a copy of the other's state folder", r.Ours, r.Theirs)
}

// Observer receives a transport's counts. Its methods are called from many goroutines, and must neither block nor call
// back.
type Observer interface {
	// Sent, Received and Dropped count one message. A dropped one was never sent.
	Sent(port protocol.Port, message protocol.Message)
	Received(port protocol.Port, message protocol.Message)
	Dropped(port protocol.Port, message protocol.Message, why Drop)
	// DroppedPacket counts one packet of the gossip that was never sent.
	DroppedPacket(why Drop)
	// FrameSent and FrameReceived count one frame.
	FrameSent()
	FrameReceived()
	// Refused counts a refused handshake, or a stream closed because of its input. Why is one of the constants of
	// Refusal, or one of the words below.
	Refused(why string)
}

// Reasons for a receiver to close a stream, other than a Refusal.
const (
	Garbage   = "garbage"    // a frame that does not decode
	Limit     = "members"    // more members or streams than the limit
	NoHello   = "no_hello"   // a stream that does not begin with a hello in time
	Malformed = "bad_member" // a hello with missing fields
)

// Drop is the reason why a message was dropped.
type Drop string

// The reasons.
const (
	Full        Drop = "full"        // the queue was full
	Unknown     Drop = "unknown"     // the address of that id is unknown
	Unreachable Drop = "unreachable" // no member could be reached there
	Elsewhere   Drop = "elsewhere"   // the member there has another id
	Unsendable  Drop = "unsendable"  // it has no encoding, or is larger than a frame
	Closing     Drop = "closing"     // the transport was closed
)

// Silent is an Observer that counts nothing.
type Silent struct{}

// Sent does nothing.
func (Silent) Sent(protocol.Port, protocol.Message) {}

// Received does nothing.
func (Silent) Received(protocol.Port, protocol.Message) {}

// Dropped does nothing.
func (Silent) Dropped(protocol.Port, protocol.Message, Drop) {}

// DroppedPacket does nothing.
func (Silent) DroppedPacket(Drop) {}

// FrameSent does nothing.
func (Silent) FrameSent() {}

// FrameReceived does nothing.
func (Silent) FrameReceived() {}

// Refused does nothing.
func (Silent) Refused(string) {}
