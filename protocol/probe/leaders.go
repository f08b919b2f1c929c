package probe

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Leaders reads the state and messages of a protocol whose leaders number tickets: when a ticket has its place, at
// which step its master crashes, which leader has answered first, which members learn the leaders, and what arrives too
// late.
type Leaders interface {
	// Drawn reads off a space the tickets that its member is the master of.
	Drawn(space protocol.Machine) []Drawn
	// Serves reads off a space whether its member is a leader that has all tickets.
	Serves(space protocol.Machine) bool
	// Graces returns how many names stay taken through a space after a hold limit.
	Graces(space protocol.Machine) int
	// Behind returns how many other members have unacknowledged messages of a space.
	Behind(space protocol.Machine) int
	// TopicOf returns the topic of a message sent by a space.
	TopicOf(space protocol.Machine, message any) Topic
	// Finds returns the finding of a message that is about to reach a space.
	Finds(space protocol.Machine, view *protocol.View, from protocol.ID, message any) Finding
	// Placed returns the ticket, if any, whose number is now known to a majority, as a message has just shown its
	// master.
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
	TicketWaiting                    // for the tickets that were choosing when it was
	TicketReady                      // for its turn
	TicketLocked
	// TicketSteps is the number of steps.
	TicketSteps
)

// Topic is the topic of a sent message.
type Topic uint8

// What a message is about.
const (
	TopicNone      Topic = iota
	TopicTickets         // it hands tickets over to the next term
	TopicLeaders         // it tells who leads
	TopicTakenOver       // a ticket is locked that had another master before
)

// Finding is the state that a message finds at its receiver.
type Finding uint8

// What a message finds.
const (
	FindsNothing  Finding = iota
	FindsEnded            // it answers for a ticket that has ended
	FindsOlder            // it tells of an election that is older than one that is known
	FindsLeaders          // it tells who leads
	FindsNewcomer         // it announces the leaders, and has done so before this member came
	FindsHold             // it claims a held ticket, at leaders that follow no others
	FindsRequest          // it claims a waiting ticket, at those
	FindsRefused          // it reports that no leaders can be elected before another epoch
)
