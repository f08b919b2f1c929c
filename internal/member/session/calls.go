package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Secret authenticates the client that opened a session.
type Secret [16]byte

// Kind is the kind of a session's lifetime.
type Kind uint8

// The kinds of sessions.
const (
	Local   Kind = iota + 1 // inside the member's process; no TTL
	Stream                  // attached to a sink, kept alive by beats
	OneShot                 // kept alive by requests; ends with the release of its last lock, unless it has a number
)

// Requests of a client's edge to the Machine: an Event of kind Call at Port [protocol.Below] has a pointer to one of
// these as its Fact. The answer goes to Event.Call. Requests about locks (*lock.Request, *protocol.Release, …) go to
// the port of their space; the Machine checks that their session is alive and passes them on. It does not check their
// secret: an edge without a stream for the session first sends a Renew or Check.
type (
	// Open opens a session. A Stream or Local session is attached to the sink of
	// Event.Call. The answer is an *Opened.
	Open struct {
		Kind   Kind
		TTL    time.Duration // wanted; 0 means the default
		Client string        // a description of the client, for people
		// Identity is the client's identity as established by the edge, not as claimed by the client. Only that
		// identity may use the session: a caller with its secret and another identity is refused with ErrForeign. Empty
		// means that the secret alone suffices.
		Identity string
		// Number is a random number of a Stream's client, to distinguish it from others that resume the session. 0 is
		// none. A OneShot with a number outlasts its locks: it ends by its client's End, or after its TTL without a
		// request.
		Number uint64
		// Owner is charged the session, and all its requests. The zero value has no bounds.
		Owner Owner
	}
	// Opened answers Open. Err is an ErrLimit when there are too many sessions, here or of the owner (*OverQuota), and
	// an ErrUnavailable while this member cannot promise anything: it is in no view, has lost its lease, or is leaving.
	// Another member may be able to.
	Opened struct {
		ID     lock.SessionID
		Secret Secret
		TTL    time.Duration // from the sending of the request; 0 for Local
		Cut    Cut           // why TTL is shorter than requested
		// Generation is the client's position among those that use the session: 1, or 0 if it has no number.
		Generation uint64
		// Longer reports that the first renewal in lasting spaces alone gives a longer TTL: the client asks for one with
		// its first grant, or an election could outlast the session.
		Longer bool
		Err    error
	}

	// Resume attaches a Stream session to the sink of Event.Call, in place of any other. First come the decisions about
	// grants that the client must stop using; then a *Renewed, with the losses in Lost. Other decisions made meanwhile
	// are not repeated: the client repeats its unanswered requests. If the session cannot be renewed now, the answered
	// TTL is the rest of its old deadline. A Resume by another client than the attached one takes the session over: see
	// the package comment.
	Resume struct {
		ID       lock.SessionID
		Secret   Secret
		Identity string
		TTL      time.Duration // wanted; 0 means unchanged

		// Requests are the client's unsettled requests: held, waiting, or being given up. It repeats the waiting ones
		// before the first Renew.
		Requests []uint64
		// Last is the latest id that the client had used. All requests of the session with an id up to it that are not
		// among Requests are ended: their grants went to requests that the client had settled. 0 ends nothing. A Resume
		// may be late: it does not affect requests sent after it.
		Last uint64

		// Number and Generation identify the client: the random number that it has drawn, and the generation in this
		// session's answer to it, 0 before the first answer. A Number of 0 is that of a client that draws none: it acts
		// as whichever client the session is attached to.
		Number, Generation uint64

		Owner Owner // is charged the session if it is adopted, and has no Identity
	}

	// Detach reports that the sink of Event.Call is gone. Its sessions live until their TTL is over; a Local one ends.
	// There is no answer.
	Detach struct{}

	// Renew renews a session. The answered ttl counts from Arrived, the arrival of the request at this member (0 means
	// now). The answer is a *Renewed. If the session has used lasting spaces, the answer waits for the confirmation of
	// all of them.
	Renew struct {
		ID       lock.SessionID
		Secret   Secret
		Proven   bool // the edge holds the session by a stream: no secret needed
		Identity string
		TTL      time.Duration // wanted; 0 means unchanged
		Arrived  protocol.Time
		Owner    Owner // as in Resume

		resumed bool          // for a Resume
		beaten  bool          // the lasting spaces of the session have confirmed it
		heard   protocol.Time // since when they keep it
	}
	// Renewed answers Renew and Resume. Err is ErrUnknown if the session has ended or the secret is wrong, ErrForeign
	// if it belongs to another identity, ErrTakenOver if a later client has taken it over, a holdfast.Loss if the
	// session has lost all its holds, and an ErrUnavailable if nothing more may be promised now. In the last two cases
	// it is not renewed, and keeps its old deadline.
	Renewed struct {
		TTL  time.Duration
		Cut  Cut    // why TTL is shorter than requested
		Lost []Lost // losses of the session since its client could last be reached
		// Generation answers a Resume: the client's position among those that have used the session, to be sent with
		// its next Resume. 0 if the session is attached to no client with a number.
		Generation uint64
		// Takes answers a Check: a Resume by that client would take the session over from another one.
		Takes bool
		Err   error
	}

	// Check asks whether a session is alive and its secret right. It renews nothing. Like any other authenticated
	// request, it adopts a session that lasting spaces have and this member does not. The answer is a *Renewed with TTL
	// 0. Number and Generation are those of the Resume that is to follow; 0 if there is none.
	Check struct {
		ID                 lock.SessionID
		Secret             Secret
		Identity           string
		Number, Generation uint64
		Owner              Owner // as in Resume
	}

	// End ends a session: its holds are released and its waits are cancelled, in all spaces. The answer is an *Ended.
	End struct {
		ID       lock.SessionID
		Secret   Secret
		Identity string
		Proven   bool
	}
	// Ended answers End.
	Ended struct {
		Released []Lost // with Decision.Kind Released; without pending releases of lasting spaces
		Err      error
	}

	// Count asks for the number of sessions, without those of the member's own process. The answer is a *Counted.
	Count struct{}
	// Counted answers Count.
	Counted struct {
		Sessions   int
		LongestTTL time.Duration // maximum ttl of a session
	}

	// Drain stops new sessions and requests. A client's session without holds ends, and every other one when it has
	// given up its holds. The answer is a *Drained, when no hold is left through this member.
	Drain struct{}
	// Drained answers Drain.
	Drained struct{}

	// LeaveNow leaves without waiting for clients with holds: it revokes their grants, which they may use until their
	// deadlines. The answer is a *membership.Left.
	LeaveNow struct{}

	// Expired is sent unsolicited (Op 0) to the sink of a session that has ended other than at its client's request,
	// after the decisions about its holds. Err is the reason, or nil if it was not renewed in time.
	Expired struct {
		ID  lock.SessionID
		Err error
	}

	// Dismissed is sent unsolicited (Op 0) to the sink of a session that this member no longer serves, after the
	// decisions about its holds in spaces that are not lasting. In lasting ones it keeps everything: its client
	// continues with it at another member, or at this one later. Later input from the sink gets no answer. Err is the
	// reason.
	Dismissed struct {
		ID  lock.SessionID
		Err error
	}

	// Superseded is sent unsolicited (Op 0) to the sink of a session that another sink has resumed. It is the last
	// message there.
	Superseded struct{ ID lock.SessionID }

	// TakenOver is sent unsolicited (Op 0) to the sink of a session that another client has taken over, by a Resume
	// here or at another member. It is the last message there, and later input from the sink has no effect. The later
	// client has the holds of the earlier one.
	TakenOver struct{ ID lock.SessionID }

	// Number asks for a number of ids for requests outside the session's stream, in a session that was just renewed or
	// opened. The answer is a *Numbered.
	Number struct {
		ID    lock.SessionID
		Count int // 1 to MostNumbered
	}
	// Numbered answers Number: the first of consecutive ids, or 0 if the session has ended.
	Numbered struct{ First uint64 }

	// Who asks for information on a session, for listings. The answer is a *Known.
	Who struct{ ID lock.SessionID }
	// Known answers Who; Client is "" for an unknown session.
	Known struct {
		Client   string
		Identity string        // that has opened it
		Until    protocol.Time // when this member considers it expired; Never if it does not expire
	}

	// List asks for the clients' sessions, without those of the member's own process. The answer is a *Listed.
	List struct{}
	// Listed answers List, in the order of the ids.
	Listed struct{ Sessions []Info }
)

// Info is a session in a listing.
type Info struct {
	ID       lock.SessionID
	Kind     Kind
	Client   string
	Identity string
	Until    protocol.Time // when this member considers it expired; Never if it does not expire
	Locks    int           // held through this member, if the session is charged to an owner
	Waiters  int           // its requests without a grant
}

// SingleCall is [lock.SingleCall].
const SingleCall = lock.SingleCall

// The ids of such requests consist of SingleCall, a random prefix for each session and each life of a member, and a
// count. So their outcomes are remembered as a few ranges, however many there were and through whichever members they
// came (package lock/replica).
const (
	countBits = 24
	// MostNumbered is the maximum number of ids in one request.
	MostNumbered = 1 << 20
)

// Lost is a decision with the port of its space.
type Lost struct {
	Port     protocol.Port
	Decision lock.Decision
}

// Vocabulary lists one value of each type that a session machine takes as a call or answers. A package that encodes
// such values needs no others.
func Vocabulary() []any {
	return []any{
		&Open{}, &Resume{}, &Detach{}, &Renew{}, &Check{}, &End{}, &Count{}, &Drain{}, &LeaveNow{}, &Number{}, &Who{},
		&Allot{}, &Usage{}, &Used{},
		&Opened{}, &Renewed{}, &Ended{}, &Counted{}, &Drained{}, &Expired{}, &Dismissed{}, &Superseded{}, &TakenOver{}, &Numbered{}, &Known{},
	}
}
