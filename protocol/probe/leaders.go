package probe

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Leaders reads off spaces and messages of a protocol whose leaders number tickets from when on a ticket has its
// place, at which step of one its master crashes, who has answered first, which members learn who leads, and what comes too late.
type Leaders interface {
	// Drawn reads off a space the tickets that its member is the master of.
	Drawn(space protocol.Machine) []Drawn
	// Serves reads off a space whether its member is a leader that has all tickets.
	Serves(space protocol.Machine) bool
	// Graces reads off a space how many names stay taken through it after a hold limit.
	Graces(space protocol.Machine) int
	// Behind reads off a space how many other members are behind with what it sends them.
	Behind(space protocol.Machine) int
	// TopicOf reads off a message that is sent from a space what it is about.
	TopicOf(space protocol.Machine, message any) Topic
	// Finds reads off a message that is about to reach a space what it finds there.
	Finds(space protocol.Machine, view *protocol.View, from protocol.ID, message any) Finding
	// Placed reads off a space that a message has made its member know that a majority knows the
	// number of a ticket of its own, and which.
	Placed(space protocol.Machine, message any) (Placed, bool)
	// Request reads off the owner's space which request of a client waits by a ticket.
	Request(space protocol.Machine, ticket Placed) (session lock.SessionID, request uint64, waits bool)
}

// Drawn is a ticket at its master: how far it is, whose it is, which other leader has answered first, and
// which have not answered though one has.
type Drawn struct {
	Step         TicketStep
	Owner, First protocol.ID
	Slow         []protocol.ID
}

// Placed is a ticket that has its place: a request that is made from now on comes after it in that reign.
type Placed struct {
	Name                string
	Owner               protocol.ID
	Incarnation, Number uint64 // of the owner's life, and in that
	Reign               protocol.Epoch
}

// TicketStep is how far a ticket is.
type TicketStep uint8

// The steps of a ticket.
const (
	TicketChoosing TicketStep = iota // its number
	TicketAdded                      // other leaders are learning it
	TicketWaiting                    // for those who were choosing when it was
	TicketReady                      // for its turn
	TicketLocked
	// TicketSteps is how many there are.
	TicketSteps
)

// Topic is what a sent message is about.
type Topic uint8

// What a message is about.
const (
	TopicNone      Topic = iota
	TopicTickets         // it hands tickets over to the next term
	TopicLeaders         // it tells who leads
	TopicTakenOver       // a ticket is locked that had another master before
)

// Finding is what a message finds.
type Finding uint8

// What a message finds.
const (
	FindsNothing  Finding = iota
	FindsEnded            // it answers for a ticket that has ended
	FindsOlder            // it tells of an election that is older than one that is known
	FindsLeaders          // it tells who leads
	FindsNewcomer         // it tells who leads, and has done so before this member came
	FindsHold             // it claims what is held, of leaders that follow no other
	FindsRequest          // it claims what is waited for, of those
	FindsRefused          // it tells that no leaders can be elected before another epoch has begun
)
