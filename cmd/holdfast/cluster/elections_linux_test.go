package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

var (
	elected   = flag.String("elected", "central,consensus", "TestElections: protocols, separated by commas")
	electSeed = flag.Uint64("elect-seed", 0, "TestElections: seed of the faults; 0 draws one")
)

// TestElections: candidates campaign at three members, each member and its candidates on a machine of their own. The
// leader is killed, paused, cut off with its member, or resigns. No two leaders' terms overlap by what the leaders
// themselves have written, the next one leads each time, and observers at all members see every leader in order, none
// twice, and report what they may have missed.
func TestElections(t *testing.T) {
	for name := range strings.SplitSeq(*elected, ",") {
		t.Run(name, func(t *testing.T) {
			b, n := layNetworkOf(t, 0, clustertest.Settings{Flags: []string{spaceOf(name)}, Durable: name == "consensus"})
			e := &election{harness: b, network: n, candidates: map[int]int{}, gaps: map[string][]time.Duration{}}
			e.hold()
		})
	}
}

// election is a cluster with candidates and observers.
type election struct {
	*harness
	network    *network
	candidates map[int]int // number of a candidate: the machine that it is on
	gaps       map[string][]time.Duration
	observers  []*leaders
}

// leaders is what an observer has seen.
type leaders struct {
	at   string // member
	mu   sync.Mutex
	seen []elect.Leader
}

func (e *election) hold() {
	seed := *electSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	e.logf("faults of seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	ended := e.observe()
	for i := range 5 {
		e.enter(i % 3)
	}
	leader := e.await("a leader", 0, isLeader(0))
	var faults []string // each kind as often as the others, in any order
	for range *elects {
		if len(faults) == 0 {
			faults = []string{"resigned", "killed", "paused", "cut off"}
			draw.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		}
		leader = e.upset(faults[0], leader)
		faults = faults[1:]
	}
	e.check(e.workers.Finish())
	e.settled(ended)
	e.check(e.cluster.End(e.ctx))
	verdict, err := e.workers.Judge()
	e.check(err)
	for _, violation := range verdict.Violations {
		e.Error(violation)
	}
	for kind, gaps := range e.gaps { //tidy:unordered a line for each
		slices.Sort(gaps)
		e.logf("%s: %d times; the next leader led after %v (median) and at most %v", kind, len(gaps),
			gaps[len(gaps)/2].Round(time.Millisecond), gaps[len(gaps)-1].Round(time.Millisecond))
	}
	e.logf("terms=%d stale_refused=%d lost=%d violations=%d", verdict.Grants, verdict.Stale, verdict.Lost, len(verdict.Violations))
}

// isLeader matches the beginning of a later term than that of a token.
func isLeader(after holdfast.Token) func(clustertest.Event) bool {
	return func(e clustertest.Event) bool { return e.Kind == clustertest.Entered && e.Token > after }
}

// enter starts a candidate on a machine.
func (e *election) enter(machine int) *clustertest.Process {
	e.Helper()
	e.workers.Worker = append(e.network.around(machine), os.Args[0], candidateWord)
	p, err := e.workers.Start(e.cluster.Servers(machine), false)
	e.check(err)
	e.candidates[p.Number] = machine
	return p
}

// upset does something to the leader, waits for the next one, and undoes what it has done.
func (e *election) upset(kind string, leader clustertest.Event) clustertest.Event {
	e.Helper()
	p, machine := e.workers.Workers()[leader.Worker-1], e.candidates[leader.Worker]
	e.ready(leader.Worker)
	mark, at := e.fault("the leader, candidate %d, is %s", leader.Worker, kind)
	switch kind {
	case "resigned":
		e.check(p.Order("resign"))
	case "killed":
		e.check(e.workers.Kill(p))
	case "paused":
		e.check(p.Stop())
	case "cut off":
		e.network.unplug(machine)
	}
	next := e.await("the next leader", mark, isLeader(leader.Token))
	e.gaps[kind] = append(e.gaps[kind], next.At-at)
	if next.Worker == leader.Worker {
		e.Errorf("candidate %d, which was %s, leads again before all others", next.Worker, kind)
	}
	lost := func(event clustertest.Event) bool {
		return event.Worker == leader.Worker && event.Token == leader.Token && event.Kind == clustertest.Lost
	}
	switch kind {
	case "killed":
		e.enter(machine)
	case "paused":
		e.await("a write of the next leader", mark, func(event clustertest.Event) bool {
			return event.Kind == clustertest.Wrote && event.Token > leader.Token
		})
		e.check(p.Continue())
		e.await("the end of the paused term", mark, lost)
		e.await("the write of a former leader to be refused", mark, func(event clustertest.Event) bool {
			return event.Worker == leader.Worker && event.Kind == clustertest.Refused
		})
	case "cut off":
		e.await("the end of the term that was cut off", mark, lost)
		e.network.plug(machine)
		for _, m := range e.cluster.Members {
			e.check(e.cluster.AwaitView(e.ctx, m, e.cluster.Members...))
		}
	}
	e.workers.Note(clustertest.Event{Kind: clustertest.Calm})
	// The next leader may have been upset by the same fault, and another one have followed.
	for _, event := range e.workers.History(mark) {
		if event.Kind == clustertest.Entered && event.Token > next.Token {
			next = event
		}
	}
	return next
}

// ready waits until another candidate waits: the leader of an election without others would lead again.
func (e *election) ready(leader int) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	locks, err := client.Dial(ctx, e.cluster.Servers(0))
	e.check(err)
	for state, err := range locks.Observe(ctx, clustertest.RegisterName) {
		e.check(err)
		if len(state.Waiters) >= 2 {
			break
		}
	}
	e.check(locks.Close())
}

// observe observes the leaders at each member, until the returned function ends it.
func (e *election) observe() (end func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	var work sync.WaitGroup
	for i, m := range e.cluster.Members {
		seen := &leaders{at: m.Name}
		e.observers = append(e.observers, seen)
		locks, err := client.Dial(ctx, e.cluster.Servers(i))
		e.check(err)
		work.Go(func() {
			for leader, err := range elect.Observe(ctx, locks, clustertest.RegisterName) {
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						e.Errorf("the observer at %s: %v", seen.at, err)
					}
					break
				}
				seen.mu.Lock()
				seen.seen = append(seen.seen, leader)
				seen.mu.Unlock()
			}
			if err := locks.Close(); err != nil {
				e.Error(err)
			}
		})
	}
	return func() { cancel(); work.Wait() }
}

// settled waits until each observer has seen the end of the last term, and compares what they have seen with the history.
func (e *election) settled(end func()) {
	e.Helper()
	var terms []clustertest.Event
	for _, event := range e.workers.History(0) {
		if event.Kind == clustertest.Entered {
			terms = append(terms, event)
		}
	}
	slices.SortFunc(terms, func(a, b clustertest.Event) int { return int(a.Token - b.Token) })
	last := terms[len(terms)-1].Token
	for _, observer := range e.observers {
		e.network.until(fmt.Sprintf("the observer at %s has seen the end of the last term", observer.at), func() bool {
			observer.mu.Lock()
			defer observer.mu.Unlock()
			all := observer.seen
			return len(all) > 0 && all[len(all)-1].Token == 0 && slices.ContainsFunc(all, func(l elect.Leader) bool { return l.Token == last || l.Missed })
		})
	}
	end()
	for _, observer := range e.observers {
		e.compare(observer, terms)
	}
}

// compare checks what one observer has seen: tokens rise, values are those of the leaders, and where a leader was not
// seen, the observer has said that it may have missed some.
func (e *election) compare(observer *leaders, terms []clustertest.Event) {
	e.Helper()
	values, newest, missed := map[holdfast.Token]string{}, holdfast.Token(0), 0
	for _, term := range terms {
		values[term.Token] = term.Why
	}
	unseen := func(from, to holdfast.Token) (n int) {
		for _, term := range terms {
			if from < term.Token && term.Token < to {
				n++
			}
		}
		return n
	}
	gap := true // what was before the first look is not its concern
	for _, leader := range observer.seen {
		gap = gap || leader.Missed
		if leader.Missed {
			missed++
		}
		if leader.Token == 0 {
			continue
		}
		if leader.Token <= newest {
			e.Errorf("the observer at %s saw token %v after token %v", observer.at, leader.Token, newest)
		}
		if value, led := values[leader.Token]; led && value != leader.Value {
			e.Errorf("the observer at %s saw the value %q of token %v, which has %q", observer.at, leader.Value, leader.Token, value)
		}
		if n := unseen(newest, leader.Token); n > 0 && !gap {
			e.Errorf("the observer at %s did not see %d leaders before token %v, and reported no gap", observer.at, n, leader.Token)
		}
		newest, gap = leader.Token, false
	}
	e.logf("the observer at %s saw %d states up to token %v, %d of them behind a gap", observer.at, len(observer.seen), newest, missed)
}
