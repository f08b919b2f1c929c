package protocol

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// What users may ask of a lockspace of any protocol. An Event of kind Call
// has a pointer to one of these, or a *[lock.Request], as its Fact; the pointer is
// the machine's until Step returns.
//
// An immediate answer goes to Event.Call. What becomes of a request later (it was
// Queued and is Granted; it was Granted and is Lost) is decided for its session:
// Effects.Decide with the zero CallID, and package session knows where the session
// can be reached.
type (
	// Release gives up a hold. Request is the id under which it was acquired; 0
	// means the latest one under Token. The answer is a Released decision once the
	// authority has taken it, or Refused with ErrNotHeld.
	Release struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token // 0: whichever token Request has
		Request uint64
		Awaited bool // a call waits for the answer: it is given as soon as it can be
	}

	// Cancel ends a request for good: waiting, it leaves the queue; granted
	// meanwhile, it is released. The answer is always Released.
	Cancel struct {
		Session lock.SessionID
		Name    string
		Request uint64
	}

	// Extend replaces the hold limit of a grant; 0 removes it. It counts from when
	// the caller sent this. The answer is Granted, or Refused with ErrNotHeld.
	Extend struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token
		Request uint64
		Hold    time.Duration
	}

	// EndSession ends all that a session holds or waits for. Why is "" when its
	// client ended it: then each hold is Released; otherwise it is Lost. There is no
	// answer but those decisions.
	EndSession struct {
		Session lock.SessionID
		Why     holdfast.Loss
		// Idle is asked of a lasting space alone: the session ends unless it holds or waits for something when that is decided,
		// which it may do through another member. Either way this one serves it no longer.
		Idle bool
		// Attached is the client that ends the session, if it uses it over a stream. A lasting space that knows of a later one
		// leaves the session to that. The zero value is any other client, or of any other reason.
		Attached lock.Attachment
	}

	// Enroll tells a lasting space, one whose locks and sessions outlast the member that they came through (protocol
	// consensus), who a session is, before its first request there: the space keeps that next to the locks, so
	// that another member can take the session over. What ends a session by time is the space's own then, and
	// a tenure that ends takes nothing from it. There is no answer. Repeated, it does nothing.
	Enroll struct {
		Session lock.SessionID
		// TTL is for how long the session lives after a Beat at least. Its client believes no longer than
		// that after it has sent what was acknowledged. Required.
		TTL time.Duration
		// Proof is the SHA-256 of the secret that makes the session its client's.
		Proof    [32]byte
		Client   string // for people
		Identity string // who the client is, as the edge has found out
		// Own says that the session lives as long as this member's process: the space beats for it by
		// itself, and tells it what it has lost when the beats do not get through.
		Own bool
		// Attached is which client uses the session over a stream, as its member knows.
		Attached lock.Attachments
	}

	// Beat says that the client of a session was heard when this was stepped. The answer is a *Beaten, when
	// that counts: even if this member fails, the session lives for its TTL from then on. While no
	// authority is in charge there is none. A session that was not enrolled is answered at once.
	Beat struct {
		Session lock.SessionID
		// Attached is the client that was heard, over a stream. Where it is a later one than the space knows of, it has taken
		// the session over, and the space keeps that before it answers. The zero value is any other client, which changes
		// nothing.
		Attached lock.Attachments
	}
	// Beaten answers Beat. Err is SessionExpired where the session has ended: what it held was reported
	// lost, or is about to be. It is EndedByAnother where a later client has taken the session over, which is then the one
	// in Attached.
	Beaten struct {
		Err      error
		Attached lock.Attachments
	}

	// Attached answers no call, and goes to no sink: it comes when a client has taken over a session that is served here, through this
	// member or another one. From then on the clients before it are not renewed.
	Attached struct {
		Session lock.SessionID
		Now     lock.Attachments
	}

	// Adopt asks whether a session that another member has served, or this one before a restart, is alive,
	// and has this member serve it: from then on it hears here what becomes of its requests. The answer is an
	// *Adopted, as new as when this was asked. Behind it, before anything else, the session hears
	// what it may have missed: which of Requests have been lost, and which are revoked.
	Adopt struct {
		Session  lock.SessionID
		Requests []uint64 // that its client has not settled
		// Last is the latest id that its client had given: what is granted under an id up to it that is not among Requests
		// is given back. 0 says nothing.
		Last uint64
	}
	// Adopted answers Adopt. Err is SessionExpired where the space does not have the session, and an ErrUnavailable
	// where no member could say. The caller judges whether the client that asks is the session's client.
	Adopted struct {
		Enrolled Enroll
		Err      error
	}

	// Dismiss says that this member does not serve a session any more: it hears nothing more here. What it
	// holds and waits for stays, until its TTL is over or another member adopts it. There is no answer.
	Dismiss struct{ Session lock.SessionID }

	// Revoke tells a session to stop using all that it holds in the space: each hold
	// gets a Revoked decision because of Why, and is ended by its release or by the
	// session's end. What the session waits for is Refused with ErrUnavailable. There is
	// no answer but those decisions.
	Revoke struct {
		Session lock.SessionID
		Why     holdfast.Loss
	}

	// Recall ends a request for a client of its session that is not the one that uses it; it is asked of a lasting space alone,
	// where that one may be served by another member. A hold that was asked for over a stream is Revoked because of
	// EndedByAnother, and ends as a grant that is broken does; any other hold is Released at once, and so is what waits. Request is
	// as of a Release, where what waits has token 0. The answer is Refused where there is none such or no member can say. Otherwise
	// it is Released when that has ended. Every member that serves the session hears what is Revoked.
	Recall struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token
		Request uint64
	}

	// CountHolds asks how much a session holds, reentries counted; it costs the same
	// however much that is, where ListRequests does not. The answer is a *Holds,
	// at once.
	CountHolds struct{ Session lock.SessionID }
	// Holds answers CountHolds.
	Holds struct{ Count int }

	// ListRequests asks for the requests of a session that hold or wait. The answer is a
	// *Requests, at once.
	ListRequests struct{ Session lock.SessionID }
	// Requests answers ListRequests, in the order of their ids.
	Requests struct{ List []RequestOf }
	// RequestOf names a request of a session.
	RequestOf struct {
		ID    uint64
		Name  string
		Token holdfast.Token // 0 while it waits
		// Inherited says, in a lasting space, that it was granted to a client before the one that uses the session now.
		Inherited bool
	}

	// Break takes a name from its holders (Token 0: all of them). The answer is a
	// *Broken. Each holder gets a Revoked decision.
	Break struct {
		Name   string
		Token  holdfast.Token
		Reason string
	}
	// Broken answers Break.
	Broken struct {
		Grants []lock.Grant
		Err    error // ErrNotHeld where no session holds the name under that token
	}

	// Show asks for one name in full. The answer is a *lock.Lock.
	Show struct {
		Name string
		// Stale allows an answer that may be old, from what this member knows. Otherwise it is as new as when it
		// was asked. It means something only where members have copies of the locks.
		Stale bool
	}

	// Scan asks for names that begin with Prefix and come after After in the order of their bytes: the first
	// of them, Limit at most. A suspension is none of them. The answer is a *Scanned.
	Scan struct {
		After  string // "" for the start
		Prefix string
		Limit  int
		Stale  bool // as of a Show
	}
	// Scanned answers Scan: names in the order of their bytes, of which there can be fewer than Limit, or none,
	// before the end. Next is the After of the next Scan; "" at the end. What a page costs depends on its length,
	// and not on how many names there are.
	Scanned struct {
		Locks []lock.Lock
		Next  string
	}

	// Copy asks for the state of one of the space's shards, where members have copies of it (protocol consensus). The
	// answer is a *Copied, as new as when it was asked, or an *Unanswered.
	Copy struct{ Shard int } // from 0 on
	// Copied answers Copy.
	Copied struct {
		Shards int // how many the space has
		Reign  uint64
		// Sessions, Holds and Waiters are how many there are in that shard.
		Sessions, Holds, Waiters int
		Parts                    [][]byte // the state, as package lock/replica writes it
	}

	// Transfer makes a member the space's authority, where the protocol hands that over
	// (Geode's becomeLockGrantor, for a member of one's choice). The answer is a
	// *Transferred, once that member serves or nothing more is known about it.
	Transfer struct{ To ID }
	// Transferred answers Transfer.
	Transferred struct {
		Authority []ID // who decides now, as far as is known here
		// Err is nil when To is the authority; ErrUnsupported where the protocol hands nothing
		// over; ErrConflict where To cannot be it, being no member of the view or having the
		// space closed, and where another member was made it meanwhile; ErrUnavailable where no
		// answer came in time.
		Err error
	}

	// Reform changes what a member is where members vote on what a space decides (protocol consensus), in all its
	// shards. Repeated, it does what is left to be done. The answer is a *Reformed, when all shards have it, and remember
	// it regardless of which member fails: a member that was made a Nonmember may be switched off then.
	Reform struct {
		Member ID
		As     Role
	}
	// Reformed answers Reform. Err is ErrUnsupported where no members vote, an ErrConflict where the member cannot be
	// made that, and an ErrUnavailable where no member could say in time: then it may still be done. A change that
	// some shards have made already stays made.
	Reformed struct{ Err error }

	// ListShards asks which members vote on what the space decides. The answer is a *Shards, at once, of what
	// this member knows: empty where no members vote.
	ListShards struct{}
	// Shards answers ListShards. Known has the members in it that were in some view, as this member has seen them last.
	// Err is an ErrUnavailable at a member that was removed from the space: List is who voted when it last heard then.
	Shards struct {
		List  []Shard
		Known []Member
		Err   error
	}

	// OpenSpace begins the space's instance at this member again, after a CloseSpace. Every
	// space is open at first. The answer is a *SpaceOpen, at once.
	OpenSpace struct{}
	// CloseSpace ends the space's instance at this member (Geode's destroy): what its
	// clients wait for is Refused with ErrUnavailable, what they hold Revoked because of
	// SpaceClosed, nothing new is taken, and an authority that is here is handed over. What
	// the space is, and what others have in it, does not change. The answer is a *SpaceOpen,
	// once nothing of this member's is left anywhere: while the end cannot reach an authority,
	// there is no answer.
	CloseSpace struct{}
	// SpaceOpen answers both. Err is ErrConflict for a CloseSpace after which the space was
	// opened again before it was closed, and a *LimitError for one that cannot hear of
	// the end, because too many wait for that: the space is being closed nevertheless.
	SpaceOpen struct {
		Open bool
		Err  error
	}

	// StepDown says that this member is about to leave the view, and asks whether it may as
	// far as the space is concerned: an authority that is here is handed over, and none is
	// taken any more. The answer is a *SteppedDown, at once; who wants to know when it is done
	// asks again. A machine that does not answer has nothing to hand over.
	StepDown struct{}
	// SteppedDown answers StepDown. Pending says that another member is about to become
	// the authority: a member that does not wait for that leaves it to recovery.
	SteppedDown struct{ Pending bool }

	// Unanswered answers a Show, a Scan or a Copy that no member could answer: Err is
	// ErrUnavailable, or a *LimitError where too many wait for their answer.
	Unanswered struct{ Err error }

	// Inspect asks how the space is. The answer is a *Condition. With Here it is what this member knows by itself, at
	// once, and no other member is asked.
	Inspect struct{ Here bool }
	// Condition answers Inspect.
	Condition struct {
		State     State
		Why       string // a sentence where State is not Ready, or it is and a suspension waits
		Until     Time   // when the state is expected to end, or Never
		Authority []ID   // the members that decide now; empty where none is in charge
		Reign     uint64
		Elder     ID     // the member that names the authority, where one does; 0 elsewhere
		Version   uint64 // which of the authorities of one reign it is, where there can be several; 0 elsewhere
		Transfers []Handover
		Closed    bool // the space's instance at this member is closed
		Class     holdfast.Class
		Locks     int // names held or wanted
		Waiters   int
		Sessions  int // sessions that hold or wait
		// Awaited says which member waits for whose reply, where members ask one another.
		Awaited []Awaited
		// Candidates says which member could be one of the leaders, where leaders are elected.
		Candidates []Candidate
	}
)

// Role is what a member is where members vote.
type Role uint8

// The roles of a member.
const (
	Nonmember Role = iota // it has no part
	Learner               // it has all that was decided, and no vote
	Voter
)

var roleNames = [...]string{"none", "learner", "voter"}

// String returns the name that every format uses.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// ParseRole reads what String returns.
func ParseRole(text string) (Role, error) {
	if i := slices.Index(roleNames[:], text); i >= 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("%.40q is no role of a member: want voter, learner or none", text)
}

// Shard is a part of a space's names, on which a group of members votes.
type Shard struct {
	Leader           ID // 0 where no leader is known
	Voters, Learners []ID
}

// Refusal is the error for what a revoked session waits for.
func (r *Revoke) Refusal() error {
	return &lock.Unavailable{Why: "this member is leaving; another may serve"}
}

// Awaited is how many requests of a member wait for another member's reply.
type Awaited struct {
	Member, Reply ID
	Requests      int
}

// Candidate is a member as one of those who can be made leaders.
type Candidate struct {
	Member   ID
	Priority int  // 1 is the most eligible; 0 is elected
	Eligible bool // it could be elected
	Why      string
}

// Handover is an authority that is being handed over.
type Handover struct {
	From, To ID
	Since    Time // by the clock of the member that reads it
}

// After returns a copy with its times later by a duration.
func (c *Condition) After(by Time) Condition {
	later := *c
	later.Until, later.Transfers = at(c.Until, by), slices.Clone(c.Transfers)
	for i := range later.Transfers {
		later.Transfers[i].Since = at(later.Transfers[i].Since, by)
	}
	return later
}

// at moves a time by a duration: Never stays.
func at(t, by Time) Time {
	if t == Never {
		return t
	}
	return t + by
}

// State says whether a space can grant.
type State uint8

// The states of a space.
const (
	Unavailable  State = iota // no authority in charge
	Recovering                // an authority waits for what an earlier one may have promised
	Transferring              // the authority is being handed over
	Suspended                 // an operator has stopped new grants
	Ready
)

var stateNames = [...]string{"unavailable", "recovering", "transferring", "suspended", "ready"}

// String returns the name that every format uses.
func (s State) String() string { return stateNames[s] }

// Serving notes that a space has begun to grant.
type Serving struct{ Reign uint64 }

func (n Serving) String() string { return fmt.Sprintf("serving reign %d", n.Reign) }

// Broke notes what an operator took from its holders, and why.
type Broke struct {
	Name   string
	Token  holdfast.Token // 0 where all holders must stop
	Reason string
}

func (n Broke) String() string {
	return fmt.Sprintf("broke %q token=%v: %s", n.Name, n.Token, n.Reason)
}

// Log says what was broken.
func (n Broke) Log(func(ID) string) (Severity, string, []any) {
	what := "a lock was broken by an operator"
	if n.Name == lock.SpaceLock {
		what = "a suspension was ended by an operator"
	}
	return Warn, what, []any{"name", n.Name, "token", n.Token, "reason", n.Reason}
}

// Vocabulary lists one value of each type that any space is asked, answers and raises. A package that writes such
// values down, or reads them, needs to know of no others.
func Vocabulary() []any {
	return []any{
		&lock.Request{}, &Release{}, &Cancel{}, &Extend{}, &EndSession{}, &Enroll{}, &Beat{}, &Adopt{}, &Dismiss{}, &Revoke{}, &Recall{}, &CountHolds{}, &ListRequests{},
		&Break{}, &Show{}, &Scan{}, &Copy{}, &Inspect{}, &Transfer{}, &Reform{}, &ListShards{}, &OpenSpace{}, &CloseSpace{}, &StepDown{},
		&Beaten{}, &Attached{}, &Adopted{}, &Holds{}, &Requests{}, &Broken{}, &lock.Lock{}, &Scanned{}, &Copied{}, &Unanswered{}, &Condition{}, &Transferred{}, &Reformed{}, &Shards{}, &SpaceOpen{}, &SteppedDown{},
		&View{}, &Lapsed{}, &Halted{}, &Confirmed{}, &Horizon{}, &SpaceState{}, Hint{},
	}
}

// What an unanswered Break may have done, behind why it was not answered.
const (
	NothingBroken = "; nothing was broken"
	MaybeBroken   = "; the break may have been executed nevertheless: " + LookFirst
	LookFirst     = "look who holds the lock before it is broken again"
)
