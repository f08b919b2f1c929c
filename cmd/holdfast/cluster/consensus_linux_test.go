package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestLastingMinority: the leader and the other members do not reach each other, while all clients reach every member. It
// grants nothing and shows nothing any more, and what is held through it goes on at the others. When it reaches them again
// it knows what they have done.
func TestLastingMinority(t *testing.T) {
	b, n := layNetworkOf(t, 6, lasting(t))
	victim := b.leader()
	others := b.cluster.Others(victim)
	s := b.set("report", victim, victim, others[0])
	keeper, kept := b.keep(victim)
	for _, m := range others {
		n.cut(b.index(victim), b.index(m))
		n.block(b.index(m), b.index(victim))
	}
	mark, at := b.fault("%s, which leads, was cut off from the other members", victim.Name)
	b.logf("%s leads", b.leader(victim).Name)
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	apart := b.workers.Mark()
	b.refuses(victim, "report")
	b.remembers(victim, s.holder)
	for _, m := range others {
		s.stands(m)
	}
	meanwhile := b.set("meanwhile", others[0], others[1])
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	s.play()
	b.refuses(victim, "report") // all the while
	b.remembers(victim, s.holder)
	for _, m := range others {
		if n.reaches(b.index(victim), b.index(m)) {
			b.Fatalf("%s reaches %s, from which it was cut off", victim.Name, m.Name)
		}
	}
	for _, e := range b.workers.History(apart) {
		if e.Kind == clustertest.Entered && e.Member == victim.Name {
			b.Errorf("worker %d was granted %s under token %v through %s, which is cut off", e.Worker, e.Name, e.Token, victim.Name)
		}
	}
	for _, m := range others {
		n.unblock(b.index(victim), b.index(m))
		n.mend(b.index(m), b.index(victim))
	}
	b.logf("the cuts were mended")
	b.healed()
	meanwhile.stands(victim)
	meanwhile.play()
	b.wantNoneLost(b.judge())
}

// refuses asserts that a member neither grants a name nor shows it.
func (b *harness) refuses(m *clustertest.Member, name string) {
	b.Helper()
	if shown, err := b.adminOf(m).Show(b.ctx, "", name); !errors.Is(err, holdfast.ErrUnavailable) {
		b.Errorf("%s, which is cut off, shows %s: %+v, %v", m.Name, name, shown, err)
	}
	// It may let no client in at all, or let a client that asks for a free lock wait for an answer.
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
	defer cancel()
	locks, err := client.Dial(ctx, m.Address)
	if err == nil {
		_, err = locks.TryLock(ctx, "free")
		_ = locks.Close() // no member can say that the session has ended
	}
	if !errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("%s, which is cut off, was asked for a name: %v", m.Name, err)
	}
	b.logf("%s grants and shows nothing: %v", m.Name, err)
}

// remembers asserts that a member shows what it had, to a client that accepts stale answers.
func (b *harness) remembers(m *clustertest.Member, e *waitingCommand) {
	b.Helper()
	shown, err := b.adminOf(m).Stale().Show(b.ctx, "", e.name)
	b.check(err)
	if len(shown.Holders) != 1 || shown.Holders[0].Token != uint64(e.token) {
		b.Errorf("%s, which is cut off, remembers that %s is held by %+v; want token %v", m.Name, e.name, shown.Holders, e.token)
	}
	page, err := b.adminOf(m).Stale().List(b.ctx, "", e.name, "", 0)
	b.check(err)
	if len(page.Locks) != 1 || page.Locks[0].Token != uint64(e.token) {
		b.Errorf("%s, which is cut off, lists %+v; want %s under token %v", m.Name, page.Locks, e.name, e.token)
	}
}

// disk is a file system of its own for the data folder of each member, in memory.
type disk struct {
	*harness
	folder func(name string) string
}

// diskBytes is how large each is: a few times what a journal has at its beginning.
const diskBytes = 64 << 20

// layDisks starts a cluster of protocol consensus whose members have a small disk each, and workers. Where that cannot
// be done, the test is skipped.
func layDisks(t *testing.T, workers int) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("to mount a small disk needs root")
	}
	if testing.Short() {
		t.Skip("real clusters take a minute or two; run without -short")
	}
	t.Parallel()
	settings := lasting(t)
	settings.Addresses = loopback(t, 3)
	for _, name := range []string{"a", "b", "c"} {
		at := settings.Data(name)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size=67108864"); err != nil {
			t.Skipf("no small disk can be mounted here: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, 0); err != nil {
				t.Errorf("unmount %s: %v", at, err)
			}
		})
	}
	b := prepare(t, settings)
	b.workers.Worker = worker(clustertest.ShortHold) // the log needs a new block the sooner
	b.begin(workers)
	return &disk{b, settings.Data}
}

// ballast is the file that fills the disk of a member.
func (d *disk) ballast(m *clustertest.Member) string {
	return filepath.Join(d.folder(m.Name), "ballast")
}

// left is how much can be written there still.
func (d *disk) left(m *clustertest.Member) uint64 {
	d.Helper()
	var s unix.Statfs_t
	d.check(unix.Statfs(d.folder(m.Name), &s))
	return s.Bavail * uint64(s.Bsize)
}

// fill fills the disk of a member to its last block.
func (d *disk) fill(m *clustertest.Member) {
	d.Helper()
	if left := d.left(m); left == 0 || left > diskBytes {
		d.Fatalf("the disk of %s has %d bytes left of %d before it is filled", m.Name, left, diskBytes)
	}
	file, err := os.Create(d.ballast(m))
	d.check(err)
	defer func() { d.check(file.Close()) }()
	for block := make([]byte, 4096); ; {
		if _, err := file.Write(block); errors.Is(err, unix.ENOSPC) {
			break
		} else if err != nil {
			d.Fatal(err)
		}
	}
	if left := d.left(m); left != 0 {
		d.Fatalf("the disk of %s has %d bytes left after it was filled", m.Name, left)
	}
}

// unfitCode is the exit code of a member that cannot go on as it is set up.
const unfitCode = 78

// TestLastingDiskFull: the leader's disk is full. It says so and ends, and all that it led, and that came through it, goes on
// at the others. With room again it is started again, and has everything.
func TestLastingDiskFull(t *testing.T) {
	d := layDisks(t, 6)
	victim := d.leader()
	others := d.cluster.Others(victim)
	s := d.set("report", victim, victim, others[0])
	keeper, kept := d.keep(victim)
	d.fill(victim)
	mark, at := d.fault("the disk of %s, which leads, is full", victim.Name)
	code, err := victim.AwaitExit(d.ctx)
	d.check(err)
	d.logf("%s has ended with %d, and says: %s", victim.Name, code, victim.Log())
	for _, text := range []string{"data folder " + d.folder(victim.Name), "no space left on device", "check the disk, then start the member again"} {
		if !strings.Contains(victim.Log(), text) {
			t.Errorf("%s does not say %q", victim.Name, text)
		}
	}
	if code != unfitCode {
		t.Errorf("%s has ended with %d, want %d", victim.Name, code, unfitCode)
	}
	d.logf("%s leads", d.leader(victim).Name)
	for _, m := range others {
		s.stands(m)
	}
	d.keeps(keeper, kept)
	d.awaitPassed(mark, kept)
	d.check(d.workers.AwaitAll(d.ctx, mark, at, d.workers.Workers()...))

	d.check(os.Remove(d.ballast(victim)))
	d.check(victim.Start())
	d.healed()
	s.stands(victim)
	s.play()
	d.wantNoneLost(d.judge())
}
