package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Script tells one run: who takes part, and everything in which the run differs from one
// where nothing goes wrong. What it does not say is as usual: a message takes 1 ms, a
// write, too, clocks are right, all members are there from the beginning, and no user asks
// for anything until, after Duration, each worker takes each name once.
type Script struct {
	// Protocol is what the members run; Without, a rule of it that is switched off, or "".
	Protocol string
	Without  string
	// Members are how many there are, and of them the first are Founders.
	Members, Founders int
	// Clients have so many Workers each; Visitors are users of HTTP. Locals says whether
	// there are users within the members.
	Clients, Workers, Visitors int
	Locals                     bool
	Names                      []Name
	// Faults are those that may happen. What a script says at a time happens without
	// being listed.
	Faults Faults
	// Once says that the one crash hits the coordinator, whichever member that is.
	Once bool
	// Busy says that a member which wakes from a pause hears what has come before its machine judges time.
	Busy bool
	// Costs says that the messages of users' deeds are counted when all has settled.
	Costs bool
	// Cells says who may lose what is remembered; one of CellNames.
	Cells string
	// Duration is how long faults happen.
	Duration time.Duration
	// TTL is what clients ask for where no choice says it; 0 is for ever.
	TTL   time.Duration
	Lease time.Duration
	Drift float64
	// Survive demands what Config.Survive does.
	Survive bool
	// The bounds. 0 means the defaults.
	Waiters, LocksPerSession, Sessions int
	Options                            option.Values // of the space, those that are not usual
	StoreTTL                           bool          // the store lets columns expire,
	StoreWatch                         bool          // and tells of changes
	Heir                               bool          // there is a client that takes sessions over
	Squanders                          bool          // it gives up what it has inherited
	Crowd                              int           // names that a client asks for at the same time; 0 where there is no such client
	Gatherers                          bool          // each client has a user that takes names together
	// A message between members takes Far longer, from FarFrom to FarUntil. A FarUntil of 0 means to the end.
	Far, FarFrom, FarUntil time.Duration
	Choices                []Choice
}

// Name is a name that users lock: what mode most of them use, and how many slots it has.
type Name struct {
	Name     string
	Use      holdfast.Mode
	Capacity int
}

// CellNames are the words for the members that may lose what is remembered: none, one, any,
// or a quorum for good.
func CellNames() []string { return cellNames[:] }

var cellNames = [...]string{"kept", "one-may-be-lost", "any-may-be-lost", "most-may-be-lost"}

// settings are those of the run that s tells.
func (s *Script) settings() settings {
	to := settings{
		protocol: s.Protocol, members: s.Members, founders: s.Founders, faults: s.Faults, once: s.Once, duration: s.Duration,
		lease: s.Lease, drift: s.Drift, memory: memory(slices.Index(cellNames[:], s.Cells)), weather: calm(),
		clients: s.Clients, workers: s.Workers, visitors: s.Visitors, locals: s.Locals, ttl: []time.Duration{s.TTL},
		waiters: s.Waiters, locksPerSession: s.LocksPerSession, sessions: s.Sessions, survive: s.Survive, every: map[Fault]time.Duration{},
		busy: s.Busy, costs: s.Costs, options: maps.Clone(s.Options), heir: s.Heir, squanders: s.Squanders, gathers: s.Gatherers, crowd: s.Crowd,
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

// script is what the settings of a run are in a script.
func (s *settings) script(choices []Choice) *Script {
	to := &Script{
		Protocol: s.protocol, Members: s.members, Founders: s.founders, Faults: s.faults, Once: s.once, Duration: s.duration,
		Lease: s.lease, Drift: s.drift, Cells: cellNames[s.memory], Clients: s.clients, Workers: s.workers, Visitors: s.visitors,
		Locals: s.locals, TTL: s.ttl[0], Waiters: s.waiters, LocksPerSession: s.locksPerSession, Sessions: s.sessions, Survive: s.survive,
		Choices: choices, Busy: s.busy, Costs: s.costs, Options: maps.Clone(s.options), StoreTTL: s.store.TTL, StoreWatch: s.store.Watch, Heir: s.heir, Squanders: s.squanders, Gatherers: s.gathers, Crowd: s.crowd,
		Far: s.far.way, FarFrom: s.far.from, FarUntil: s.far.until,
	}
	for _, n := range s.names {
		to.Names = append(to.Names, Name{n.name, n.use, n.capacity})
	}
	return to
}

// Clone returns a script that can be changed without changing s.
func (s *Script) Clone() *Script {
	other := *s
	other.Names, other.Choices, other.Options = slices.Clone(s.Names), slices.Clone(s.Choices), maps.Clone(s.Options)
	return &other
}

// Renumber returns the script with the acts that it has times for counted from 1, in
// their order. It is the same run: what is counted is how the script calls them.
func (s *Script) Renumber() *Script {
	other := s.Clone()
	acts := map[scope][]int{}
	for i := range s.Choices {
		if c := &s.Choices[i]; c.name == due {
			whose := scope{c.who, c.what, 0}
			acts[whose] = append(acts[whose], c.act)
		}
	}
	//tidy:unordered each list is sorted by itself
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
