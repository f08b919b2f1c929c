package bakery

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// The messages, all sent as values. Those about leaders are tagged with the view; those
// under a term go in envelopes.
//
//	member → elector     Started Elected    elector → members    Elect Leaders Refused
//	leader → coordinator Exhausted
//
//	master → leaders     Entering GetMax Add Exiting Ready Activate Unlocking Drop
//	leader → master      Entered Max Added Activated
//	leader → leaders     Tickets
//	member → leader      Lock Unlock Unlocking Claim Raise
//	leader → member      Locked Queued Failed Unlocked
//	both ends of a link  Heard
type (
	// Term names an election of leaders by the view in which it was held: the epoch's counter and
	// the view's number. A view has one elector, so it is snaplock's election date, which is a wall
	// clock's there. The zero Term is none.
	Term struct{ Epoch, View uint64 }

	// Election is the outcome of one.
	Election struct {
		Term    Term
		Leaders []local.Place // one to three, by rank
		// After is the previous election, whose leaders hand their tickets over; zero if members report their holds
		// instead.
		After        Term
		AfterLeaders []local.Place
		// Count is the start of grant numbers, if After has another epoch or is zero.
		Count uint32
	}

	// Candidate is a possible leader, with the reason why it is or is not one.
	Candidate struct {
		ID       protocol.ID
		Priority int // 1 to 14; 15 is off
		Random   uint32
		Address  string
		PID      int
		Name     string
		Guest    bool
	}

	// Key identifies a ticket permanently: the request of a member's client for which it was drawn.
	Key struct {
		Member      protocol.ID
		Incarnation uint64
		Number      uint64
	}

	// Ticket is a master's description of a ticket for the other leaders when it enters.
	Ticket struct {
		Key  Key
		For  local.Place // the member that made the request
		Name string
		holdfast.Shape
		Try     bool
		Owner   string // for display
		Session lock.SessionID
	}

	// Started informs the elector of a view of a member's identity, and the leaders that it knows (LOCKSTARTED). It is
	// repeated until the elector has answered under that view.
	Started struct {
		local.Tag
		Candidate Candidate
		Known     Election // the newest confirmed one; zero if there was none
		Promised  Term     // the newest that it was asked to agree to
		Serves    bool     // it is one of those leaders and has all their tickets
		Used      bool     // it is one of those leaders and the tokens of their epoch are used up
	}
	// Elect asks a member to accept no older election than this one (LOCKLEADERS, first half).
	Elect struct {
		local.Tag
		Election Election
	}
	// Elected confirms that it will not.
	Elected struct {
		local.Tag
		Term Term
	}
	// Leaders announces the leaders (LOCKLEADERS): a majority of the view has agreed, or nothing has changed.
	Leaders struct {
		local.Tag
		Election   Election
		Candidates []Candidate
	}
	// Refused gives the reason why there is no election, while no member leads.
	Refused struct {
		local.Tag
		Why        Refusal
		Missing    []protocol.ID // RefusedFew: the members that are not candidates
		Candidates []Candidate
	}
	// Exhausted informs the coordinator that the tokens of an epoch are used up, or that leaders are needed that use
	// none of its tokens.
	Exhausted struct {
		local.Tag
		Epoch uint64
	}

	// Envelope carries a message under a term. A link is a pair of members under one term; it loses nothing and keeps
	// its order, because unacknowledged messages are resent and those out of order are ignored.
	Envelope struct {
		Term     Term
		From, To local.Place
		Seq      uint64 // counts the envelopes of this link from 1; 0 for Heard
		Seen     uint64 // up to which number those in the other direction were taken
		Body     Body
	}
	// Body is the contents of an envelope: one of the types below.
	Body interface{ String() string }
	// Heard carries Seen if there is no other message.
	Heard struct{}

	// Entering begins a ticket (LOCKENTERING): its master is choosing a number for it.
	Entering struct {
		Ticket Ticket
		// Serial counts the tickets that the sender has started in this term, from 1.
		Serial uint64
	}
	// Entered confirms that the sender knows the ticket (LOCKENTERED). In the merged set it includes the contents of
	// Max.
	Entered struct {
		Key Key
		Max uint64 // merged: the highest number of the name here; 0 if there is none
		// Capacity is the capacity of slots of the sender's own tickets of the name, if it differs from the ticket's.
		Capacity int
		// By is the owner of the ticket before one that does not wait, among the sender's own tickets; nil if there is
		// none.
		By *lock.HeldBy
	}
	// GetMax asks for the highest number of the ticket's name (GETMAXTICKET).
	GetMax struct {
		Key Key
	}
	// Max reports the highest number (MAXTICKET).
	Max struct {
		Key Key
		Max uint64
	}
	// Add gives a ticket its number (ADDTICKET).
	Add struct {
		Key    Key
		Number uint64
		// Activate, in the merged set, means that the ticket exits, is ready and asks for the sender's agreement if no
		// other ticket is entering; Count is then that of Activate.
		Activate bool
		Count    uint64
	}
	// Added confirms that the sender has it (TICKETADDED), with the tickets that are choosing a number there for the
	// same name. Activated, in the merged set, means that the ticket has exited there, and Vote is that of Activated.
	Added struct {
		Key       Key
		Entering  []Choosing
		Activated bool
		Vote      Vote
	}
	// Exiting reports that a ticket has its number (LOCKEXITING): no ticket waits for it to choose any more. In the
	// merged set Ready and Activate mean that it is ready, and asks for agreement.
	Exiting struct {
		Key      Key
		Ready    bool
		Activate bool
		Count    uint64
	}
	// Ready reports that a ticket waits for no other one that is choosing (TICKETREADY).
	Ready struct {
		Key Key
	}
	// Activate asks whether the ticket is the first (ACTIVATELOCK). Count is the highest grant number of
	// the name that its master knows.
	Activate struct {
		Key   Key
		Count uint64
	}
	// Activated answers it (LOCKACTIVATED): at once, and again when it has become the first.
	Activated struct {
		Key  Key
		Vote Vote
	}
	// Choosing is a ticket that is choosing its number. A leader that knows its master's serial, and does not know the
	// ticket as a choosing one, knows of its exit.
	Choosing struct {
		Key    Key
		Master protocol.ID
		Serial uint64
	}
	// Vote is a leader's answer about the grant of a ticket.
	Vote struct {
		// First means that no incompatible ticket is before it there.
		First bool
		// Before lists the units of slots before it there.
		Before []TicketUnits
		// Count is the grant number that the sender has set aside for it.
		Count uint64
	}
	// TicketUnits is a ticket and the units it is for.
	TicketUnits struct {
		Key   Key
		Units int
	}
	// Drop ends a ticket (DROPTICKET).
	Drop struct {
		Key Key
	}

	// Tickets hands over the tickets of a leader of the previous term: names in order, in parts (LOCKTICKETS). If
	// leaders follow no others, the one of the first rank lists the held tickets in this way when it serves.
	Tickets struct {
		Names []NameState
		Floor uint64 // no grant number of a name that is not listed is higher
		Done  bool
	}
	// NameState is a name in a leader's book, with the tickets that have a number.
	NameState struct {
		Name    string
		Count   uint64
		Tickets []Numbered
	}
	// Numbered is a ticket with its number. Accepted means that it may be locked: the sender is its master and has
	// locked it, or has agreed to that, or knows of a leader that may have.
	Numbered struct {
		Ticket   Ticket
		Number   uint64
		Master   local.Place
		Accepted bool
		Left     time.Duration // of its holder's grace, or 0
	}

	// Lock asks a leader for a ticket (LOCK).
	Lock struct {
		Ticket Ticket
	}
	// Unlock ends a ticket: it was locked, or is not wanted any more (UNLOCK).
	Unlock struct {
		Key Key
	}
	// Unlocking reports that a ticket stays locked for a grace, though its hold limit has passed and its holder was
	// asked to stop (UNLOCKING); and then even if its member is lost. A master informs the other leaders.
	Unlocking struct {
		Key  Key
		Left time.Duration
	}
	// Claim informs a leader of a new term of the sender's tickets there: unclaimed ones are gone. A leader that has
	// died and come back claims nothing (ALIVE and ABSOLUTELY, unasked).
	Claim struct {
		Claims []Claimed
		Done   bool
	}
	// Claimed is a request of the sender's clients that holds, or waits.
	Claimed struct {
		Ticket Ticket
		Token  holdfast.Token // 0 while it waits
		Age    protocol.Time  // how long it has waited
	}

	// Locked reports that a ticket is locked (LOCKED).
	Locked struct {
		Key   Key
		Token holdfast.Token
	}
	// Queued reports the number of tickets before a ticket.
	Queued struct {
		Key      Key
		Position int
	}
	// Failed reports that a ticket is not locked and will not be (LOCKFAILED).
	Failed struct {
		Key      Key
		Why      Failure
		Limit    int          // FailedOverflow
		Capacity int          // FailedConflict
		By       *lock.HeldBy // FailedHeld
	}
	// Raise asks for a grant number above one that other clients of the sender hold: grants that
	// are held at one time are not decided in order.
	Raise struct {
		Key   Key
		Above holdfast.Token
	}
	// Unlocked reports that a ticket has ended (UNLOCKED).
	Unlocked struct {
		Key Key
	}
)

// Refusal is the reason why a view has no leaders.
type Refusal uint8

// The refusals.
const (
	// RefusedFew: too few members are candidates; the others are off, guests, or describe themselves in an impossible
	// way.
	RefusedFew Refusal = iota + 1
	// RefusedEpoch: leaders that follow no earlier ones need an epoch in which no leader has
	// given tokens.
	RefusedEpoch
)

// Failure is the reason why a ticket is not locked.
type Failure uint8

// The failures.
const (
	// FailedHeld: it does not want to wait, and another ticket is before it (snaplock's timedout).
	FailedHeld Failure = iota + 1
	// FailedOverflow: too many tickets for one name (overflow).
	FailedOverflow
	// FailedConflict: slots of another capacity are live (invalid).
	FailedConflict
	// FailedLimit: the leader has too many unacknowledged messages to another one.
	FailedLimit
)

// Kind returns the name of the envelope's body type, without its package. An envelope is only the transport: code that
// counts messages by type, or loses those of one type, means the bodies.
func (m Envelope) Kind() string {
	name := fmt.Sprintf("%T", m.Body)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// Before reports whether t is older.
func (t Term) Before(o Term) bool {
	return t.Epoch < o.Epoch || t.Epoch == o.Epoch && t.View < o.View
}

// Compare orders keys; tickets of one number are in that order.
func (k Key) Compare(o Key) int {
	switch {
	case k == o:
		return 0
	case k.Member < o.Member,
		k.Member == o.Member && k.Incarnation < o.Incarnation,
		k.Member == o.Member && k.Incarnation == o.Incarnation && k.Number < o.Number:
		return -1
	}
	return 1
}
