package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Secret proves that a client is the one that opened its session.
type Secret [16]byte

// Kind says how a session lives.
type Kind uint8

// The sorts of sessions.
const (
	Local   Kind = iota + 1 // inside the member's process; no TTL
	Stream                  // attached to a sink, kept by beats
	OneShot                 // kept by requests; ends with the release of its last lock, unless it has a number
)

// What a client's edge asks of the Machine: an Event of kind Call at Port
// [protocol.Below] has a pointer to one of these as its Fact. The answer goes to
// Event.Call. Requests about locks (*lock.Request, *protocol.Release, …) go to the
// port of their space; the Machine checks that their session is alive and passes them
// on. It does not check their secret: an edge that does not hold the session by a
// stream asks for a Renew or Check first.
type (
	// Open opens a session. A Stream or Local session is attached to the sink of
	// Event.Call. The answer is an *Opened.
	Open struct {
		Kind   Kind
		TTL    time.Duration // wanted; 0 means the default
		Client string        // who this is, for people
		// Identity is the client's identity, as the edge has found out and not as the client
		// says. The session is that identity's alone: a caller that has its secret and
		// another identity is refused with ErrForeign. Empty means that the secret is all
		// that counts.
		Identity string
		// Number is drawn by a Stream's client, to distinguish it from others that resume the session. 0 is none. A
		// OneShot with a number outlasts its locks: it ends when its client ends it, or is silent for its TTL.
		Number uint64
	}
	// Opened answers Open. Err is an ErrLimit when there are too many sessions, and an
	// ErrUnavailable while this member can promise nothing: it is in no view, has lost
	// its lease, or leaves. Then another member may.
	Opened struct {
		ID     lock.SessionID
		Secret Secret
		TTL    time.Duration // from the sending of the request; 0 for Local
		Cut    Cut           // why TTL is shorter than was wanted
		// Generation is the client's place among those that use the session: 1, or 0 where it has no number.
		Generation uint64
		Err        error
	}

	// Resume attaches a Stream session to the sink of Event.Call, in place of any
	// other. The decisions about grants that it must stop using come first; then a *Renewed,
	// with what it has lost in Lost. What else was decided meanwhile is not
	// repeated: the client repeats its unanswered requests. Where the session cannot be
	// renewed now, the TTL answered is what remains of its old deadline. A Resume by another client than the one
	// that the session is attached to takes the session over: see the package's comment.
	Resume struct {
		ID       lock.SessionID
		Secret   Secret
		Identity string
		TTL      time.Duration // wanted; 0 means as before

		// Requests are those of its client's that are not settled: held, waited for, or
		// being given up. Those that wait are asked for again before the first Renew.
		Requests []uint64
		// Last is the latest id that the client had given. All that the session has under
		// an id up to it that is not among Requests is ended: it was granted to a request
		// that its client had settled. 0 ends nothing. A Resume may be late: it says
		// nothing about requests that came after it was sent.
		Last uint64

		// Number and Generation say which client this is: the number that it has drawn, and the generation that it was
		// answered for this session, 0 before the first answer. A Number of 0 is that of a client which draws none: it goes
		// on as whichever client the session is attached to.
		Number, Generation uint64
	}

	// Detach says that the sink of Event.Call is gone. Its sessions live on until
	// their TTL is over; a Local one ends. There is no answer.
	Detach struct{}

	// Renew renews a session. The ttl answered counts from Arrived, when the request
	// that it answers reached this member (0 means now). The answer is a *Renewed. Of a session that has used
	// lasting spaces it comes when they have confirmed it, and not while one of them cannot.
	Renew struct {
		ID       lock.SessionID
		Secret   Secret
		Proven   bool // the edge holds the session by a stream: no secret needed
		Identity string
		TTL      time.Duration // wanted; 0 means as before
		Arrived  protocol.Time

		resumed bool          // for a Resume
		beaten  bool          // the lasting spaces where the session is enrolled keep it
		heard   protocol.Time // since when they do
	}
	// Renewed answers Renew and Resume. Err is ErrUnknown when the session has ended
	// or the secret is wrong, ErrForeign when it is another one's, ErrTakenOver when a later client has taken it over,
	// a holdfast.Loss when all that the session held was taken
	// from it, and an ErrUnavailable when nothing more may be promised now. In the last
	// two cases it is not renewed, and goes on to the deadline that it had.
	Renewed struct {
		TTL  time.Duration
		Cut  Cut    // why TTL is shorter than was wanted
		Lost []Lost // what the session has lost since its client could last be reached
		// Taken says that the session was taken over from another member, or from another life of this one. What it
		// held in spaces that do not outlast their member, this answer does not keep: its client must not
		// believe in it beyond what it was promised there.
		Taken bool
		// Generation answers a Resume: the client's place among those that have used the session, to be given with its next
		// Resume. 0 where the session is attached to no client with a number.
		Generation uint64
		// Takes answers a Check: a Resume by that client takes the session over from another one.
		Takes bool
		Err   error
	}

	// Check asks whether a session is alive and its secret right. It renews nothing. As any other request that proves
	// whose it is, it takes a session over that lasting spaces have and this member does not.
	// The answer is a *Renewed with TTL 0. Number and Generation are as of the Resume that is to follow; 0 where none is.
	Check struct {
		ID                 lock.SessionID
		Secret             Secret
		Identity           string
		Number, Generation uint64
	}

	// End ends a session: its holds are released and its waits are cancelled, in all
	// spaces. The answer is an *Ended.
	End struct {
		ID       lock.SessionID
		Secret   Secret
		Identity string
		Proven   bool
	}
	// Ended answers End.
	Ended struct {
		Released []Lost // with Decision.Kind Released; without what lasting spaces are about to release
		Err      error
	}

	// Count asks how many sessions there are besides those of the member's own process.
	// The answer is a *Counted.
	Count struct{}
	// Counted answers Count.
	Counted struct {
		Sessions   int
		LongestTTL time.Duration // that a session is given
	}

	// Drain asks for no new sessions and requests. A client's session that holds nothing
	// ends, and so does each other one when it has given up what it holds. The answer is
	// a *Drained, when nothing is held through this member any more.
	Drain struct{}
	// Drained answers Drain.
	Drained struct{}

	// LeaveNow leaves without waiting for the clients that hold something: it revokes their
	// grants, which they may use until their deadlines. The answer is a *membership.Left.
	LeaveNow struct{}

	// Expired is sent unasked (Op 0) to the sink of a session that has ended other than
	// at its client's request, after the decisions about what it held. Err is the reason,
	// or nil if it was not renewed in time.
	Expired struct {
		ID  lock.SessionID
		Err error
	}

	// Dismissed is sent unasked (Op 0) to the sink of a session that this member no longer serves, after the decisions about
	// what it held in spaces that do not last. In lasting ones it keeps what it had: its client goes on with it at another
	// member, or at this one later. What is read at the sink from now on has no answer. Err is the reason.
	Dismissed struct {
		ID  lock.SessionID
		Err error
	}

	// Superseded is sent unasked (Op 0) to the sink of a session that another sink
	// has resumed. It is the last message there.
	Superseded struct{ ID lock.SessionID }

	// TakenOver is sent unasked (Op 0) to the sink of a session that another client has taken over, by a Resume here or at
	// another member. It is the last message there, and what is read there has no effect. The later client has what the
	// earlier one held.
	TakenOver struct{ ID lock.SessionID }

	// Number asks for the ids of so many requests that do not come over their session's stream, of a session that was
	// renewed or opened just now. The answer is a *Numbered.
	Number struct {
		ID    lock.SessionID
		Count int // 1 to MostNumbered
	}
	// Numbered answers Number: the first of ids that follow one another, or 0 where the session has ended.
	Numbered struct{ First uint64 }

	// Who asks what is known of a session, for listings. The answer is a *Known.
	Who struct{ ID lock.SessionID }
	// Known answers Who; Client is "" for an unknown session.
	Known struct {
		Client string
		Until  protocol.Time // when this member takes it for expired; Never if it does not expire
	}
)

// SingleCall is [lock.SingleCall].
const SingleCall = lock.SingleCall

// The ids of such requests are SingleCall, a prefix that is drawn for each session and each life of a member, and a count. So
// what becomes of them is remembered as few ranges, however many there were and through whichever members they came
// (package lock/replica).
const (
	countBits = 24
	// MostNumbered is how many ids may be asked for at once.
	MostNumbered = 1 << 20
)

// Lost is a decision with the port of its space.
type Lost struct {
	Port     protocol.Port
	Decision lock.Decision
}

// Vocabulary lists one value of each type that a session machine is asked and answers. A package that writes such
// values down, or reads them, needs to know of no others.
func Vocabulary() []any {
	return []any{
		&Open{}, &Resume{}, &Detach{}, &Renew{}, &Check{}, &End{}, &Count{}, &Drain{}, &LeaveNow{}, &Number{}, &Who{},
		&Opened{}, &Renewed{}, &Ended{}, &Counted{}, &Drained{}, &Expired{}, &Dismissed{}, &Superseded{}, &TakenOver{}, &Numbered{}, &Known{},
	}
}
