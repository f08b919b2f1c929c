package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Record simulates one seed, as Run does, and returns it as a script: the drawn settings, and every choice that differs
// from its default.
func Record(c Config, seed uint64, trace io.Writer) (*Script, Result, error) {
	if err := c.check(); err != nil {
		return nil, Result{}, err
	}
	c.record = true
	w := newWorld(&c, seed, trace, newCounts(c.Coverage))
	result := w.play()
	return w.settings.script(w.tape.choices), result, nil
}

// Stage is the setup for playing a script.
type Stage struct {
	// Protocol is the protocol of the script's members: the one with the script's name, or one of the caller's.
	Protocol Protocol
	// Trace gets a line for each event. Nil writes no trace.
	Trace io.Writer
	// Brief leaves out of the trace the messages and writes that the script does not mention.
	Brief bool
	// Until ends the run at that time if nothing was found by then. Zero plays the run to its end.
	Until time.Duration
	// Coverage counts the events of each machine.
	Coverage bool
	// Observe, if not nil, gets the timeline of the run, like Config.Observe.
	Observe func(timeline.Event)
}

// Played is the outcome of a script.
type Played struct {
	Result
	// Used are the choices that were made; Void are those of the script that the run did not make; Wrong are those with
	// values that the run did not allow, and the allowed values.
	Used  []Choice
	Void  []Choice
	Wrong []WrongChoice
}

// WrongChoice is a choice of a script with a value that the run did not allow.
type WrongChoice struct {
	Choice  Choice
	Allowed string
}

// Play runs a script. The error describes what is wrong with the script's settings.
func Play(s *Script, on Stage) (played Played, err error) {
	if err := s.check(&on.Protocol); err != nil {
		return Played{}, err
	}
	c := Config{Protocol: on.Protocol, Duration: s.Duration, Coverage: on.Coverage}
	w := &world{
		settings: s.settings(), protocol: &c.Protocol, tape: newReplay(s.Choices), until: on.Until,
		tracing: on.Trace != nil, writer: on.Trace, brief: on.Brief, count: newCounts(on.Coverage),
	}
	w.settings.stores = on.Protocol.Stores
	if on.Protocol.Stores {
		w.settings.store = simulatedStore(s.StoreTTL, s.StoreWatch, s.StoreEnds)
	}
	w.settings.mustKnow(&on.Protocol) // they were checked
	w.stage()
	w.observed(on.Observe)
	played.Result = w.play()
	for i, choice := range s.Choices {
		switch {
		case w.tape.wrong[i] != "":
			played.Wrong = append(played.Wrong, WrongChoice{choice, w.tape.wrong[i]})
		case w.tape.used[i]:
			played.Used = append(played.Used, choice)
		default:
			played.Void = append(played.Void, choice)
		}
	}
	return played, nil
}

// check returns an error for settings that cannot be played.
func (s *Script) check(p *Protocol) error {
	switch {
	case p.Options == nil || p.Name != s.Protocol:
		return fmt.Errorf("sim: script: protocol %q is none that can be simulated here; %s are allowed", s.Protocol, Names())
	case s.Members < 1 || s.Members > mostMembers:
		return fmt.Errorf("sim: script: members %d; 1 to %d is allowed", s.Members, mostMembers)
	case s.Founders < 1 || s.Founders > s.Members:
		return fmt.Errorf("sim: script: founders %d; 1 to %d, the members, is allowed", s.Founders, s.Members)
	case s.Clients < 1 || s.Clients > mostUsers:
		return fmt.Errorf("sim: script: clients %d; 1 to %d is allowed", s.Clients, mostUsers)
	case s.Workers < 1 || s.Workers > mostUsers:
		return fmt.Errorf("sim: script: workers %d; 1 to %d is allowed", s.Workers, mostUsers)
	case s.Visitors < 0 || s.Visitors > mostUsers:
		return fmt.Errorf("sim: script: visitors %d; 0 to %d is allowed", s.Visitors, mostUsers)
	case s.Duration < 0 || s.Duration > longestRun:
		return fmt.Errorf("sim: script: duration %v; 0s to %v is allowed", s.Duration, longestRun)
	case s.Lease < time.Millisecond || s.Lease > longestRun:
		return fmt.Errorf("sim: script: lease %v; 1ms to %v is allowed", s.Lease, longestRun)
	case !(s.Drift >= 0 && s.Drift <= 1): // this also rejects NaN
		return fmt.Errorf("sim: script: drift %v; 0 to 1 is allowed", s.Drift)
	case !slices.Contains(CellNames(), s.Cells):
		return fmt.Errorf("sim: script: cells %q; one of %v is allowed", s.Cells, CellNames())
	case s.TTL < 0:
		return fmt.Errorf("sim: script: ttl %v; 0s (no end) or more is allowed", s.TTL)
	case p.Locks && len(s.Names) == 0:
		return fmt.Errorf("sim: script: names has none; at least one is needed where locks are granted")
	case !p.Locks && (len(s.Names) > 0 || s.Visitors > 0 || s.Locals):
		return fmt.Errorf("sim: script: protocol %s grants no locks; names, visitors and users-within-members are not allowed", s.Protocol)
	case s.Waiters < 0 || s.LocksPerSession < 0 || s.Sessions < 0 || s.Quota < 0:
		return fmt.Errorf("sim: script: a bound is negative; 0 means its default")
	case s.Far < 0 || s.Far > longestChoice || s.FarFrom < 0 || s.FarUntil < 0 || s.FarUntil != 0 && s.FarUntil < s.FarFrom || s.Far == 0 && s.FarFrom+s.FarUntil != 0:
		return fmt.Errorf("sim: script: far %v from %v until %v; a length of time of up to %v is allowed, and an end after its beginning, or 0s for none",
			s.Far, s.FarFrom, s.FarUntil, longestChoice)
	case s.Crowd < 0 || s.Crowd > mostAtOnce || s.Crowd != 0 && p.LeaderProbe == nil:
		return fmt.Errorf("sim: script: crowd %d; 1 to %d is allowed where leaders number tickets, and 0 for none", s.Crowd, mostAtOnce)
	case s.Willing < 0 || s.Willing > 10_000 || s.Willing > 0 && (!p.Locks || p.Peers || p.Stores):
		return fmt.Errorf("sim: script: willing %d; 0 to 10000 is allowed where one table has the waits, and 0 elsewhere", s.Willing)
	case s.Observer && (!p.Locks || s.Faults.Has(Any)):
		return fmt.Errorf("sim: script: an observer is allowed where locks are granted, and not in partition mode any")
	case s.Gatherers && !p.Logs:
		return fmt.Errorf("sim: script: gatherers are allowed where members keep logs, and protocol %s has none", s.Protocol)
	}
	given := s.settings()
	if err := given.know(p); err != nil {
		return fmt.Errorf("sim: script: options %v of protocol %s: %w", s.Options, s.Protocol, err)
	}
	if !p.Stores && (s.StoreTTL || s.StoreWatch || s.StoreEnds) {
		return fmt.Errorf("sim: script: store-ttl, store-watch and store-ends are allowed where locks are claims, and protocol %s has none", s.Protocol)
	}
	if err := p.Check(s.Faults); err != nil {
		return fmt.Errorf("sim: script: %w", err)
	}
	return nil
}

// Upper limits of a script.
const (
	mostMembers = 25
	mostUsers   = 100
	mostAtOnce  = 10_000
)

// longestChoice is the maximum duration of any choice in a script.
const longestChoice = 24 * time.Hour

// Verdict is the outcome of a run, in a line.
func (r *Result) Verdict() string {
	if r.Violation == nil {
		return r.Outcome.String()
	}
	detail, _, _ := strings.Cut(r.Violation.Detail, "\n")
	return fmt.Sprintf("%v %s at %v: %s", r.Outcome, r.Violation.Promise, r.Violation.At, detail)
}

// Transcript plays a script, and returns the text below it in a file: the verdict, and the trace without the messages
// and writes that the script does not mention.
func Transcript(s *Script, p Protocol) (string, Played, error) {
	var trace strings.Builder
	played, err := Play(s, Stage{Protocol: p, Trace: &trace, Brief: true})
	if err != nil {
		return "", played, err
	}
	return played.Verdict() + "\n\n" + trace.String(), played, nil
}

// Text is a whole file: the script, and below it the transcript of its run.
func (s *Script) Text(transcript string) string { return s.String() + below + "\n" + transcript }

// SwitchOff disables the rule that the script is without, in this process, until on is called. Meanwhile only scripts
// without the same rule may run.
func (s *Script) SwitchOff() (on func()) {
	mutation.Switch(s.Without)
	return func() { mutation.Switch("") }
}
