package api

import (
	"github.com/holdfast-locks/holdfast"
)

// Acquired is a lock that was granted to a session of its own or to the one that
// the request named.
type Acquired struct {
	Space   string         `json:"space"`
	Name    string         `json:"name"`
	Mode    holdfast.Mode  `json:"mode"`
	Units   int            `json:"units"` // 0 unless the mode is slots
	Owner   string         `json:"owner"`
	Token   holdfast.Token `json:"token"`
	Since   Time           `json:"since"`
	Until   Time           `json:"until,omitzero"`   // for people; left out where nothing ends it
	TTL     Duration       `json:"ttl"`              // counts from when the request was sent
	TTLCut  string         `json:"ttl_cut,omitzero"` // why it is shorter than was asked for
	Session string         `json:"session"`          // id.secret
	Class   holdfast.Class `json:"class"`
}

// AcquiredAll answers a request for several names: all were granted, in the order
// of the names.
type AcquiredAll struct {
	Locks   List[Acquired] `json:"locks"`
	Session string         `json:"session"` // id.secret
}

// Released says that the authority has taken the release of a lock.
type Released struct {
	Space    string         `json:"space"`
	Name     string         `json:"name"`
	Token    holdfast.Token `json:"token"`
	Released bool           `json:"released"` // always true
}

// Renewed says how long a session lives on.
type Renewed struct {
	Session string   `json:"session"`          // id
	TTL     Duration `json:"ttl"`              // counts from when the request was sent
	TTLCut  string   `json:"ttl_cut,omitzero"` // why it is shorter than was asked for
	Until   Time     `json:"until"`            // for people
}

// SessionReleased lists what a session held when it was ended.
type SessionReleased struct {
	Released List[Released] `json:"released"`
}

// Lock is one name in full. A free name has no holders, and no token.
type Lock struct {
	Space    string         `json:"space"`
	Name     string         `json:"name"`
	Mode     holdfast.Mode  `json:"mode"`     // of the holders or, without any, of the first waiter
	Units    int            `json:"units"`    // units held, in mode slots
	Capacity int            `json:"capacity"` // 0 unless the mode is slots
	Token    holdfast.Token `json:"token,omitzero"`
	Holders  List[Grant]    `json:"holders"` // in order of their tokens
	Waiters  List[Wait]     `json:"waiters"` // in order of the queue
	History  List[Grant]    `json:"history"` // ended grants, newest first
}

// Locks is one page of a listing. Next is what to give as after for the next
// page; "" at the end.
type Locks struct {
	Locks List[Lock] `json:"locks"`
	Next  string     `json:"next"`
}

// Grant is one holder of a name.
type Grant struct {
	Owner   string         `json:"owner"`
	Session string         `json:"session"` // id
	Member  string         `json:"member"`
	Client  string         `json:"client"`
	Mode    holdfast.Mode  `json:"mode"`
	Units   int            `json:"units"`
	Token   holdfast.Token `json:"token"`
	Since   Time           `json:"since"`
	Until   Time           `json:"until,omitzero"` // when it ends if its session is not renewed; in its grace, when that ends; in a history, when it ended
	Reason  string         `json:"reason"`
	Grace   bool           `json:"grace,omitempty"` // its hold limit has ended it, and the name stays taken so that its holder can stop
}

// Wait is one request in the queue of a name.
type Wait struct {
	Owner    string        `json:"owner"`
	Session  string        `json:"session"` // id
	Member   string        `json:"member"`
	Client   string        `json:"client"`
	Mode     holdfast.Mode `json:"mode"`
	Units    int           `json:"units"`
	Since    Time          `json:"since"`
	Until    Time          `json:"until,omitzero"` // of its wait limit
	Position int           `json:"position"`       // how many wait before it
	Reason   string        `json:"reason"`
	For      List[string]  `json:"for,omitzero"` // members whose permission it waits for, where it has asked members
}

// Broken lists the grants that an operator has broken.
type Broken struct {
	Broken List[Grant] `json:"broken"`
}

// Suspended says whether a space has stopped granting by order.
type Suspended struct {
	Space      string `json:"space"`
	Suspended  bool   `json:"suspended"`
	Changed    bool   `json:"changed"`              // it was not so before
	Suspension *Grant `json:"suspension,omitempty"` // who has suspended it and why: now or, when it was resumed, until then
}

// Transferred says who decides in a space after its authority was handed over.
type Transferred struct {
	Space     string       `json:"space"`
	Authority List[string] `json:"authority"` // names of members
}

// Shards says who takes part in a space whose members vote, as one member knows it.
type Shards struct {
	Space  string      `json:"space"`
	Shards List[Shard] `json:"shards"` // none where no member votes
}

// Shard is who takes part in a shard: names of members or, of those that are unknown to who was asked, ids.
type Shard struct {
	Shard    int          `json:"shard"`  // its number, from 0 on
	Leader   string       `json:"leader"` // "" where no leader is known
	Voters   List[string] `json:"voters"`
	Learners List[string] `json:"learners"` // have all that was decided, and no vote
}

// Opened says whether the instance of a space at the member that was asked is open.
type Opened struct {
	Space string `json:"space"`
	Open  bool   `json:"open"`
}

// Status is a member's view of the cluster and of its spaces.
type Status struct {
	Version  string              `json:"version"`
	Cluster  string              `json:"cluster"`
	Member   Member              `json:"member"` // who answers
	View     View                `json:"view"`
	Expected int                 `json:"expected"` // how many members vote, missing ones included
	Missing  List[MissingMember] `json:"missing"`  // those of them that are not in the view
	Spaces   List[Space]         `json:"spaces"`   // default first, then by name
	Disk     *Disk               `json:"disk,omitempty"`
	// Unwritten is there where the state of the member that answers could not be written for a lease or
	// longer.
	Unwritten *Unwritten `json:"unwritten,omitempty"`
}

// Unwritten says since when a member's state could not be written, and why.
type Unwritten struct {
	Since Time   `json:"since"`
	Why   string `json:"why"`
}

// MissingMember is a voter that is not in the view, as the member that answers knows it. Name is
// empty where it has not been heard of since that member started.
type MissingMember struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Since   Time   `json:"since"` // when it left the view, was heard of last before the first one, or when the member that answers started
}

// Disk is that of the data folder of the member that answers; there is none where it keeps no space on the disk.
type Disk struct {
	Sync Duration `json:"sync"` // how long a small write took to be synced when the member started
}

// View is who is here.
type View struct {
	Number      uint64       `json:"number,string"`
	Coordinator string       `json:"coordinator"`      // a member's name; "" where no member coordinates
	Members     List[Member] `json:"members"`          // in order of seniority
	Why         string       `json:"why"`              // a sentence where this member has no part in a view that serves, or where its state cannot be written
	Forced      *ForcedView  `json:"forced,omitempty"` // the latest that an operator has forced through this member in its life
}

// Member is one member. State is one of normal, joining, recovering, leaving,
// suspected, and overloaded (of the member that was asked alone); Election one of down, election, reorganization and normal.
type Member struct {
	Name        string `json:"name"`
	ID          uint64 `json:"id,string"`
	Incarnation uint64 `json:"incarnation,string"`
	Voter       bool   `json:"voter"`   // it votes on who coordinates
	Founder     bool   `json:"founder"` // it is one of those that formed the cluster
	Address     string `json:"address"`
	HTTP        string `json:"http"`
	Since       Time   `json:"since"` // since when the member that answers has seen it in the view; of itself in none, since when it has been without a place
	State       string `json:"state"`
	Election    string `json:"election"`
}

// Space is one lockspace and how it is. State is one of ready, recovering,
// transferring, suspended and unavailable; Why is a sentence where it is not ready, or where
// a suspension waits.
type Space struct {
	Name      string         `json:"name"`
	Protocol  string         `json:"protocol"`
	Class     holdfast.Class `json:"class"`
	Partition string         `json:"partition"` // primary or any: one of the options
	Authority List[string]   `json:"authority"` // names of members; empty where no member is in charge
	Reign     uint64         `json:"reign,string"`
	State     string         `json:"state"`
	Why       string         `json:"why"`
	Until     Time           `json:"until,omitzero"` // when the state is expected to end
	Locks     int            `json:"locks"`
	Waiters   int            `json:"waiters"`
	Sessions  int            `json:"sessions"`

	Needs         string       `json:"needs,omitzero"`          // whose presence the space needs in order to grant, and who is missing: "m1 (alone since 12:03:05; m2 and m3 are missing)"
	Indispensable List[string] `json:"indispensable,omitempty"` // the members without which it grants nothing, by name

	Elder      string         `json:"elder"`                // the member that names the authority; "" where none does
	Version    uint64         `json:"version,string"`       // which of the authorities of one reign it is, or the view whose leaders they are; 0 where there is one
	Transfers  List[Handover] `json:"transfers"`            // authorities that are being handed over
	Awaited    List[Awaited]  `json:"awaited,omitempty"`    // which member waits for whose reply, where members ask one another
	Closed     bool           `json:"closed"`               // the space's instance at the member that answers is closed
	ClosedAt   List[string]   `json:"closed_at,omitempty"`  // the members at which the space's instance is closed, by name, as far as the member that answers knows
	Suspension *Grant         `json:"suspension,omitempty"` // state suspended: by which caller, and why

	Options    map[string]string `json:"options,omitempty"`    // those of the protocol as they hold, given or by default
	Candidates List[Candidate]   `json:"candidates,omitempty"` // who could be one of the leaders, where leaders are elected

	Store    string `json:"store,omitzero"`    // where locks are kept, as a URL without a password; "" where members keep them
	Settings string `json:"settings,omitzero"` // what all who use that store agree on
}

// Handover is an authority that is on its way from one member to another, by their names.
type Handover struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Since Time   `json:"since"`
}

// Awaited is how many requests of a member wait for another one's reply, by their names.
type Awaited struct {
	Member   string `json:"member"`
	Reply    string `json:"reply"`
	Requests int    `json:"requests"`
}

// Candidate is a member as one of those who can be made leaders. Why says why it is one, or none.
type Candidate struct {
	Member   string `json:"member"`
	Priority int    `json:"priority"` // 1 is the most eligible, 14 the least, 15 off; 0 is elected
	Eligible bool   `json:"eligible"` // it could be elected
	Why      string `json:"why"`
}

// Event is one thing that happened. Event is one of waiting, granted, released,
// cancelled, lost, broken, view and space. One with a Since is not about a lock or a
// space: it says of which stretch of time the events of a member are missing.
type Event struct {
	Event string         `json:"event"`
	Time  Time           `json:"time"`
	Space string         `json:"space"`
	Name  string         `json:"name"`
	Owner string         `json:"owner"`
	Token holdfast.Token `json:"token,omitzero"` // left out where there is none
	Why   string         `json:"why"`

	Member string `json:"member"`         // the name of the member through whose clients it happened
	Since  Time   `json:"since,omitzero"` // event space: events of the member are missing, or may be, from then on,
	Until  Time   `json:"until,omitzero"` // until then; left out while that is not known
}

// Problem is an error as an RFC 9457 document. Make one with [NewProblem].
type Problem struct {
	Type   string `json:"type"` // always about:blank: the code says what it is
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // the sentence that the command line prints
	Code   string `json:"code"`
	Space  string `json:"space"`
	Name   string `json:"name"`

	Why    string `json:"why,omitempty"`    // codes lost, unknown_session, unavailable
	Limit  string `json:"limit,omitempty"`  // code limit: the configuration key
	Value  int64  `json:"value,omitempty"`  // code limit: its value
	Retry  bool   `json:"retry,omitempty"`  // code held: asked again soon, the request keeps its place
	Owner  string `json:"owner,omitempty"`  // code held: the holder
	Member string `json:"member,omitempty"` // code held: through which member
	Since  Time   `json:"since,omitzero"`   // code held: since when
	Others int    `json:"others,omitempty"` // code held: how many more
	Gone   bool   `json:"gone,omitempty"`   // code held: its member was lost
	Grace  bool   `json:"grace,omitempty"`  // code held: its hold limit has passed, and the name has a grace

	// Codes unavailable, held: how long that lasts from when the answer leaves, as far as is known.
	Until Duration `json:"until,omitzero"`
}
