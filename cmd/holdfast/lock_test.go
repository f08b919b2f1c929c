package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// testBacking is a session whose deadline the test moves.
type testBacking struct {
	clock    *clocktest.Manual
	deadline time.Duration
}

func (b *testBacking) Now() time.Duration                               { return b.clock.Now() }
func (b *testBacking) Deadline() time.Duration                          { return b.deadline }
func (b *testBacking) UnlockLock(context.Context, *holdfast.Lock) error { return nil }
func (b *testBacking) QueueUnlock(*holdfast.Lock) error                 { return nil }
func (b *testBacking) ExtendLock(context.Context, *holdfast.Lock, time.Duration) error {
	return nil
}

func (b *testBacking) ObserveLock(context.Context, *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	panic("not called")
}

func (b *testBacking) AmendLock(context.Context, *holdfast.Lock, holdfast.Amendment) error {
	return nil
}

// harness is a watch over a real command, by a clock and of a lock that the test moves.
type harness struct {
	*watch
	backing *testBacking
	manual  *clocktest.Manual
	kill    time.Duration // the deadline that the guardian has, whose clock is another
	output  *bufio.Reader // of the command
	events  *bufio.Reader // of --status-fd
}

// newHarness starts a shell script under a watch. The lock's session lives for 12 s, of
// which its deadline has 12 s left.
func newHarness(t *testing.T, order *lockOrder, script string) *harness {
	t.Helper()
	manual := clocktest.NewManual()
	backing := &testBacking{manual, 12 * time.Second}
	if order.request == nil {
		order.request = &request{}
	}
	lock := holdfast.NewLock(holdfast.Grant{Space: "default", Name: "n", Token: 7}, 1, holdfast.Forever, backing, nil)
	said, say := testPipe(t)
	statusRead, statusEnd := testPipe(t)
	output, out := testPipe(t)
	go func() { _, _ = io.Copy(io.Discard, said) }() // until the pipe is closed
	process, err := supervise.Start(t.Context(), supervise.Command{Args: []string{"sh", "-c", script}, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	l := &locking{
		order: order, say: newLineWriter(say, 1), status: status{newLineWriter(statusEnd, 1), "default"},
		locks: []*holdfast.Lock{lock}, reported: []bool{false}, clock: manual,
	}
	t.Cleanup(func() {
		if err := process.Terminate(0); err != nil {
			t.Error(err)
		}
		if _, err := process.Wait(); err != nil {
			t.Error(err)
		}
		if err := errors.Join(l.say.close(), l.status.to.close()); err != nil {
			t.Error(err)
		}
	})
	w := newWatch(l, 12*time.Second, backing.Deadline)
	b := &harness{
		watch: w, backing: backing, manual: manual, kill: w.kept,
		output: bufio.NewReader(output), events: bufio.NewReader(statusRead),
	}
	w.process = process
	w.guardian = func(at time.Duration) error { b.kill = at; return nil }
	return b
}

func testPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Some are closed already.
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// read returns the command's next line.
func (b *harness) read(t *testing.T) string {
	t.Helper()
	line, err := b.output.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// event returns the next line of the status.
func (b *harness) event(t *testing.T) occurrence {
	t.Helper()
	line, err := b.events.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var o occurrence
	if err := json.Unmarshal(line, &o); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

// ended is what a watch returns.
type ended struct {
	exit      supervise.Exit
	lost, err error
}

func (b *harness) start() <-chan ended {
	result := make(chan ended, 1)
	go func() {
		var e ended
		e.exit, e.lost, e.err = b.run(b.process)
		result <- e
	}()
	return result
}

// doubted is when the pauses before TERM begin, by the present deadline.
func (b *harness) doubted() time.Duration {
	b.refresh()
	return b.doubtAt()
}

// lapse lets the pauses before TERM pass, each in time, and reports how long they took.
func (b *harness) lapse() time.Duration {
	began := b.manual.Now()
	for b.onTime(); !b.dying; b.onTime() {
		b.manual.Advance(b.pauseTo - b.manual.Now())
	}
	return b.manual.Now() - began
}

// reach moves the clock on to a time, from one timer of a running watch to the next.
func (b *harness) reach(at time.Duration) {
	for {
		next := b.manual.Next()
		if next == clock.Never {
			runtime.Gosched() // the watch has not set its timer yet
			continue
		}
		b.manual.Advance(min(next, at) - b.manual.Now())
		if next >= at {
			return
		}
	}
}

// stubborn does not end by TERM, nor does its child.
const stubborn = `trap 'echo term' TERM; (trap '' TERM; exec sleep 600) & echo ready; while :; do wait; done`

// The grace is at most a third of what the session lives unrenewed, and of the hold
// limit.
func TestLockGrace(t *testing.T) {
	for _, test := range []struct {
		grace, hold time.Duration
		want        time.Duration
	}{
		{5 * time.Second, 0, 4 * time.Second},
		{time.Second, 0, time.Second},
		{0, 0, 0},
		{5 * time.Second, 6 * time.Second, 2 * time.Second},
		{5 * time.Second, time.Hour, 4 * time.Second},
	} {
		b := newHarness(t, &lockOrder{request: &request{hold: test.hold}, killAfter: test.grace, onLost: lostTerm}, "exit 0")
		if b.grace != test.want {
			t.Errorf("kill-after %v, hold %v: the grace is %v, want %v", test.grace, test.hold, b.grace, test.want)
		}
	}
}

// TERM is due a grace and a guard before the deadline, even after that has moved.
func TestLockTermFollowsDeadline(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 3 * time.Second, onLost: lostTerm}, "echo ready; exec cat")
	term := func() time.Duration { return b.backing.deadline - 3*time.Second - b.guard }
	for range 3 {
		b.manual.Advance(b.doubted() - 1 - b.manual.Now())
		if b.onTime(); b.dying {
			t.Fatalf("ended at %v; the deadline is %v", b.manual.Now(), b.backing.deadline)
		}
		b.backing.deadline = b.manual.Now() + 12*time.Second // a heartbeat was acknowledged
	}
	b.manual.Advance(b.doubted() - b.manual.Now())
	b.lapse()
	if late := b.manual.Now() - term(); late < -answerLimit/10 || late > answerLimit/10 {
		t.Fatalf("TERM came %v after its time", late)
	}
	if !b.dying || b.killAt != b.backing.deadline-b.guard {
		t.Fatalf("at %v dying is %v and KILL is due at %v; the deadline is %v",
			b.manual.Now(), b.dying, b.killAt, b.backing.deadline)
	}
	if holdfast.Why(b.first) != holdfast.SessionExpired {
		t.Errorf("lost because of %v", b.first)
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
}

// A watch looks often enough at a deadline that could come nearer.
func TestLockLooksAgain(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 3 * time.Second, onLost: lostTerm}, "exec cat")
	if next := b.next(); next != 3*time.Second {
		t.Errorf("looks again at %v, want at a quarter of what is left", next)
	}
	b.manual.Advance(8 * time.Second)
	if next := b.next(); next != 9*time.Second-b.guard-answerLimit {
		t.Errorf("looks again at %v, want when the pauses before TERM begin", next)
	}
}

// Where this process and the member stood still together, the member answers at once, and
// TERM waits for that.
func TestLockHeartbeatBeforeTerm(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 3 * time.Second, onLost: lostTerm}, "exec cat")
	b.manual.Advance(10 * time.Second) // TERM was due more than a second ago
	if b.onTime(); b.dying {
		t.Fatal("TERM came before a heartbeat could be answered")
	}
	b.backing.deadline = b.manual.Now() + 12*time.Second
	if b.onTime(); b.dying || b.pauseTo != 0 {
		t.Fatalf("a heartbeat was answered: dying is %v, a pause ends at %v", b.dying, b.pauseTo)
	}

	b.manual.Advance(b.doubted() - b.manual.Now())
	b.onTime()
	b.manual.Advance(b.pauseTo - b.manual.Now() + time.Second) // stood still in a pause
	if took := b.lapse(); took < answerLimit*9/10 || took > answerLimit {
		t.Errorf("after a pause that ended late a heartbeat has %v, want %v", took, answerLimit)
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
}

// The guardian gets each deadline, and none that is later once the command is being ended.
func TestLockGuardianHasTheDeadline(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: time.Second, onLost: lostTerm}, "exec cat")
	for _, deadline := range []time.Duration{12 * time.Second, 20 * time.Second, 15 * time.Second} {
		b.backing.deadline = deadline
		if b.onTime(); b.kill != deadline-b.guard/2 {
			t.Errorf("the deadline is %v, the guardian kills at %v", deadline, b.kill)
		}
	}
	b.locks[0].End(holdfast.Broken)
	b.onLost(0)
	want := time.Second + b.guard/2
	if b.kill != want {
		t.Errorf("the command gets a second, and the guardian kills at %v, want %v", b.kill, want)
	}
	b.backing.deadline = time.Minute
	if b.onTime(); b.kill != want {
		t.Errorf("a heartbeat has moved the guardian's deadline to %v", b.kill)
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}

	b = newHarness(t, &lockOrder{onLost: lostIgnore}, "exec cat")
	if b.onTime(); b.kill != clock.Never {
		t.Errorf("--on-lost ignore: the guardian kills at %v", b.kill)
	}
}

// A heartbeat has no more than a third of what is left until KILL.
func TestLockHeartbeatIsBounded(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 3 * time.Second, onLost: lostTerm}, "exec cat")
	left := 90 * time.Millisecond
	b.manual.Advance(12*time.Second - b.guard - left)
	if took := b.lapse(); took == 0 || took > left/3 {
		t.Errorf("a heartbeat has %v of %v", took, left)
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}

	b = newHarness(t, &lockOrder{killAfter: 3 * time.Second, onLost: lostTerm}, "exec cat")
	b.manual.Advance(b.doubted())
	for b.onTime(); !b.dying; b.onTime() { // each pause ends late, as on a machine that is starved
		b.manual.Advance(b.pauseTo - b.manual.Now() + b.patience(b.manual.Now()))
	}
	if b.killAt == clock.Never {
		t.Error("no time was left for TERM")
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
}

// No process of the group is left when the deadline comes, by the clock of deadlines.
func TestLockKillsBeforeDeadline(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 4 * time.Second, onLost: lostTerm}, stubborn)
	if line := b.read(t); line != "ready\n" {
		t.Fatalf("it said %q", line)
	}
	result := b.start()
	b.reach(8*time.Second - b.guard)
	if line := b.read(t); line != "term\n" {
		t.Fatalf("it said %q", line)
	}
	b.manual.Advance(12*time.Second - b.guard - b.manual.Now())
	e := <-result
	if !errors.Is(e.lost, holdfast.ErrLost) || e.err != nil || e.exit.Status() != 137 {
		t.Fatalf("%+v", e)
	}
	if _, err := b.output.ReadByte(); err == nil {
		t.Error("a process still has the command's output")
	}
	var events []string
	for range 2 {
		events = append(events, b.event(t).Event)
	}
	if !slices.Equal(events, []string{"lost", "killing"}) {
		t.Errorf("got %v", events)
	}
}

// What an operator breaks ends at once, and the loss is reported though the command
// returned 0.
func TestLockBroken(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 4 * time.Second, onLost: lostTerm},
		`trap 'echo term; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done`)
	b.read(t)
	result := b.start()
	b.locks[0].End(holdfast.Broken)
	e := <-result
	if holdfast.Why(e.lost) != holdfast.Broken || e.err != nil || e.exit.Status() != 0 {
		t.Fatalf("%+v", e)
	}
	if code := exitCode((&locking{}).lost(e.exit, e.lost, e.err)); code != 81 {
		t.Errorf("exit code %d", code)
	}
	if o := b.event(t); o.Event != "lost" || o.Why != "broken" || o.Name != "n" || o.Token != 7 {
		t.Errorf("got %+v", o)
	}
}

// A deadline that passed while the machine slept leaves no grace.
func TestLockAfterSleep(t *testing.T) {
	b := newHarness(t, &lockOrder{killAfter: 4 * time.Second, onLost: lostTerm}, stubborn)
	b.read(t)
	result := b.start()
	b.manual.Advance(time.Hour)
	e := <-result
	if holdfast.Why(e.lost) != holdfast.SessionExpired || e.exit.Status() != 137 {
		t.Fatalf("%+v", e)
	}
}

func TestLockOnLostKill(t *testing.T) {
	b := newHarness(t, &lockOrder{onLost: lostKill}, stubborn)
	b.read(t)
	b.manual.Advance(12*time.Second - b.guard - 1)
	if b.onTime(); b.dying {
		t.Fatal("killed too early")
	}
	result := b.start()
	b.manual.Advance(1)
	if e := <-result; e.exit.Status() != 137 || e.lost == nil {
		t.Fatalf("%+v", e)
	}
	if rest, err := b.output.ReadString('\n'); err == nil {
		t.Errorf("it said %q", rest)
	}
}

func TestLockOnLostIgnore(t *testing.T) {
	b := newHarness(t, &lockOrder{onLost: lostIgnore}, "echo ready; read line </dev/null; exit 0")
	b.read(t)
	b.locks[0].End(holdfast.SessionExpired)
	e := <-b.start()
	if e.exit.Status() != 0 || !errors.Is(e.lost, holdfast.ErrLost) {
		t.Fatalf("%+v", e)
	}
	if code := exitCode((&locking{}).lost(e.exit, e.lost, nil)); code != 79 {
		t.Errorf("exit code %d", code)
	}
}

// The reported cause is whichever ends first: the hold limit or the session.
func TestLockHoldLimitCause(t *testing.T) {
	for session, want := range map[time.Duration]holdfast.Loss{
		12 * time.Second: holdfast.SessionExpired, 12*time.Second + 1: holdfast.HoldLimit,
	} {
		b := newHarness(t, &lockOrder{request: &request{hold: time.Minute}, onLost: lostKill}, "exec cat")
		b.backing.deadline = session
		b.locks[0].SetHoldEnd(12 * time.Second)
		b.manual.Advance(12*time.Second - b.guard)
		b.onTime()
		if why := holdfast.Why(b.first); why != want {
			t.Errorf("the session ends at %v, the hold limit at 12s: lost because of %v, want %v", session, why, want)
		}
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
	}
}

// That the member does not answer is reported before a loss or not at all, whichever of the
// two comes up first after a while in which this process did not run.
func TestLockLateBeforeLost(t *testing.T) {
	for _, test := range []struct {
		name  string
		early time.Duration    // before the lock is to be given up
		first func(b *harness) // what comes before the loss
		after func(b *harness) // and after it
		want  []string
	}{
		{"in time", 1, (*harness).late, func(*harness) {}, []string{"late", "lost", "killing", "exit"}},
		{"when the loss is due", 0, (*harness).late, func(*harness) {}, []string{"lost", "killing", "exit"}},
		{"after the loss", 0, func(*harness) {}, (*harness).late, []string{"lost", "killing", "exit"}},
		{"after a loss without a deadline", time.Second, func(b *harness) { b.locks[0].End(holdfast.Broken) }, (*harness).late,
			[]string{"lost", "killing", "exit"}},
	} {
		b := newHarness(t, &lockOrder{killAfter: time.Second, onLost: lostTerm}, "exec cat")
		due := 12*time.Second - time.Second - b.guard
		b.manual.Advance(due - test.early)
		test.first(b)
		if b.manual.Advance(test.early); b.locks[0].Check() == nil {
			b.lapse()
		} else {
			b.onLost(0)
		}
		test.after(b)
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
		b.settle()
		b.status.exit(0)
		b.late() // once more, from a goroutine that was slow
		var events []string
		for len(events) < len(test.want) {
			events = append(events, b.event(t).Event)
		}
		if !slices.Equal(events, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, events, test.want)
		}
	}
}

// late is what the client calls when the member does not answer.
func (b *harness) late() { b.onLate(b.backing.deadline - b.manual.Now()) }

// When a hold limit is about to end a lock, that is reported, and not that the member does not
// answer.
func TestLockLateAtHoldLimit(t *testing.T) {
	b := newHarness(t, &lockOrder{request: &request{hold: time.Minute}, onLost: lostKill}, "exec cat")
	b.backing.deadline = time.Minute
	b.locks[0].SetHoldEnd(12 * time.Second)
	b.manual.Advance(12*time.Second - b.guard)
	b.late()
	b.onTime()
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	if o := b.event(t); o.Event != "lost" || o.Why != "hold_limit" {
		t.Errorf("got %+v", o)
	}
}

// A reader of the status that does not read blocks nothing.
func TestLockStatusUnread(t *testing.T) {
	_, w := testPipe(t)
	s := newLineWriter(w, 1)
	line := make([]byte, 1<<10)
	for range 1000 {
		s.write(line)
	}
	if err := s.close(); !errors.Is(err, errUnread) {
		t.Errorf("close: %v", err)
	}
}

func TestLockShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		3 * time.Second: "3s", time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s",
		300 * time.Millisecond: "300ms", time.Hour + 10*time.Second: "1h0m10s", 10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
}
