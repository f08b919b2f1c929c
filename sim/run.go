package sim

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Config describes what to simulate.
type Config struct {
	// Protocol is the protocol of the members. Required; see Find.
	Protocol Protocol
	// Members is the number of machines. Zero lets each run draw it.
	Members int
	// Faults are the faults that may happen; each run draws its own mix of them. The set of all (Within) stands for
	// those that can happen to the protocol; any other set must not have an impossible one.
	Faults Faults
	// Duration is how long faults happen. Zero means 60 s. Then everything is healed, at once or a core before the
	// rest, and within 30 s every call must be answered.
	Duration time.Duration
	// Core selects whether a core is healed first. Zero lets the seed choose.
	Core Core
	// Survive demands that in a run whose only fault is one crash of the coordinator all holders through other members
	// keep their locks. Without it the run only counts them: this is a goal of the members, and no promise.
	Survive bool
	// Bias bends the draws of each run. The zero value bends nothing.
	Bias Bias
	// Coverage counts the events of each machine.
	Coverage bool
	// MemberTrace, if not nil, is called at each start of a member, and returns the writer for its trace, as package
	// trace writes it for a real member; nil for a member that is not recorded.
	MemberTrace func(member string) io.Writer
	// Observe, if not nil, gets the timeline of a run as it happens (Run); RunMany does not call it. It does not change
	// the run.
	Observe func(timeline.Event)
	// Linearizable compares, after each run, the users' history of each name with the model of a lock without time
	// (package history). False does so for every 16th seed.
	Linearizable bool
	// History gets a page that shows the history of a name: the one with a violation, or the longest. It is written
	// when histories are compared. Nil writes none.
	History io.Writer

	record bool // records every choice that differs from its default

	around func(protocol.Machine) protocol.Machine // wraps a member's machine; nil does not
}

// check fills in defaults. The error names the wrong value and the allowed ones.
func (c *Config) check() error {
	c.Duration = cmp.Or(c.Duration, usualDuration)
	switch {
	case c.Protocol.Options == nil:
		return fmt.Errorf("sim: Protocol has no Options; one of %s is allowed", Names())
	case c.Bias.Often < 0 || c.Bias.Often > 100 || c.Bias.Late < 0 || c.Bias.Late > 10_000:
		return fmt.Errorf("sim: Bias is %+v; Often of up to 100 and Late of up to 10000 are allowed", c.Bias)
	case c.Core > CoreNever:
		return fmt.Errorf("sim: Core is %d; CoreDrawn, CoreFirst and CoreNever are allowed", c.Core)
	case c.Members != 0 && (c.Members < 1 || c.Members > 25):
		return fmt.Errorf("sim: Members is %d; 1 to 25 is allowed, and 0 to draw it", c.Members)
	case c.Duration < time.Second || c.Duration > longestRun:
		return fmt.Errorf("sim: Duration is %v; %v to %v is allowed", c.Duration, time.Second, longestRun)
	}
	if !c.Protocol.Stores && c.Protocol.Faults&ofStores != 0 {
		return fmt.Errorf("sim: Protocol %s has the fault %q and no Stores; set Stores if its machines ask a store, and leave the fault out otherwise", c.Protocol.Name, (c.Protocol.Faults & ofStores).All()[0])
	}
	if err := c.Protocol.Check(c.Faults); err != nil {
		return fmt.Errorf("sim: Faults: %w", err)
	}
	return nil
}

// Outcome is the way in which a run ended.
type Outcome uint8

// The outcomes, worst last.
const (
	OK       Outcome = iota
	Stuck            // something is unanswered though all faults have ended
	Violated         // a promise was broken
	Crashed          // a machine panicked
)

var outcomeNames = [...]string{"ok", "STUCK", "VIOLATION", "CRASH"}

// String returns the word in the last line of a run.
func (o Outcome) String() string { return outcomeNames[o] }

// Result is the outcome of one run.
type Result struct {
	Seed      uint64
	Outcome   Outcome
	Violation *Violation // of Stuck and Violated; of Crashed with the panic as its detail
	Steps     int
	Settings  string        // a table, if the run was not OK
	Settled   time.Duration // the time from the last fault to the last answer
	Survived  Survival
	counts    *counts
	err       error // of its output other than the trace
}

// Phases after the faults: users start new work until settleAfter; then they finish what they have, and take each name
// once. A user that is unanswered after patience is slow, and after despair stuck; see world.despair, too.
const (
	usualDuration = time.Minute

	settleAfter = 12 * time.Second
	patience    = 30 * time.Second
	despair     = 120 * time.Second
)

// Run simulates one seed. If trace is not nil, it gets a line for each event; the same seed gives the same lines.
func Run(c Config, seed uint64, trace io.Writer) (result Result, err error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	result = newWorld(&c, seed, trace, newCounts(c.Coverage)).play()
	return result, result.err
}

// play runs a staged world to its end.
func (w *world) play() (result Result) {
	result = Result{Seed: w.settings.seed, counts: w.count}
	defer func() {
		result.Steps = w.steps
		w.count.stale, w.count.lost = w.register.stale, w.judge.lost
		for why, n := range w.judge.losses {
			w.count.hits[loss(why)] = n
		}
		if broken := recover(); broken != nil {
			result.Outcome = Crashed
			result.Violation = &Violation{Promise: "panic", At: w.now, Detail: fmt.Sprintf("%v\n%s", broken, MachineFrames(debug.Stack()))}
			w.trace("CRASH %v", broken)
			w.reporter.violated("panic", fmt.Sprint(broken), nil)
		}
		w.reporter.finish()
		if result.Outcome != OK {
			result.Settings = w.settings.String()
		}
	}()
	settled, complete := w.phases()
	if !complete {
		return result
	}
	result.Settled = settled
	result.err = w.checkHistories()
	result.Survived = w.judge.survival()
	w.checkSurvival(result.Survived)
	if v := w.judge.violation; v != nil {
		result.Outcome, result.Violation = Violated, v
		if v.Promise == liveness {
			result.Outcome = Stuck
		}
		w.trace("%v %v", result.Outcome, v)
	}
	return result
}

// phases runs a world through all of its phases, or until a promise is broken, and returns how long it took to settle.
// It returns false if the run ends before that without a violation.
func (w *world) phases() (settled time.Duration, complete bool) {
	w.count.hits[phaseFaults]++
	w.settings.far.begins(w.count)
	w.begin()
	if w.run(w.settings.duration); w.over() {
		return 0, false
	}
	if w.judge.violation == nil && w.healCore() && !w.coreIsServed() {
		return 0, w.judge.violation != nil
	}
	healed := w.now
	w.count.hits[phaseHealed]++
	w.heal()
	if w.run(healed + settleAfter); w.over() {
		return 0, false
	}
	w.count.hits[phaseSettling]++
	w.settle()
	settled = w.await(healed)
	if w.judge.violation == nil {
		w.count.hits[phaseSettled]++
		w.afar(farSettled)
	}
	w.checkCosts()
	w.observer.settled()
	w.checkCrossing()
	w.checkUnlinked()
	return settled, true
}

// MachineFrames returns the part of a stack above the recovery: the machine's own frames.
func MachineFrames(stack []byte) string {
	text := string(stack)
	if i := strings.LastIndex(text, "panic("); i >= 0 {
		text = text[i:]
	}
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(len(lines), 14)], "")
}

// begin starts every process, at different times, and the faults.
func (w *world) begin() {
	w.reporter.cast()
	for _, m := range w.members {
		w.within(m.name, "machine", 0)
		start := w.below("start", 400*time.Millisecond)
		if !m.founder && w.settings.faults.Has(Join) {
			w.hit(Join)
			if w.oneIn("misfit", 3) {
				m.misfit = otherSpace
			}
			start = w.below("joins", w.settings.duration/2)
		}
		w.do(start, m.start)
	}
	for _, c := range w.clients {
		w.within(c.name, "machine", 0)
		w.do(w.length("start", time.Second, func() time.Duration { return w.rand.below(2 * time.Second) }), c.start)
	}
	for _, s := range w.visitors {
		s.plan(func() time.Duration { return w.rand.below(3 * time.Second) })
	}
	w.nemesis.begin()
	if w.judge.sides != nil {
		w.judge.sides.watch()
	}
}

// heal ends all faults: the network and the disks are well, every process wakes, and every process runs. Messages stay
// in flight.
func (w *world) heal() {
	w.trace("everything is healed")
	w.reporter.emit(timeline.Event{Kind: timeline.Remark, Text: "everything is healed", Why: "healed"})
	w.core, w.healed, w.healedAt = nil, true, w.now
	w.weather = calm()
	for i := range w.network.cut {
		clear(w.network.cut[i])
	}
	clear(w.nemesis.cutOff)
	w.store.heal()
	w.nemesis.lost = nil
	for _, m := range w.members {
		m.heal()
	}
	for _, c := range w.clients {
		c.heal()
	}
	w.nemesis.reinstate()
}

// heal ends the faults of the member's process and its disk.
func (m *process) heal() {
	w := m.world
	m.disk.full, m.disk.slow = 0, 0
	m.gone, m.misfit, m.stuck = false, fits, false
	m.resume()
	w.within(m.name, "healed", 0)
	w.do(w.now+w.below("start", time.Second), m.start)
}

// heal ends the faults of the client's process.
func (c *client) heal() {
	w := c.world
	c.stuck = false
	c.resume()
	w.within(c.name, "healed", 0)
	w.do(w.now+w.below("start", time.Second), c.start)
}

// settle makes users start nothing new except their probes.
func (w *world) settle() {
	w.settling = true
	for _, c := range w.clients {
		for _, worker := range c.workers {
			if worker.idle() {
				worker.next = c.now()
			}
		}
		c.gathers.settle()
		c.arm()
	}
}

// liveness is the promise that is broken by a run that does not settle.
const liveness = "P4"

// await runs until everything is answered, and returns the time that this took since healing.
func (w *world) await(healed instant) time.Duration {
	for w.judge.violation == nil && !w.over() {
		w.run(w.now + 250*time.Millisecond)
		unsettled := w.unsettled()
		if len(unsettled) == 0 {
			break
		}
		if w.grow() {
			healed = w.now
		}
		w.checkBurst(healed)
		if w.now > healed+w.despair() {
			w.judge.violate(liveness, "%s: %s", w.despaired(), strings.Join(unsettled, "; "))
		}
	}
	return w.now - healed
}

// unsettled describes what is unanswered or wrong.
func (w *world) unsettled() (found []string) {
	found = append(w.unserved(), w.preempting()...)
	for _, c := range w.clients {
		if c.stuck {
			continue
		}
		for _, worker := range c.workers {
			if !worker.probing || worker.probes > 0 {
				found = append(found, fmt.Sprintf("%s has not had every name", worker))
			}
		}
		if c.crowd != nil && c.crowd.open > 0 {
			found = append(found, fmt.Sprintf("%d requests of %s are not answered", c.crowd.open, c))
		}
		if g := c.gathers; g != nil && !(g.probed && g.idle()) {
			found = append(found, fmt.Sprintf("%s has not had all names together: it has %d and wants %v", g, g.taken(), g.left()))
		}
	}
	if len(found) > 0 {
		return found
	}
	if found = w.leftovers(); len(found) > 0 {
		return found
	}
	return w.observer.unsettled()
}

// unserved describes what is missing until all members are in one view and one serves.
func (w *world) unserved() (found []string) {
	coordinator := w.leading()
	if coordinator == nil {
		return []string{"no member coordinates"}
	}
	v := coordinator.view
	for _, m := range w.members {
		if !w.demanded(m) {
			continue
		}
		switch at, listed := v.Of(m.id); {
		case !m.up:
			found = append(found, fmt.Sprintf("%s is not up", m))
		case !listed:
			found = append(found, fmt.Sprintf("%s is not in view %d of %s", m, v.Number, coordinator))
		case m.view == nil || m.view.Number != v.Number || m.view.Epoch != v.Epoch || !m.view.Installed:
			found = append(found, fmt.Sprintf("%s has not installed view %d of %s", m, v.Number, coordinator))
		case m.view.Lease.Tenure != at.Tenure || !m.leased():
			found = append(found, fmt.Sprintf("%s has no lease", m))
		}
	}
	if !coordinator.powerful() {
		found = append(found, fmt.Sprintf("%s may not grant", coordinator))
	}
	return found
}

// preempting describes which member, that of the highest id, is yet to replace a coordinator that is well. Until it has
// done so, the space waits as in every election.
func (w *world) preempting() []string {
	coordinator := w.leading()
	if coordinator == nil || !w.settings.faults.Has(Preempt) {
		return nil
	}
	highest := coordinator
	for _, m := range w.members {
		if at, listed := coordinator.view.Of(m.id); listed && at.Founder && m.id > highest.id {
			highest = m
		}
	}
	if highest == coordinator || !w.demanded(highest) {
		return nil
	}
	return []string{fmt.Sprintf("%s has not taken the place of %s", highest, coordinator)}
}

// leftovers describes holds and requests that no user wants.
func (w *world) leftovers() (found []string) {
	if !w.protocol.Locks {
		return nil
	}
	if found = w.charges(); len(found) > 0 {
		return found
	}
	if w.protocol.Peers {
		for _, m := range w.members {
			if w.demanded(m) && m.up {
				found = append(found, leftover(m, m.space().(protocol.Peer).Own(m.now()))...)
			}
		}
		return found
	}
	m, condition := w.condition()
	if condition == nil {
		return []string{"no member says how the space is"}
	}
	return leftover(m, condition)
}

// leftover describes what is left over in a member's report.
func leftover(m *process, condition *protocol.Condition) (found []string) {
	switch {
	case condition.State != protocol.Ready:
		found = append(found, fmt.Sprintf("the space is %v on %s: %s", condition.State, m, condition.Why))
	case condition.Locks > 0 || condition.Waiters > 0:
		found = append(found, fmt.Sprintf("%s says that %d names are held or wanted, with %d waiters", m, condition.Locks, condition.Waiters))
	}
	return found
}

// condition is the space's state, reported by a member without asking another one.
func (w *world) condition() (*process, *protocol.Condition) {
	for _, m := range w.knowing() {
		said, ok := m.query(userSpace, &protocol.Inspect{}).(*protocol.Condition)
		if ok && (m == w.leading() || said.State != protocol.Unavailable) {
			return m, said
		}
	}
	return nil, nil
}

// knowing lists the members that may know the space's state: the coordinator, then the members of its view, because one
// of them may decide instead. A member outside the view may still report an old state.
func (w *world) knowing() []*process {
	leading := w.leading()
	known := []*process{leading}
	for _, m := range w.members {
		if _, listed := leading.view.Of(m.id); listed && m != leading && m.up && !m.paused {
			known = append(known, m)
		}
	}
	return known
}
