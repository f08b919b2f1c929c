package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Script describes one run: the participants, and every choice that differs from a run in which nothing goes wrong. The
// defaults are: a message takes 1 ms, and so does a write; clocks are right; all members are there from the beginning;
// and no user makes a call until, after Duration, each worker takes each name once.
type Script struct {
	// Protocol is the protocol of the members; Without is a rule of it that is disabled, or "".
	Protocol string
	Without  string
	// Members is the number of members; the first Founders of them are founders.
	Members, Founders int
	// Clients is the number of clients, with Workers users each; Visitors is the number of HTTP users; Locals adds
	// users within the members.
	Clients, Workers, Visitors int
	Locals                     bool
	Names                      []Name
	// Faults are the faults that may happen. A fault with a time in the script need not be listed.
	Faults Faults
	// Once makes the one crash hit the coordinator, whichever member that is.
	Once bool
	// Busy makes a member that wakes from a pause read what has arrived before its machine judges time.
	Busy bool
	// Costs counts the messages of users' acts when all has settled.
	Costs bool
	// Cells names the members that may lose their cells; one of CellNames.
	Cells string
	// Duration is how long faults happen.
	Duration time.Duration
	// TTL is the default ttl of clients; 0 means no expiry.
	TTL   time.Duration
	Lease time.Duration
	Drift float64
	// Survive is Config.Survive.
	Survive bool
	// The bounds; 0 means the default.
	Waiters, LocksPerSession, Sessions int
	Quota                              int           // locks of every second client at each member; 0 means none
	Options                            option.Values // of the space, other than the defaults
	StoreTTL                           bool          // the store lets columns expire,
	StoreWatch                         bool          // and reports changes,
	StoreEnds                          bool          // and the ends of members
	Heir                               bool          // there is an heir, a client that takes sessions over
	Squanders                          bool          // it gives up what it has inherited
	Crowd                              int           // names that a client requests at the same time; 0 means no such client
	Willing                            int           // of 10,000 requests, the number that would rather fail than wait in a deadlock
	Observer                           bool          // a name is observed
	Gatherers                          bool          // each client has a user that takes several names together
	// A message between members takes Far longer, from FarFrom to FarUntil; a FarUntil of 0 means to the end.
	Far, FarFrom, FarUntil time.Duration
	Choices                []Choice
}

// Name is a name that users lock: the mode of most of them, and its number of slots.
type Name struct {
	Name     string
	Use      holdfast.Mode
	Capacity int
}

// CellNames are the words for the members that may lose their cells: none, one, any, or a quorum permanently.
func CellNames() []string { return cellNames[:] }

var cellNames = [...]string{"kept", "one-may-be-lost", "any-may-be-lost", "most-may-be-lost"}

// settings returns the settings of the script's run.
func (s *Script) settings() settings {
	to := settings{
		protocol: s.Protocol, members: s.Members, founders: s.Founders, faults: s.Faults, once: s.Once, duration: s.Duration,
		lease: s.Lease, drift: s.Drift, memory: memory(slices.Index(cellNames[:], s.Cells)), weather: calm(),
		clients: s.Clients, workers: s.Workers, visitors: s.Visitors, locals: s.Locals, ttl: []time.Duration{s.TTL},
		waiters: s.Waiters, locksPerSession: s.LocksPerSession, sessions: s.Sessions, quota: s.Quota, survive: s.Survive, every: map[Fault]time.Duration{},
		busy: s.Busy, costs: s.Costs, options: maps.Clone(s.Options), heir: s.Heir, squanders: s.Squanders, gathers: s.Gatherers, observes: s.Observer, willing: s.Willing, crowd: s.Crowd,
		far: afar{s.Far, s.FarFrom, s.FarUntil},
	}
	if to.options == nil {
		to.options = option.Values{}
	}
	for _, n := range s.Names {
		to.names = append(to.names, lockName{n.Name, n.Use, n.Capacity})
	}
	return to
}

// script returns the settings and choices as a script.
func (s *settings) script(choices []Choice) *Script {
	to := &Script{
		Protocol: s.protocol, Members: s.members, Founders: s.founders, Faults: s.faults, Once: s.once, Duration: s.duration,
		Lease: s.lease, Drift: s.drift, Cells: cellNames[s.memory], Clients: s.clients, Workers: s.workers, Visitors: s.visitors,
		Locals: s.locals, TTL: s.ttl[0], Waiters: s.waiters, LocksPerSession: s.locksPerSession, Sessions: s.sessions, Quota: s.quota, Survive: s.survive,
		Choices: choices, Busy: s.busy, Costs: s.costs, Options: maps.Clone(s.options), StoreTTL: s.store.TTL, StoreWatch: s.store.Watch, StoreEnds: s.store.Ends, Heir: s.heir, Squanders: s.squanders, Gatherers: s.gathers, Observer: s.observes, Willing: s.willing, Crowd: s.crowd,
		Far: s.far.way, FarFrom: s.far.from, FarUntil: s.far.until,
	}
	for _, n := range s.names {
		to.Names = append(to.Names, Name{n.name, n.use, n.capacity})
	}
	return to
}

// Clone returns a deep copy of s.
func (s *Script) Clone() *Script {
	other := *s
	other.Names, other.Choices, other.Options = slices.Clone(s.Names), slices.Clone(s.Choices), maps.Clone(s.Options)
	return &other
}

// Renumber returns the script with its timed acts counted from 1, in their order. It is the same run: only the numbers
// change.
func (s *Script) Renumber() *Script {
	other := s.Clone()
	acts := map[scope][]int{}
	for i := range s.Choices {
		if c := &s.Choices[i]; c.name == due {
			whose := scope{c.who, c.what, 0}
			acts[whose] = append(acts[whose], c.act)
		}
	}
	//tidy:unordered each list is sorted on its own
	for _, of := range acts {
		slices.Sort(of)
	}
	for i := range other.Choices {
		c := &other.Choices[i]
		if at, has := slices.BinarySearch(acts[scope{c.who, c.what, 0}], c.act); has {
			c.act = at + 1
		}
	}
	return other
}
