package probe

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Peers reads the state and messages of a protocol whose members ask one another: the loss caused by a crash, members
// that join while others ask, late replies, and the use of kept permissions.
type Peers interface {
	// PeerRequestIn reads off a message that it asks for an exclusive lock and waits for it, under which
	// number, and in which reign it was given its place. Nothing else has a place.
	PeerRequestIn(message any) (PeerRequest, bool)
	// Request reads off the asker's space which request of a client asks by a number; of one that
	// has entered it reads the same, and that it does not ask.
	Request(space protocol.Machine, number uint64) (session lock.SessionID, request uint64, waits bool)
	// Heard reports whether a space has processed a peer's request.
	Heard(space protocol.Machine, from protocol.ID, message any) bool
	// Dealings returns a member's dealings with its peers.
	Dealings(space protocol.Machine) Dealings
	// Meets returns the state that a message is about to find at a space.
	Meets(space protocol.Machine, from protocol.ID, message any) Meeting
}

// PeerRequest is a member's request to the others.
type PeerRequest struct {
	Name   string
	Number uint64 // it is used once
	Reign  protocol.Epoch
}

// Dealings are a member's dealings with its peers: the number of its clients' holding and asking requests, of names at
// which it defers peers because its own request is earlier, and of names with kept permissions.
type Dealings struct{ Holds, Waits, Defers, Keeps int }

// Meeting is the state that a message finds at a peer.
type Meeting uint8

// What a message finds.
const (
	MeetsNothing Meeting = iota
	MeetsKept            // it asks for what the peer keeps the asker's permission for
	MeetsNewer           // it answers a request that has ended, and the peer has asked again
	MeetsSeveral         // it settles more requests of the peer than one
)
