package protocol

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// The requests that users may make of a lockspace of any protocol. An Event of kind Call has a pointer to one of these,
// or a *[lock.Request], as its Fact; the pointer is the machine's until Step returns.
//
// An immediate answer goes to Event.Call. A later outcome of a request (it was Queued and is Granted; it was Granted
// and is Lost) goes to its session: Effects.Decide with the zero CallID, and package session knows the session's
// destination.
type (
	// Release releases a hold. Request is the id under which it was acquired; 0 means the latest one under Token. The
	// answer is a Released decision once the authority has accepted it, or Refused with ErrNotHeld.
	Release struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token // 0: any token of Request
		Request uint64
		Awaited bool // a call waits for the answer: send it as early as possible
	}

	// Cancel ends a request permanently: a waiting one leaves the queue; one granted in the meantime is released. The
	// answer is always Released.
	Cancel struct {
		Session lock.SessionID
		Name    string
		Request uint64
	}

	// Extend replaces the hold limit of a grant; 0 removes it. The limit counts from when the caller sent this. The
	// answer is Granted, or Refused with ErrNotHeld.
	Extend struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token
		Request uint64
		Hold    time.Duration
	}

	// Amend amends the grant that a request holds. The answer is Amended, with the revision in force, once the
	// authority has it, or Refused with ErrNotHeld or with why the grant ends. Repeated it does no harm.
	Amend struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token
		Request uint64
		lock.Amendment
	}

	// EndSession ends all holds and waits of a session. Why is "" if its client ended it: then each hold is Released;
	// otherwise it is Lost. Those decisions are the only answer.
	EndSession struct {
		Session lock.SessionID
		Why     holdfast.Loss
		// Idle is for lasting spaces only: the session ends unless it holds or waits for something when that is
		// decided, which it may do through another member. Either way this member no longer serves it.
		Idle bool
		// Attached is the client that ends the session, if it uses it over a stream. A lasting space that knows of a
		// later client leaves the session to that one. The zero value is any other client or reason.
		Attached lock.Attachment
	}

	// Enroll introduces a session to a lasting space, one whose locks and sessions outlast the member that they came
	// through (protocol consensus), before its first request there. The space keeps that information next to the locks,
	// so that another member can take over the session. The space itself then ends the session by time, and the end of
	// a tenure has no effect on it. There is no answer. A repetition does nothing.
	Enroll struct {
		Session lock.SessionID
		// TTL is the minimum time that the session lives after a Beat. Its client's belief ends that long after it sent
		// the latest acknowledged message. Required.
		TTL time.Duration
		// Proof is the SHA-256 of the secret that proves the client's ownership of the session.
		Proof    [32]byte
		Client   string // for display
		Identity string // the client's identity, as determined by the edge
		// Own means that the session lives as long as this member's process: the space sends the beats itself, and
		// reports losses to the session if the beats fail.
		Own bool
		// Attached is the client that uses the session over a stream, as known to its member.
		Attached lock.Attachments
		// Tied means that the client may use spaces that end with this member. In an answer: with some member.
		Tied bool
	}

	// Beat reports that the client of a session was heard at the time of this step. The answer is a *Beaten once the
	// beat counts: even if this member fails, the session lives for its TTL from then on. While no authority is in
	// charge there is no answer. For a session that was not enrolled the answer is immediate.
	Beat struct {
		Session lock.SessionID
		// Attached is the client that was heard, over a stream. If it is a later one than the space knows, it has taken
		// over the session, and the space records that before it answers. The zero value is any other client, which
		// changes nothing.
		Attached lock.Attachments
		// Tied asks to tie the session to this member: from then on its client may use spaces that end with this member,
		// and it ends with it. The space records that before it answers. Of several members that ask one succeeds; the
		// others get an error.
		Tied bool
	}
	// Beaten answers Beat. Err is SessionExpired if the session has ended: its holds were reported lost, or are about
	// to be. It is EndedByAnother if a later client has taken over the session, which is then the one in Attached.
	Beaten struct {
		Err      error
		Attached lock.Attachments
	}

	// Attached answers no call, and goes to no sink: it reports that a client has taken over a session served here,
	// through this member or another one. From then on the earlier clients are not renewed.
	Attached struct {
		Session lock.SessionID
		Now     lock.Attachments
	}

	// Adopt asks whether a session that another member has served, or this one before a restart, is alive, and makes
	// this member serve it: from then on the outcomes of its requests arrive here. The answer is an *Adopted, as new as
	// the question. After it, before anything else, the session receives what it may have missed: which of Requests
	// have been lost, and which are revoked.
	Adopt struct {
		Session  lock.SessionID
		Requests []uint64 // not settled by its client
		// Last is the latest id that its client had assigned: a grant under an id up to it that is not among Requests
		// is returned. 0 means unknown.
		Last uint64
	}
	// Adopted answers Adopt. Err is SessionExpired if the space does not have the session, and an ErrUnavailable if no
	// member could say. The caller verifies that the calling client owns the session.
	Adopted struct {
		Enrolled Enroll
		Err      error
	}

	// Dismiss ends this member's service of a session, which receives nothing more here. Its holds and waits stay,
	// until its TTL has passed or another member adopts it. There is no answer.
	Dismiss struct{ Session lock.SessionID }

	// Revoke makes a session stop using all its holds in the space: each hold gets a Revoked decision with Why, and
	// ends by its release or with the session. The session's waits are Refused with ErrUnavailable. Those decisions are
	// the only answer.
	Revoke struct {
		Session lock.SessionID
		Why     holdfast.Loss
	}

	// Recall ends a request on behalf of a client of its session other than the one that uses it. It is for lasting
	// spaces only, where another member may serve the using client. A hold that was requested over a stream is Revoked
	// with EndedByAnother, and ends as a broken grant does; any other hold is Released at once, and so is a wait.
	// Request is as in a Release; for a wait the token is 0. The answer is Refused if there is no such request or no
	// member can say. Otherwise it is Released when the request has ended. Every member that serves the session
	// receives the Revoked.
	Recall struct {
		Session lock.SessionID
		Name    string
		Token   holdfast.Token
		Request uint64
	}

	// CountHolds asks for the number of a session's holds, reentries counted; its cost is constant, unlike that of
	// ListRequests. The answer is an immediate *Holds.
	CountHolds struct{ Session lock.SessionID }
	// Holds answers CountHolds.
	Holds struct{ Count int }

	// ListRequests asks for a session's requests that hold or wait. The answer is an immediate *Requests.
	ListRequests struct{ Session lock.SessionID }
	// Requests answers ListRequests, in the order of their ids.
	Requests struct{ List []RequestOf }
	// RequestOf is a request of a session.
	RequestOf struct {
		ID    uint64
		Name  string
		Token holdfast.Token // 0 while it waits
		// Inherited reports, in a lasting space, that it was granted to an earlier client than the session's current
		// one.
		Inherited bool
	}

	// Break takes a name from its holders (Token 0: all of them). The answer is a *Broken. Each holder gets a Revoked
	// decision.
	Break struct {
		Name   string
		Token  holdfast.Token
		Reason string
	}
	// Broken answers Break.
	Broken struct {
		Grants []lock.Grant
		Err    error // ErrNotHeld if no session holds the name under that token
	}

	// Show asks for the full state of one name. The answer is a *lock.Lock.
	Show struct {
		Name string
		// Stale allows an old answer, from this member's knowledge. Otherwise the answer is as new as the question. It
		// matters only if members have copies of the locks.
		Stale bool
	}

	// Scan asks for names that begin with Prefix and come after After in byte order: the first ones, at most Limit. It
	// excludes suspensions. The answer is a *Scanned.
	Scan struct {
		After  string // "" for the start
		Prefix string
		Limit  int
		Stale  bool // as in Show
	}
	// Scanned answers Scan: names in byte order, of which there can be fewer than Limit, or none, before the end. Next
	// is the After of the next Scan; "" at the end. The cost of a page depends on its length, not on the number of
	// names.
	Scanned struct {
		Locks []lock.Lock
		Next  string
	}

	// Copy asks for the state of one of the space's shards, if members have copies of it (protocol consensus). The
	// answer is a *Copied, as new as the question, or an *Unanswered.
	Copy struct{ Shard int } // from 0
	// Copied answers Copy.
	Copied struct {
		Shards int // the space's number of shards
		Reign  uint64
		// Sessions, Holds and Waiters are their numbers in that shard.
		Sessions, Holds, Waiters int
		Parts                    [][]byte // the state, as written by package lock/replica
	}

	// Transfer makes a member the space's authority, if the protocol supports that (Geode's becomeLockGrantor, for any
	// member). The answer is a *Transferred, once that member serves or its state is unknown.
	Transfer struct{ To ID }
	// Transferred answers Transfer.
	Transferred struct {
		Authority []ID // the current authority, as far as known here
		// Err is nil if To is the authority; ErrUnsupported if the protocol does not transfer authority; ErrConflict if
		// To cannot be it, because it is not a member of the view or has the space closed, or if another member became
		// it in the meantime; ErrUnavailable if no answer came in time.
		Err error
	}

	// Reform changes a member's role in a space whose members vote (protocol consensus), in all its shards. A
	// repetition does the remaining steps. The answer is a *Reformed, once all shards have the change and remember it
	// no matter which member fails: a member that became a Nonmember may be switched off then.
	Reform struct {
		Member ID
		As     Role
	}
	// Reformed answers Reform. Err is ErrUnsupported if no members vote, an ErrConflict if the member cannot have that
	// role, and an ErrUnavailable if no member could say in time: then the change may still happen. A change that some
	// shards have made stays.
	Reformed struct{ Err error }

	// ListShards asks which members vote in the space. The answer is an immediate *Shards, with this member's
	// knowledge: empty if no members vote.
	ListShards struct{}
	// Shards answers ListShards. Known has those of its members that were in some view, as this member has last seen
	// them. Err is an ErrUnavailable at a member that was removed from the space: List then has the voters at its last
	// news.
	Shards struct {
		List  []Shard
		Known []Member
		Err   error
	}

	// OpenSpace restarts the space's instance at this member, after a CloseSpace. Every space is open at first. The
	// answer is an immediate *SpaceOpen.
	OpenSpace struct{}
	// CloseSpace ends the space's instance at this member (Geode's destroy): its clients' waits are Refused with
	// ErrUnavailable, their holds Revoked with SpaceClosed, nothing new is accepted, and an authority here is
	// transferred. The space itself, and other members' locks in it, do not change. The answer is a *SpaceOpen, once
	// nothing of this member's is left anywhere: while the end cannot reach an authority, there is no answer.
	CloseSpace struct{}
	// SpaceOpen answers both. Err is ErrConflict for a CloseSpace if the space was reopened before it was closed, and a
	// *LimitError for one that cannot wait for the end, because too many already wait: the space closes nevertheless.
	SpaceOpen struct {
		Open bool
		Err  error
	}

	// StepDown announces that this member is about to leave the view, and asks whether it may do so for this space: an
	// authority here is transferred, and no authority is accepted any more. The answer is an immediate *SteppedDown; to
	// wait for the transfer, the caller repeats the question. A machine that does not answer has nothing to transfer.
	StepDown struct{}
	// SteppedDown answers StepDown. Pending reports that another member is about to become the authority: a member that
	// does not wait for that leaves it to recovery.
	SteppedDown struct{ Pending bool }

	// Unanswered answers a Show, a Scan or a Copy that no member could answer: Err is ErrUnavailable, or a *LimitError
	// if too many calls wait for their answer.
	Unanswered struct{ Err error }

	// Inspect asks for the space's condition. The answer is a *Condition. With Here it is immediate, from this member's
	// own knowledge.
	Inspect struct{ Here bool }
	// Condition answers Inspect.
	Condition struct {
		State     State
		Why       string // a sentence if State is not Ready, or if it is and a suspension waits
		Until     Time   // when the state is expected to end, or Never
		Authority []ID   // the members that decide now; empty if none is in charge
		Reign     uint64
		Elder     ID     // the member that names the authority, if there is one; else 0
		Version   uint64 // distinguishes authorities of one reign, if there can be several; else 0
		Transfers []Handover
		Closed    bool // the space's instance at this member is closed
		Class     holdfast.Class
		Locks     int // names held or waited for
		Waiters   int
		Sessions  int // sessions that hold or wait
		// Awaited lists which members wait for whose replies, if members ask one another.
		Awaited []Awaited
		// Candidates lists the members that could be leaders, if leaders are elected.
		Candidates []Candidate
	}
)

// Role is a member's role in a space whose members vote.
type Role uint8

// The roles of a member.
const (
	Nonmember Role = iota // no role
	Learner               // has all decisions, and no vote
	Voter
)

var roleNames = [...]string{"none", "learner", "voter"}

// String returns the role's name, the same in every format.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// ParseRole parses a name returned by String.
func ParseRole(text string) (Role, error) {
	if i := slices.Index(roleNames[:], text); i >= 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("%.40q is no role of a member: want voter, learner or none", text)
}

// Shard is a part of a space's names, with the group of members that votes on it.
type Shard struct {
	Leader           ID // 0 if no leader is known
	Voters, Learners []ID
}

// Refusal returns the error for a revoked session's waiting requests.
func (r *Revoke) Refusal() error {
	return &lock.Unavailable{Why: "this member is leaving; another may serve"}
}

// Awaited is the number of a member's requests that wait for another member's reply.
type Awaited struct {
	Member, Reply ID
	Requests      int
}

// Candidate is a member's standing as a possible leader.
type Candidate struct {
	Member   ID
	Priority int  // 1 is the most eligible; 0 is elected
	Eligible bool // it could be elected
	Why      string
}

// Handover is a transfer of authority in progress.
type Handover struct {
	From, To ID
	Since    Time // by the clock of the member that reads it
}

// After returns a copy with its times moved by a duration.
func (c *Condition) After(by Time) Condition {
	later := *c
	later.Until, later.Transfers = at(c.Until, by), slices.Clone(c.Transfers)
	for i := range later.Transfers {
		later.Transfers[i].Since = at(later.Transfers[i].Since, by)
	}
	return later
}

// at moves a time by a duration; Never stays.
func at(t, by Time) Time {
	if t == Never {
		return t
	}
	return t + by
}

// State is whether a space can grant.
type State uint8

// The states of a space.
const (
	Unavailable  State = iota // no authority in charge
	Recovering                // an authority waits until an earlier one's promises have expired
	Transferring              // the authority is being transferred
	Suspended                 // an operator has stopped new grants
	Ready
)

var stateNames = [...]string{"unavailable", "recovering", "transferring", "suspended", "ready"}

// String returns the state's name, the same in every format.
func (s State) String() string { return stateNames[s] }

// Serving notes that a space has started to grant.
type Serving struct{ Reign uint64 }

func (n Serving) String() string { return fmt.Sprintf("serving reign %d", n.Reign) }

// Broke notes which name an operator took from its holders, and why.
type Broke struct {
	Name   string
	Token  holdfast.Token // 0 if all holders must stop
	Reason string
}

func (n Broke) String() string {
	return fmt.Sprintf("broke %q token=%v: %s", n.Name, n.Token, n.Reason)
}

// Log describes the broken lock.
func (n Broke) Log(func(ID) string) (Severity, string, []any) {
	what := "a lock was broken by an operator"
	if n.Name == lock.SpaceLock {
		what = "a suspension was ended by an operator"
	}
	return Warn, what, []any{"name", n.Name, "token", n.Token, "reason", n.Reason}
}

// Refused returns the refusal of an amendment.
func (a *Amend) Refused(err error) lock.Decision {
	return lock.Decision{
		Kind: lock.Refused, Session: a.Session, Request: a.Request, Name: a.Name, Token: a.Token, Revision: a.Revision, Err: err,
	}
}

// ErrFollowed refuses an amendment that a later one has replaced before others could read it. It is an ErrConflict.
var ErrFollowed = fmt.Errorf("%w: another value has followed this one", holdfast.ErrConflict)

// Vocabulary returns one value of each type that a space receives, answers and raises. A package that records such
// values, or reads them, needs no others.
func Vocabulary() []any {
	return []any{
		&lock.Request{}, &Release{}, &Cancel{}, &Extend{}, &Amend{}, &EndSession{}, &Enroll{}, &Beat{}, &Adopt{}, &Dismiss{}, &Revoke{}, &Recall{}, &CountHolds{}, &ListRequests{},
		&Break{}, &Show{}, &Scan{}, &Copy{}, &Inspect{}, &Transfer{}, &Reform{}, &ListShards{}, &OpenSpace{}, &CloseSpace{}, &StepDown{},
		&Beaten{}, &Attached{}, &Adopted{}, &Holds{}, &Requests{}, &Broken{}, &lock.Lock{}, &Scanned{}, &Copied{}, &Unanswered{}, &Condition{}, &Transferred{}, &Reformed{}, &Shards{}, &SpaceOpen{}, &SteppedDown{},
		&View{}, &Lapsed{}, &Halted{}, &Confirmed{}, &Horizon{}, &SpaceState{}, Hint{},
	}
}

// The possible effect of an unanswered Break, appended to the reason.
const (
	NothingBroken = "; nothing was broken"
	MaybeBroken   = "; the break may have been executed nevertheless: " + LookFirst
	LookFirst     = "look who holds the lock before it is broken again"
)
