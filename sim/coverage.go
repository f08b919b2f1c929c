package sim

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
)

// reached lists the events that a machine can be stepped with, except messages.
var reached = []struct {
	machine string
	kind    protocol.Kind
	facts   []any
}{
	{"sessions", protocol.Start, []any{nil}},
	{"sessions", protocol.Tick, []any{nil}},
	{"sessions", protocol.Call, []any{
		&session.Open{}, &session.Resume{}, &session.Detach{}, &session.Renew{}, &session.Check{}, &session.End{},
		&session.Drain{}, &session.LeaveNow{}, &membership.Leave{},
	}},
	{"membership", protocol.Start, []any{nil}},
	{"membership", protocol.Tick, []any{nil}},
	{"membership", protocol.Receive, []any{storage.Saved{}, protocol.Hint{}}},
	{"membership", protocol.Call, []any{&membership.Leave{}, &membership.Force{}, &membership.Who{}}},
	{"membership", protocol.Raised, []any{&protocol.NeedHorizon{}, &protocol.Confirmed{}}},
	{"space", protocol.Start, []any{nil}},
	{"space", protocol.Raised, []any{&protocol.View{}, &protocol.Halted{}, &protocol.Lapsed{}, &protocol.Horizon{}}},
}

// reachedByLocks lists the events that only a granting space is stepped with.
var reachedByLocks = []any{
	&lock.Request{}, &protocol.Release{}, &protocol.Cancel{}, &protocol.Extend{}, &protocol.Amend{}, &protocol.EndSession{},
	&protocol.CountHolds{}, &protocol.ListRequests{}, &protocol.Break{}, &protocol.Inspect{},
	&protocol.Revoke{}, &protocol.Show{}, &protocol.Scan{},
}

// losses lists the ways to lose a lock, except duplicates.
var losses = []holdfast.Loss{holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged, holdfast.Broken, holdfast.MemberLost, holdfast.EndedByAnother}

var kindNames = [...]string{"", "start", "tick", "receive", "call", "raised"}

func (h handler) String() string {
	if h.fact == nil {
		return h.machine + " " + kindNames[h.kind]
	}
	return fmt.Sprintf("%s %s %v", h.machine, kindNames[h.kind], h.fact)
}

// never reports whether runs cannot hit a fact of that type, or a loss.
func (p *Protocol) never(fact any) bool {
	return slices.ContainsFunc(p.Unreached, func(never any) bool {
		loss, isLoss := never.(holdfast.Loss)
		return isLoss && fact == loss || !isLoss && reflect.TypeOf(never) == reflect.TypeOf(fact)
	})
}

// sent lists a value of each type of message between spaces that a run can send, and of the types in those messages.
func (p *Protocol) sent() []any { return slices.DeleteFunc(wire.Values(p.Messages), p.never) }

// handlers lists the handlers that a run of the protocol can hit.
func (p *Protocol) handlers() (all []handler) {
	add := func(machine string, kind protocol.Kind, facts ...any) {
		for _, fact := range facts {
			if !p.never(fact) {
				all = append(all, handler{machine, kind, reflect.TypeOf(fact)})
			}
		}
	}
	for _, r := range reached {
		add(r.machine, r.kind, r.facts...)
	}
	for _, m := range p.below() {
		add("membership", protocol.Receive, m)
	}
	for _, m := range p.Messages {
		add("space", protocol.Receive, m.Zero)
	}
	if p.Stores {
		add("space", protocol.Receive, storage.Mutated{}, storage.Sliced{}, storage.Swapped{}, storage.Clocked{}, storage.Changed{},
			storage.Attended{}, storage.Awaited{})
	}
	if p.Logs {
		add("space", protocol.Receive, storage.Appended{}, storage.Chunked{}, storage.Installed{}, storage.Fetched{})
		add("sessions", protocol.Call, &session.Number{})
		add("space", protocol.Call, &protocol.Reform{}, &protocol.ListShards{})
	}
	if p.Locks {
		add("space", protocol.Tick, nil)
		add("space", protocol.Call, reachedByLocks...)
	}
	if p.Peers && !p.Stores {
		add("membership", protocol.Raised, &protocol.Unheard{})
	}
	if p.Moves {
		add("space", protocol.Call, &protocol.Transfer{}, &protocol.StepDown{})
		add("membership", protocol.Raised, &protocol.NeedEpoch{})
	}
	return all
}

// mark is a row of coverage: an event that runs should hit, and its sort.
type mark struct{ sort, name string }

// exercises counts an event if is holds.
func (w *world) exercises(what mark, is bool) {
	if is {
		w.count.hits[what]++
	}
}

// Runs that differ from most.
var (
	hasGuests   = mark{"run", "with guests"}                // members without a vote
	followsLoad = mark{"run", "authority follows the load"} // a member was to become it because it locks most
)

// loss is the mark of a loss of a lock, and costOf that of an act whose messages are counted.
func loss(why holdfast.Loss) mark { return mark{"loss", string(why)} }
func costOf(deed probe.Deed) mark { return mark{"cost", deed.String()} }

// marks lists what runs can hit besides faults, messages and handlers, in the order of the table.
func (c *Config) marks() (all []mark) {
	p := &c.Protocol
	add := func(can bool, these ...mark) {
		if can {
			all = append(all, these...)
		}
	}
	cores := c.Core != CoreNever && c.Faults&p.Faults&breaking != 0
	add(true, phaseFaults)
	add(cores, phaseCore, phaseCoreSettled)
	add(true, phaseHealed, phaseSettling, phaseSettled)
	for r := range restCount {
		add(cores && c.Faults.Has(r.fault()), r.mark())
	}
	add(cores, clientsAway)
	add(!p.Logs, hasGuests)
	add(p.Moves && c.Faults != 0, followsLoad)
	if c.Faults == 0 && p.Costs != nil {
		for _, cost := range p.Costs(p.Fewest) {
			add(!slices.Contains(all, costOf(cost.Deed)), costOf(cost.Deed))
		}
	}
	for _, why := range losses {
		add(p.Locks && !(why == holdfast.AuthorityChanged && p.Peers) && !p.never(why), loss(why)) // among peers there is no authority
	}
	add(p.Locks && c.Faults.Has(Any) && p.Faults.Has(Any), loss(holdfast.Duplicate))
	c.protocolMarks(add)
	operators := c.Faults.Has(Operator)
	add(p.Locks && operators, meddledReleased, meddledEnded, meddledRefused, inheritedTaken, inheritedNotified, inheritedLate, inheritedGiven)
	add(p.Moves && operators, crossedDone, crossedNothing, crossedUnknown)
	add(p.Logs, againCalled, againGranted, againOvertaken)
	add(p.Locks && c.Faults != 0, quotaRefused, quotaFull)
	_, ships := Find(p.Name)
	add(p.Locks && ships && c.Faults != 0, observedGrant, observedGap)
	add(p.Logs && c.Faults != 0, togetherAll, togetherWaited, togetherBehind, togetherGivenUp, togetherLost, togetherRefused)
	apart := c.Faults.Has(Delay) && p.Faults.Has(Delay) && c.Members != 1
	add(apart, farAlways, farPartly, farViewed)
	add(apart && p.Locks, farGranted)
	add(apart, farSettled)
	add(p.Logs && c.Faults.Has(OneWay) && c.Faults.Has(Crash) && c.Members != 1, deafRequested, deafRefused)
	return all
}

// protocolMarks adds the rows for an authority that moves, members that ask one another, leaders that number tickets,
// cells that are kept, and logs.
func (c *Config) protocolMarks(add func(can bool, these ...mark)) {
	p, crashes, operators := &c.Protocol, c.Faults.Has(Crash), c.Faults.Has(Operator)
	moves := p.TransferProbe != nil
	for step := probe.StepInvite; step < probe.StepLast; step++ {
		add(moves && operators && crashes, transferCrash("sender", step), transferCrash("receiver", step))
	}
	add(moves && operators && crashes, elderCrash)
	add(moves && operators, atOnce(2), atOnce(3), atOnce(4), chain(2), chain(3), chain(4))
	add(moves && c.Faults != 0, heldLent, heldUnused, heldUsed, heldTooLong)
	add(moves && crashes, heldLost)
	peers := p.PeerProbe != nil && c.Faults != 0
	add(peers && crashes, peerHeld, peerDefers, peerIdle, peerKeeps, peerJoins)
	add(peers, peerRecalled, peerLate, peerDebts)
	leads := p.LeaderProbe != nil && c.Faults != 0
	for part := range ticketParts {
		for step := range probe.TicketSteps {
			add(leads && crashes && (part != ticketFirst || step != probe.TicketChoosing), ticketCrash(part, step))
		}
	}
	add(leads, leadTakenOver, leadEmpty, leadSender, leadReceiver, leadHold, leadRequest, leadAgain, leadOlder, leadNewcomer, leadGrace,
		leadEnded, leadSilent, leadRefused, leadStopped, leadBehind, leadCaughtUp)
	for _, kept := range p.Kept {
		add(!kept.Crash || crashes, mark{"kept", kept.Name})
	}
	add(p.Logs, logTogether)
	add(p.Logs && c.Faults.Has(DiskSlow), logSlow)
	add(p.Logs && c.Faults.Has(DiskFull), logFailed, logFull, logClosed)
	add(p.Logs && crashes, logLost, logDone, logUnfinished, logFound)
	add(p.Logs && c.Faults&unlinking != 0, unlinked)
	for _, noted := range p.Votes {
		add(operators, mark{"vote", noted.Name})
	}
}

// exercise is a row of coverage and the number of its hits.
type exercise struct {
	mark
	hits int
}

// exercised lists what runs can hit.
func (s *Summary) exercised(c *Config) (all []exercise) {
	row := func(sort, name string, n int) { all = append(all, exercise{mark{sort, name}, n}) }
	for _, f := range (c.Faults & (c.Protocol.Faults | Beyond)).All() {
		row("fault", f.String(), s.counts.faults[f])
	}
	for _, m := range c.marks() {
		all = append(all, exercise{m, s.counts.hits[m]})
	}
	for _, m := range c.Protocol.below() {
		row("message", fmt.Sprintf("%T", m), s.counts.messages[message{true, reflect.TypeOf(m)}])
	}
	for _, m := range s.above(c) {
		row("message", fmt.Sprint(m), s.counts.messages[message{false, m}])
	}
	for _, h := range c.Protocol.handlers() {
		row("handler", h.String(), s.counts.handlers[h])
	}
	return all
}

// above lists the messages between spaces: those of the protocol's table, or those sent where it has no table.
func (s *Summary) above(c *Config) (all []reflect.Type) {
	for _, m := range c.Protocol.sent() {
		all = append(all, reflect.TypeOf(m))
	}
	if len(all) > 0 {
		if c.Protocol.Stores {
			all = append(all, reflect.TypeFor[storage.Mutate](), reflect.TypeFor[storage.Slice](),
				reflect.TypeFor[storage.Swap](), reflect.TypeFor[storage.Clock](), reflect.TypeFor[storage.Watch](), reflect.TypeFor[storage.Unwatch](),
				reflect.TypeFor[storage.Attend](), reflect.TypeFor[storage.Await](), reflect.TypeFor[storage.Unawait]())
		}
		if c.Protocol.Logs {
			all = append(all, reflect.TypeFor[storage.Append](), reflect.TypeFor[storage.Chunk](), reflect.TypeFor[storage.Install](), reflect.TypeFor[storage.Fetch]())
		}
		return all
	}
	for m := range s.counts.messages {
		if !m.below {
			all = append(all, m.is)
		}
	}
	slices.SortFunc(all, func(a, b reflect.Type) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// profileSeeds is the number of runs from which on every row must have been hit.
const profileSeeds = 1000

// Profile is the coverage of many runs.
type Profile struct {
	// Text has a line for each sort of row: faults, phases, losses, messages, handlers.
	Text string
	// Never names the rows without a hit.
	Never []string
	// Complete reports whether there were enough runs to hit everything: at least 1,000 runs as drawn, of 60 s, with
	// all faults within the bounds that the protocol can have. Then a row without a hit is a fault of the profile: the
	// bugs behind it are not looked for.
	Complete bool
}

// Profile returns the coverage of the runs of c.
func (s *Summary) Profile(c Config) (Profile, error) {
	if err := c.check(); err != nil {
		return Profile{}, err
	}
	within := c.Protocol.Faults & Within
	p := Profile{Complete: s.Seeds >= profileSeeds && c.Members == 0 && c.Duration >= usualDuration && c.Faults&within == within}
	var lines strings.Builder
	all := s.exercised(&c)
	for i, first := range all {
		if i > 0 && all[i-1].sort == first.sort {
			continue
		}
		kinds, never, hits := 0, 0, 0
		for _, e := range all[i:] {
			if e.sort != first.sort {
				break
			}
			kinds++
			if hits += e.hits; e.hits == 0 {
				never++
				p.Never = append(p.Never, e.sort+" "+e.name)
			}
		}
		fmt.Fprintf(&lines, "%s: %d of %d kinds, %d hits\n", first.sort, kinds-never, kinds, hits)
	}
	p.Text = lines.String()
	return p, nil
}

// WriteCoverage prints each message, fault and handler with its number of hits, and at the end the names of those
// without any. It reports whether all were hit.
func (s *Summary) WriteCoverage(out io.Writer, c *Config) (complete bool, err error) {
	resolved := *c
	if err := resolved.check(); err != nil {
		return false, err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var never []string
	fmt.Fprintln(t, "what\tname\thits")
	for _, e := range s.exercised(&resolved) {
		_, err := fmt.Fprintf(t, "%s\t%s\t%d\n", e.sort, e.name, e.hits)
		_ = err // Flush reports it
		if e.hits == 0 {
			never = append(never, e.sort+" "+e.name)
		}
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write coverage: %w", err)
	}
	slices.Sort(never)
	line := "every one was hit"
	if len(never) > 0 {
		line = fmt.Sprintf("%d never hit: %s", len(never), strings.Join(never, "; "))
	}
	_, err = fmt.Fprintln(out, line)
	return len(never) == 0, err
}
