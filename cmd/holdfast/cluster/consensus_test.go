package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// lasting are the settings of a cluster whose default space has protocol consensus. The lease is that of the sessions,
// too: they outlast the search for a leader, which takes an election timeout (1 s) to two where votes are not split.
func lasting(t *testing.T) clustertest.Settings {
	folder := t.TempDir()
	return clustertest.Settings{
		Lease: steady(), Data: func(name string) string { return filepath.Join(folder, name) },
	}
}

// layLasting starts such a cluster of three on loopback, and workers.
func layLasting(t *testing.T, workers int) *harness {
	t.Helper()
	t.Parallel()
	settings := lasting(t)
	settings.Addresses = loopback(t, 3)
	b := prepare(t, settings)
	b.begin(workers)
	return b
}

// leader returns the member that leads the default space, as one sees it that runs.
func (b *harness) leader(without ...*clustertest.Member) *clustertest.Member {
	b.Helper()
	status, err := b.cluster.AwaitStatus(b.ctx, b.another(without...), "a member leads that runs", func(s *schema.Status) bool {
		space := s.Spaces[0]
		return space.State == "ready" && len(space.Authority) == 1 &&
			slices.Contains(b.cluster.Others(without...), b.cluster.Member(space.Authority[0]))
	})
	b.check(err)
	return b.cluster.Member(status.Spaces[0].Authority[0])
}

// waitingCommand is a `holdfast lock` that waits for a name, and has it until it is ended.
type waitingCommand struct {
	*harness
	name    string
	command *exec.Cmd
	input   io.WriteCloser
	says    chan said
	errors  bytes.Buffer // may be read when the command was waited for
	token   holdfast.Token
}

// said is a line that it writes about what happens.
type said struct {
	Event string
	Token holdfast.Token
	Why   string
}

// send starts a command that goes to one member first, and to the others when it must. Flags are further ones of its.
func (b *harness) send(first *clustertest.Member, name string, flags ...string) *waitingCommand {
	b.Helper()
	e := &waitingCommand{harness: b, name: name, says: make(chan said, 100)}
	command := append([]string{"lock", "--server", b.cluster.Servers(b.index(first)), "--status-fd", "1", "--kill-after", "500ms"}, flags...)
	e.command = exec.CommandContext(b.ctx, program, append(command, name, "--", "cat")...)
	e.command.Stderr = &e.errors
	var err error
	e.input, err = e.command.StdinPipe()
	b.check(err)
	out, err := e.command.StdoutPipe()
	b.check(err)
	b.check(e.command.Start())
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer close(e.says)
		for lines := json.NewDecoder(out); ; {
			var s said
			if lines.Decode(&s) != nil {
				return // it has ended
			}
			e.says <- s
		}
	}()
	b.Cleanup(func() {
		if e.command.ProcessState == nil {
			_ = e.command.Process.Kill() // the test has failed
			<-heard
			_ = e.command.Wait()
		}
	})
	return e
}

// until waits until it says that something has happened.
func (e *waitingCommand) until(event string) said {
	e.Helper()
	for s := range e.says {
		if s.Event == event {
			return s
		}
		if s.Event == "lost" || s.Event == "exit" {
			e.Fatalf("the command with %s, which was to be %s, got %+v: %v: %s", e.name, event, s, e.command.Wait(), e.errors.String())
		}
	}
	e.Fatalf("the command with %s has ended before it was %s: %v: %s", e.name, event, e.command.Wait(), e.errors.String())
	return said{}
}

// acquired waits until it has the lock.
func (e *waitingCommand) acquired() *waitingCommand {
	e.Helper()
	e.token = e.until("acquired").Token
	return e
}

// finish lets its command end: it must have had the lock all the while, under the token that it was given.
func (e *waitingCommand) finish() {
	e.Helper()
	e.check(e.input.Close())
	if s := e.until("released"); s.Token != e.token {
		e.Errorf("%s was released under token %v, and was given under %v", e.name, s.Token, e.token)
	}
	for range e.says { // until it has ended
	}
	if err := e.command.Wait(); err != nil { // an exit code other than 0
		e.Errorf("the command with %s: %v: %s", e.name, err, e.errors.String())
	}
	e.logf("the command under token %v of %s has ended well", e.token, e.name)
}

// awaitLock asks a member until what it shows of a name is as wanted. While no member leads it refuses to show
// anything.
func (b *harness) awaitLock(through *clustertest.Member, name, what string, is func(*schema.Lock) bool) *schema.Lock {
	b.Helper()
	admin := b.adminOf(through)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		shown, err := admin.Show(b.ctx, "", name)
		switch {
		case err == nil && is(shown):
			return shown
		case b.ctx.Err() == nil && err != nil && !errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
			b.Fatalf("%s shows %s: %v", through.Name, name, err)
		}
		select {
		case <-look.C:
		case <-b.ctx.Done():
			b.Fatalf("%s does not show %s %s: %+v, %v", through.Name, name, what, shown, err)
		}
	}
}

// scene is a name that a command holds, and others wait for in order.
type scene struct {
	*harness
	holder  *waitingCommand
	waiting []*waitingCommand
}

// set lets a command through one member hold a name, and others wait for it through some, one after the other.
func (b *harness) set(name string, holds *clustertest.Member, wait ...*clustertest.Member) *scene {
	b.Helper()
	s := &scene{harness: b, holder: b.send(holds, name).acquired()}
	for _, m := range wait {
		s.waiting = append(s.waiting, b.send(m, name))
		b.awaitLock(holds, name, "with a waiter more", func(l *schema.Lock) bool { return len(l.Waiters) == len(s.waiting) })
	}
	b.logf("%s is held under token %v through %s, and %d wait", name, s.holder.token, holds.Name, len(wait))
	return s
}

// stands asserts that a member shows the holder with its token, and all who wait, in their order.
func (s *scene) stands(through *clustertest.Member) {
	s.Helper()
	shown := s.awaitLock(through, s.holder.name, "held", func(*schema.Lock) bool { return true })
	if len(shown.Holders) != 1 || shown.Holders[0].Token != uint64(s.holder.token) || len(shown.Waiters) != len(s.waiting) {
		s.Fatalf("%s shows %s held by %+v, and waited for by %+v; want token %v, and %d who wait",
			through.Name, s.holder.name, shown.Holders, shown.Waiters, s.holder.token, len(s.waiting))
	}
	s.logf("%s shows %s under token %v", through.Name, s.holder.name, s.holder.token)
}

// play lets the holder end, and one after the other of those who wait, each of which must be granted the lock in its
// turn, under a higher token.
func (s *scene) play() {
	s.Helper()
	s.holder.finish()
	last := s.holder
	for _, next := range s.waiting {
		if next.acquired().token <= last.token {
			s.Errorf("%s was granted under token %v, after %v", next.name, next.token, last.token)
		}
		next.finish()
		last = next
	}
}

// keeps lets a worker go on that keeps the register: it must have it still.
func (b *harness) keeps(keeper *clustertest.Process, kept clustertest.Event) {
	b.Helper()
	if write, end := b.goOn(keeper, kept); write.Kind != clustertest.Wrote || end.Kind != clustertest.Left {
		b.Errorf("the holder got %s and %s %s: what is held outlasts its member", write.Kind, end.Kind, end.Why)
	}
}

// TestLastingLeaderKilled: everything that is held or waited for through the leader goes on at the others, under the same
// tokens.
func TestLastingLeaderKilled(t *testing.T) {
	b := layLasting(t, 6)
	victim := b.leader()
	others := b.cluster.Others(victim)
	s := b.set("report", victim, victim, others[0], victim)
	keeper, kept := b.keep(victim)
	mark, at := b.kill("the leader, through which most is held and waited for", victim)
	b.logf("%s leads", b.leader(victim).Name)
	for _, m := range others {
		s.stands(m)
	}
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	s.play()
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	b.revive()
	b.wantNoneLost(b.judge())
}

// TestLastingAllKilled: all members are killed and started again on their folders. Everything is as it was.
func TestLastingAllKilled(t *testing.T) {
	b := layLasting(t, 6)
	all := b.cluster.Members
	s := b.set("report", all[0], all[1], all[2], all[0])
	keeper, kept := b.keep(all[1])
	mark, at := b.kill("all members", all...)
	for _, m := range all {
		b.check(m.Start())
	}
	b.logf("%s leads", b.leader().Name)
	for _, m := range all {
		s.stands(m)
	}
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	s.play()
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	b.healed()
	b.wantNoneLost(b.judge())
}

// farewells are the ways in which a member leaves in good order.
var farewells = []struct {
	name string
	bid  func(*harness, *clustertest.Member) error
}{
	{"TERM", func(_ *harness, m *clustertest.Member) error { return m.Terminate() }},
	{"leave", func(b *harness, m *clustertest.Member) error { return b.adminOf(m).Leave(b.ctx, 0) }},
	{"drain", func(b *harness, m *clustertest.Member) error { return b.adminOf(m).Drain(b.ctx, 0) }},
}

// TestLastingLeaves: every member is restarted in turn, under load, by each of the ways in which one leaves in good order,
// whichever member leads. Everything that is held or waited for through it goes on at the others, under the same tokens and in the
// same order, and so does what was acquired by a single call.
func TestLastingLeaves(t *testing.T) {
	t.Parallel()
	for _, how := range farewells {
		t.Run(how.name, func(t *testing.T) {
			b := layLasting(t, 6)
			var scenes []*scene
			for _, m := range b.cluster.Members {
				others := b.cluster.Others(m)
				scenes = append(scenes, b.set("report-"+m.Name, m, m, others[0], m))
				script := b.acquire(m, "script-"+m.Name)
				keeper, kept := b.keep(m)
				b.check(how.bid(b, m))
				mark, at := b.fault("member %s leaves by %s", m.Name, how.name)
				b.check(m.AwaitEnd(b.ctx))
				b.logf("member %s has ended with 0", m.Name)
				for _, o := range others {
					for _, s := range scenes {
						s.stands(o)
					}
				}
				b.keeps(keeper, kept)
				b.awaitPassed(mark, kept)
				b.handBack(script, others[0], others[1])
				b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
				b.check(m.Start())
				b.healed()
			}
			for _, s := range scenes {
				s.play()
			}
			b.wantNoneLost(b.judge())
		})
	}
}

// TestLastingOutOfTheView: a member stands still while another coordinator is elected, and has no place in the view until its
// lease is over. All the while it serves its clients, and then sends them to the other one: they lose nothing, and neither does
// one whose session is shorter than the lease, which no horizon outlasts.
func TestLastingOutOfTheView(t *testing.T) {
	b := layLasting(t, 6)
	leaver := b.coordinator()
	others := b.cluster.Others(leaver)
	victim, successor := others[0], others[1]
	s := b.set("report", victim, victim, successor, victim)
	short := b.send(victim, "short", "--ttl", (3 * b.cluster.Lease() / 4).String()).acquired()
	keeper, kept := b.keep(victim)
	b.check(victim.Stop()) // it looks at the process's state
	b.check(leaver.Terminate())
	mark, at := b.fault("member %s was stopped, and %s, the coordinator, leaves", victim.Name, leaver.Name)
	_, err := b.cluster.AwaitStatus(b.ctx, successor, successor.Name+" is alone in the view", func(s *schema.Status) bool {
		return len(s.View.Members) == 1 && s.View.Coordinator == successor.Name
	})
	b.check(err)
	b.check(victim.Continue())
	b.logf("member %s goes on, and %s is alone in the view", victim.Name, successor.Name)
	b.check(leaver.AwaitEnd(b.ctx))
	s.stands(victim)
	b.check(b.cluster.AwaitView(b.ctx, successor, successor, victim)) // it is admitted when its lease is over, under another tenure
	b.logf("member %s is back", victim.Name)
	for _, m := range others {
		s.stands(m)
	}
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(leaver.Start())
	b.healed()
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	s.play()
	short.finish()
	b.wantNoneLost(b.judge())
}

// acquire takes a name by a single call, as a script does.
func (b *harness) acquire(through *clustertest.Member, name string) *schema.AcquiredAll {
	b.Helper()
	acquired, err := b.adminOf(through).Acquire(b.ctx, "", client.Acquisition{Names: []string{name}})
	b.check(err)
	return acquired
}

// handBack renews what was acquired like that through one member, and releases it through another one.
func (b *harness) handBack(acquired *schema.AcquiredAll, renew, release *clustertest.Member) {
	b.Helper()
	_, err := b.adminOf(renew).Renew(b.ctx, acquired.Session, 0)
	b.check(err)
	for _, l := range acquired.Locks {
		b.check(b.adminOf(release).Release(b.ctx, "", l.Name, holdfast.Token(l.Token), acquired.Session))
		b.logf("%s was renewed through %s, and released through %s", l.Name, renew.Name, release.Name)
	}
}

// TestLastingRetried: a client without a stream, which does not know what has become of its call, makes it again through another
// member, with the same id. It has what it wants once: while it waits, when it has been granted it, when the member that it has
// turned away from notices that, and when that one has been killed.
func TestLastingRetried(t *testing.T) {
	b := layLasting(t, 0)
	first, second, third := b.cluster.Members[0], b.cluster.Members[1], b.cluster.Members[2]
	acquired, err := b.adminOf(first).Acquire(b.ctx, "", client.Acquisition{Names: []string{"script"}, TTL: time.Minute})
	b.check(err)
	session := acquired.Session
	call := func(ctx context.Context, through *clustertest.Member, name, request string) (holdfast.Token, error) {
		acquired, err := b.adminOf(through).Acquire(ctx, "", client.Acquisition{
			Names: []string{name}, Session: session, Request: request, Options: []holdfast.Option{holdfast.Wait(time.Minute)},
		})
		if err != nil {
			return 0, err
		}
		return holdfast.Token(acquired.Locks[0].Token), nil
	}
	again := func(through *clustertest.Member, name, request string, want holdfast.Token) {
		t.Helper()
		token, err := call(b.ctx, through, name, request)
		b.check(err)
		if token != want {
			t.Errorf("%s was granted under token %v, and when it was asked for again through %s under %v", name, want, through.Name, token)
		}
		shown, err := b.adminOf(through).Show(b.ctx, "", name)
		b.check(err)
		if len(shown.Holders) != 1 || len(shown.Waiters) != 0 {
			t.Errorf("%s has holders %+v and waiters %+v", name, shown.Holders, shown.Waiters)
		}
	}
	granted, err := call(b.ctx, first, "granted", "order 1")
	b.check(err)
	again(second, "granted", "order 1", granted)

	holder := b.send(third, "waits").acquired()
	type answer struct {
		token holdfast.Token
		err   error
	}
	ask := func(ctx context.Context, through *clustertest.Member) chan answer {
		answered := make(chan answer, 1)
		go func() {
			token, err := call(ctx, through, "waits", "order 2")
			answered <- answer{token, err}
		}()
		return answered
	}
	ctx, turnAway := context.WithCancel(b.ctx)
	defer turnAway()
	one := ask(ctx, first)
	b.awaitLock(third, "waits", "with a waiter", func(l *schema.Lock) bool { return len(l.Waiters) == 1 })
	two := ask(b.ctx, second)
	turnAway()
	if a := <-one; !errors.Is(a.err, context.Canceled) {
		t.Errorf("the client that has turned away is answered %+v", a)
	}
	holder.finish()
	waited := <-two
	b.check(waited.err)
	again(second, "waits", "order 2", waited.token)

	b.kill("the member that was asked first", first)
	again(third, "granted", "order 1", granted)
	again(third, "waits", "order 2", waited.token)
	for name, token := range map[string]holdfast.Token{"granted": granted, "waits": waited.token} {
		b.check(b.adminOf(third).Release(b.ctx, "", name, token, session))
		b.awaitLock(second, name, "free", func(l *schema.Lock) bool { return len(l.Holders)+len(l.Waiters) == 0 })
	}
	if token, err := call(b.ctx, second, "granted", "order 1"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("asked for again when it was released: token %v, %v", token, err)
	}
}

// TestLastingAlone: a member alone gets SIGTERM, and is started again, while a client holds a lock through it and others
// wait. They notice nothing.
func TestLastingAlone(t *testing.T) {
	t.Parallel()
	settings := lasting(t)
	settings.Addresses = loopback(t, 1)
	b := prepare(t, settings)
	b.begin(2)
	m := b.cluster.Members[0]
	s := b.set("report", m, m, m)
	script := b.acquire(m, "script")
	keeper, kept := b.keep(m)
	for range 2 {
		b.leave(m)
		b.check(m.Start())
		b.check(m.AwaitReady(b.ctx))
		s.stands(m)
	}
	b.keeps(keeper, kept)
	b.handBack(script, m, m)
	s.play()
	b.healed()
	b.wantNoneLost(b.judge())
}

// wantNoneLost asserts that no client has lost anything.
func (b *harness) wantNoneLost(v clustertest.Verdict) {
	b.Helper()
	if v.Lost+v.Stale > 0 {
		b.Errorf("%d locks were lost, and %d writes refused: what is held outlasts its member", v.Lost, v.Stale)
	}
}
