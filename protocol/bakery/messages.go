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
		// After is the election before, whose leaders hand their tickets over; zero where
		// members tell what they hold instead.
		After        Term
		AfterLeaders []local.Place
		// Count is where grant numbers begin, if After has another epoch or is zero.
		Count uint32
	}

	// Candidate is who can be made a leader, and why a member is or is none.
	Candidate struct {
		ID       protocol.ID
		Priority int // 1 to 14; 15 is off
		Random   uint32
		Address  string
		PID      int
		Name     string
		Guest    bool
	}

	// Key names a ticket for ever: the request of a member's client that it was drawn for.
	Key struct {
		Member      protocol.ID
		Incarnation uint64
		Number      uint64
	}

	// Ticket is what a master tells the other leaders of a ticket when it enters.
	Ticket struct {
		Key  Key
		For  local.Place // who has asked
		Name string
		holdfast.Shape
		Try     bool
		Owner   string // for people
		Session lock.SessionID
	}

	// Started tells the elector of a view who a member is, and which leaders it knows
	// (LOCKSTARTED). It is repeated until the elector has answered under that view.
	Started struct {
		local.Tag
		Candidate Candidate
		Known     Election // the newest that was confirmed; zero where there was none
		Promised  Term     // the newest that it was asked to agree to
		Serves    bool     // it is one of those leaders and has all their tickets
		Used      bool     // it is one of those leaders and the tokens of their epoch are used up
	}
	// Elect asks a member to take no older election than this one (LOCKLEADERS, first half).
	Elect struct {
		local.Tag
		Election Election
	}
	// Elected says that it will not.
	Elected struct {
		local.Tag
		Term Term
	}
	// Leaders says who leads (LOCKLEADERS): a majority of the view has agreed, or nothing has changed.
	Leaders struct {
		local.Tag
		Election   Election
		Candidates []Candidate
	}
	// Refused says why there is no election, as no member leads.
	Refused struct {
		local.Tag
		Why        Refusal
		Missing    []protocol.ID // RefusedFew: who is no candidate
		Candidates []Candidate
	}
	// Exhausted tells the coordinator that the tokens of an epoch are used up, or that leaders
	// are needed who use none of its tokens.
	Exhausted struct {
		local.Tag
		Epoch uint64
	}

	// Envelope brings a message under a term. A link is a pair of members under one term; it
	// loses nothing and keeps its order, because what is not heard is sent again and what comes
	// out of turn is not taken.
	Envelope struct {
		Term     Term
		From, To local.Place
		Seq      uint64 // counts the envelopes of this link from 1; 0 for Heard
		Seen     uint64 // up to which number those in the other direction were taken
		Body     Body
	}
	// Body is what an envelope says: one of the types below.
	Body interface{ String() string }
	// Heard says Seen where there is nothing else to say.
	Heard struct{}

	// Entering begins a ticket (LOCKENTERING): its master is choosing a number for it.
	Entering struct {
		Ticket Ticket
		// Serial counts the tickets that the sender has begun in this term, from 1.
		Serial uint64
	}
	// Entered says that the sender knows (LOCKENTERED). In the merged set it has what Max has.
	Entered struct {
		Key Key
		Max uint64 // merged: the highest number of the name here; 0 where there is none
		// Capacity is the capacity of slots of the sender's own tickets of the name, where it is
		// another one than the ticket's.
		Capacity int
		// By names the owner of the ticket that stands before one that does not want to wait, as
		// far as the sender's own tickets are concerned; nil where there is none.
		By *lock.HeldBy
	}
	// GetMax asks for the highest number of the ticket's name (GETMAXTICKET).
	GetMax struct {
		Key Key
	}
	// Max tells it (MAXTICKET).
	Max struct {
		Key Key
		Max uint64
	}
	// Add gives a ticket its number (ADDTICKET).
	Add struct {
		Key    Key
		Number uint64
		// Activate, in the merged set, says that the ticket exits, is ready and asks for the sender's
		// agreement where no other ticket is entering; Count is then what it is in Activate.
		Activate bool
		Count    uint64
	}
	// Added says that the sender has it (TICKETADDED), and who is choosing a number there for the
	// same name. Activated, in the merged set, says that the ticket has exited there, and Vote what it
	// says in Activated.
	Added struct {
		Key       Key
		Entering  []Choosing
		Activated bool
		Vote      Vote
	}
	// Exiting says that a ticket has its number (LOCKEXITING): no ticket waits for it to choose
	// any more. In the merged set Ready and Activate say that it is ready, and ask for agreement.
	Exiting struct {
		Key      Key
		Ready    bool
		Activate bool
		Count    uint64
	}
	// Ready says that a ticket waits for no other one that is choosing (TICKETREADY).
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
	// Choosing is a ticket that is choosing its number. Who has heard of its master's serial, and does
	// not know the ticket as one that is choosing, has heard of its exit.
	Choosing struct {
		Key    Key
		Master protocol.ID
		Serial uint64
	}
	// Vote is what a leader says to a ticket's being granted.
	Vote struct {
		// First says that no ticket stands before it there that it is incompatible with.
		First bool
		// Before lists the units of slots that stand before it there.
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

	// Tickets hands over what a leader of the term before has: names in order, in parts (LOCKTICKETS). Where leaders follow no
	// others, that of the first rank names so what is held when it serves.
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
	// Numbered is a ticket with its number. Accepted says that it may be locked: the sender is its master and
	// has locked it, or has agreed to that, or knows of a leader that may have.
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
	// Unlocking says that a ticket stays locked for a grace, though its hold limit has passed and its
	// holder was asked to stop (UNLOCKING); and then even if its member is lost. A master tells the other
	// leaders.
	Unlocking struct {
		Key  Key
		Left time.Duration
	}
	// Claim tells a leader of a new term what the sender has of it: what is not claimed is gone. A
	// leader that has died and come back claims nothing (ALIVE and ABSOLUTELY, unasked).
	Claim struct {
		Claims []Claimed
		Done   bool
	}
	// Claimed is a request of the sender's clients that holds, or waits.
	Claimed struct {
		Ticket Ticket
		Token  holdfast.Token // 0 where it waits
		Age    protocol.Time  // how long it has waited
	}

	// Locked says that a ticket is locked (LOCKED).
	Locked struct {
		Key   Key
		Token holdfast.Token
	}
	// Queued says that so many tickets stand before a ticket.
	Queued struct {
		Key      Key
		Position int
	}
	// Failed says that a ticket is not locked and will not be (LOCKFAILED).
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
	// Unlocked says that a ticket has ended (UNLOCKED).
	Unlocked struct {
		Key Key
	}
)

// Refusal says why a view has no leaders.
type Refusal uint8

// The refusals.
const (
	// RefusedFew: too few members are candidates; the others are off, guests, or say of themselves
	// what cannot be.
	RefusedFew Refusal = iota + 1
	// RefusedEpoch: leaders that follow no earlier ones need an epoch in which no leader has
	// given tokens.
	RefusedEpoch
)

// Failure says why a ticket is not locked.
type Failure uint8

// The failures.
const (
	// FailedHeld: it does not want to wait, and another ticket is before it (snaplock's timedout).
	FailedHeld Failure = iota + 1
	// FailedOverflow: too many tickets for one name (overflow).
	FailedOverflow
	// FailedConflict: slots of another capacity are live (invalid).
	FailedConflict
	// FailedLimit: the leader has too much to say to another one that does not answer.
	FailedLimit
)

// Kind returns the name of what the envelope says, without its package. An envelope is only how that
// travels: code that counts messages by their types, or loses those of one type, means what they say.
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
