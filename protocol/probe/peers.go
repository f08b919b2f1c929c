package probe

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Peers reads off spaces and messages of a protocol whose members ask one another what a crash takes with it, which
// members join while others ask, late replies, and what becomes of permissions that are kept.
type Peers interface {
	// PeerRequestIn reads off a message that it asks for an exclusive lock and waits for it, under which
	// number, and in which reign it was given its place. Nothing else has a place.
	PeerRequestIn(message any) (PeerRequest, bool)
	// Request reads off the asker's space which request of a client asks by a number; of one that
	// has entered it reads the same, and that it does not ask.
	Request(space protocol.Machine, number uint64) (session lock.SessionID, request uint64, waits bool)
	// Heard reads off a space whether it has taken in what a peer asks for.
	Heard(space protocol.Machine, from protocol.ID, message any) bool
	// Dealings reads off a space what its member has to do with its peers.
	Dealings(space protocol.Machine) Dealings
	// Meets reads off a message that is about to reach a space what it finds there.
	Meets(space protocol.Machine, from protocol.ID, message any) Meeting
}

// PeerRequest is what a member asks the others for.
type PeerRequest struct {
	Name   string
	Number uint64 // it is used once
	Reign  protocol.Epoch
}

// Dealings is what a member has to do with its peers: how many requests of its clients hold and
// how many ask, at how many names it lets peers wait because one of its own has asked before them,
// and of how many it keeps permissions.
type Dealings struct{ Holds, Waits, Defers, Keeps int }

// Meeting is what a message finds when it reaches a peer.
type Meeting uint8

// What a message finds.
const (
	MeetsNothing Meeting = iota
	MeetsKept            // it asks for what the peer keeps the asker's permission for
	MeetsNewer           // it answers a request that has ended, and the peer has asked again
	MeetsSeveral         // it settles more requests of the peer than one
)
