package cluster

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// The defaults make the whole package take a minute or two.
var (
	lease   = flag.Duration("lease", 1500*time.Millisecond, "the members' lease; a tenth of it is their patience")
	level   = flag.String("log", "warn", "what the members write to their logs, which are shown where a test fails")
	stay    = flag.Duration("stay", 100*time.Millisecond, "the longest time for which a worker has a lock; the shorter, the busier the members")
	crashes = flag.Int("crashes", 2, "TestGap, TestGrantorGap, TestLeaderGap, TestLastingGap: how often a member is killed")
	moves   = flag.Int("transfers", 60, "TestTransferGap: how often grantorship is handed over")
	held    = flag.Int("held", 5000, "TestReconcile: how many locks are held")
	elects  = flag.Int("elections", 10, "TestElections: how often the leader of each protocol is killed, paused, cut off, or resigns")
	sizes   = flag.String("members", "3,5", "TestFirstView: how many members, separated by commas")
)

// program is the holdfast binary.
var program string

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == candidateWord {
		os.Exit(runCandidate(os.Args[2:]))
	}
	parallel.Programs()
	flag.Parse()
	if testing.Short() {
		goleak.VerifyTestMain(m) // nothing needs the program
		return
	}
	os.Exit(withProgram(m))
}

// withProgram builds the program, without what debuggers read, and runs the tests.
func withProgram(m *testing.M) int {
	clustertest.DefaultSignals()
	folder, err := os.MkdirTemp("", "holdfast-cluster-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "holdfast")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", program, "..").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	code := 1
	goleak.VerifyTestMain(m, goleak.Cleanup(func(verdict int) { code = verdict }))
	return code
}

// patience is how long a test waits for what must come. Nothing waits so long but a
// test that fails. A test that kills many members has more, in proportion.
const patience = 2 * time.Minute

// steady is the members' lease in a test that asserts that something is held throughout, and
// not only what must hold where it is lost. Members that get no processor for three tenths of
// a lease may elect another coordinator, and for a whole one lose what is held through them;
// a machine that others share has been seen to stand still for more than a second. The first
// view waits for a lease, so tests that nothing of the kind can fail have the short one.
func steady() time.Duration { return max(*lease, 8*time.Second) }

// harness is a cluster with workers.
type harness struct {
	*testing.T
	ctx     context.Context
	cluster *clustertest.Cluster
	workers *clustertest.Group
	began   time.Duration
}

// lay starts a cluster of three on loopback, and workers. Flags are further ones of each
// member.
func lay(t *testing.T, workers int, flags ...string) *harness {
	t.Helper()
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Flags: flags})
	b.begin(workers)
	return b
}

// loopback returns addresses of this machine that no other process uses. On Linux all
// of 127.0.0.0/8 is loopback, and what a connection gets for its own end is 127.0.0.1:
// so the addresses stay free while their members are down.
func loopback(t *testing.T, count int) (addresses []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		addresses, err := clustertest.FreeAddresses(count)
		if err != nil {
			t.Fatal(err)
		}
		return addresses
	}
	second, third := 1+rand.IntN(254), rand.IntN(256)
	for i := range count {
		addresses = append(addresses, fmt.Sprintf("127.%d.%d.%d:4040", second, third, 1+i))
	}
	return addresses
}

// prepare makes a cluster that has not started, with the lease of the flag unless the
// settings have another. All processes end with the test, and
// what the members have said is shown where it has failed.
func prepare(t *testing.T, settings clustertest.Settings) *harness {
	t.Helper()
	if testing.Short() {
		t.Skip("real clusters take a minute or two; run without -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Duration(*crashes+*elects)*patience/12)
	settings.Program, settings.Folder, settings.Lease = program, t.TempDir(), cmp.Or(settings.Lease, *lease)
	settings.Patience = settings.Lease / 10
	settings.LogLevel = cmp.Or(settings.LogLevel, *level)
	b := &harness{
		T: t, ctx: ctx, cluster: clustertest.NewCluster(settings),
		workers: clustertest.NewGroup(worker(*stay), filepath.Join(settings.Folder, "register")),
	}
	b.began = b.workers.Now()
	t.Cleanup(func() {
		defer cancel()
		for _, m := range b.cluster.Members {
			if m.Running() {
				b.check(m.Kill())
			}
			if t.Failed() && m.Process != nil {
				t.Logf("member %s says:\n%s", m.Name, m.Log())
			}
		}
	})
	return b
}

// worker is the command of a worker.
func worker(stay time.Duration) []string {
	return []string{program, "demo-worker", "--stay", stay.String()}
}

// begin starts members, and workers through all of them in turn.
func (b *harness) begin(workers int) {
	b.Helper()
	b.check(b.cluster.Start(b.ctx))
	b.check(b.workers.StartAll(b.cluster, workers))
	b.check(b.workers.AwaitAll(b.ctx, 0, 0, b.workers.Workers()...))
	b.logf("%d workers at work", workers)
}

// check ends the test where something went wrong that must not.
func (b *harness) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// logf logs with the time since the beginning.
func (b *harness) logf(format string, arguments ...any) {
	b.Helper()
	b.Logf("%6.2fs  %s", (b.workers.Now() - b.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// coordinator returns the member that coordinates, as any that runs sees it.
func (b *harness) coordinator() *clustertest.Member {
	b.Helper()
	m, err := b.cluster.Coordinator(b.ctx, b.cluster.Others()[0])
	b.check(err)
	return m
}

// index is the place of a member.
func (b *harness) index(m *clustertest.Member) int { return slices.Index(b.cluster.Members, m) }

// another returns a member that runs and is none of these.
func (b *harness) another(than ...*clustertest.Member) *clustertest.Member {
	b.Helper()
	others := b.cluster.Others(than...)
	if len(others) == 0 {
		b.Fatal("there is no other member")
	}
	return others[0]
}

// keep lets a worker keep the register that goes through a member.
func (b *harness) keep(through *clustertest.Member) (*clustertest.Process, clustertest.Event) {
	b.Helper()
	keeper, kept, err := b.workers.KeepThrough(b.ctx, b.cluster, func(name string) bool { return name == through.Name }, through)
	b.check(err)
	b.logf("worker %d keeps the register through %s under token %v", keeper.Number, kept.Member, kept.Token)
	return keeper, kept
}

// goOn lets a worker go on that keeps the register: it writes, and gives it back. It returns
// what the worker reports: whether the register took the write, and how the stay ended.
func (b *harness) goOn(keeper *clustertest.Process, kept clustertest.Event) (write, end clustertest.Event) {
	b.Helper()
	mark := b.workers.Mark()
	b.check(keeper.Order("go on"))
	about := func(kinds ...clustertest.Kind) func(clustertest.Event) bool {
		return func(e clustertest.Event) bool {
			return e.Worker == keeper.Number && e.Token == kept.Token && slices.Contains(kinds, e.Kind)
		}
	}
	write = b.await("a write", mark, about(clustertest.Wrote, clustertest.Refused))
	end = b.await("the end of a stay", mark, about(clustertest.Left, clustertest.Lost))
	b.logf("worker %d: %s, %s %s", keeper.Number, write.Kind, end.Kind, end.Why)
	return write, end
}

func (b *harness) await(what string, mark int, is func(clustertest.Event) bool) clustertest.Event {
	b.Helper()
	e, err := b.workers.Await(b.ctx, what, mark, is)
	b.check(err)
	return e
}

// fault notes that something was done, and returns where the history stood.
func (b *harness) fault(format string, arguments ...any) (mark int, at time.Duration) {
	b.Helper()
	text := fmt.Sprintf(format, arguments...)
	b.logf("%s", text)
	mark, at = b.workers.Mark(), b.workers.Now()
	b.workers.Note(clustertest.Event{Kind: clustertest.Fault, Why: text})
	return mark, at
}

// reign is the part of a token that says under which authority it was given.
func reign(t holdfast.Token) uint64 { return uint64(t) >> 32 }

// awaitReign waits for a grant by a later authority than the one that gave a token.
func (b *harness) awaitReign(mark int, after holdfast.Token) clustertest.Event {
	b.Helper()
	e := b.await("a grant by another authority", mark, func(e clustertest.Event) bool {
		return e.Kind == clustertest.Entered && reign(e.Token) > reign(after)
	})
	b.logf("worker %d was granted %s through %s by the authority of reign %d", e.Worker, e.Name, e.Member, reign(e.Token))
	return e
}

// awaitPassed waits until another worker has written under a later token.
func (b *harness) awaitPassed(mark int, kept clustertest.Event) {
	b.Helper()
	e := b.await("a write by another worker", mark, func(e clustertest.Event) bool {
		return e.Kind == clustertest.Wrote && e.Token > kept.Token
	})
	b.logf("worker %d has written through %s under token %v", e.Worker, e.Member, e.Token)
}

// healed waits until all members that run see one another, and every worker has been
// granted a lock since.
func (b *harness) healed() {
	b.Helper()
	members := b.cluster.Others()
	for _, m := range members {
		b.check(b.cluster.AwaitView(b.ctx, m, members...))
	}
	b.logf("%d members see one another", len(members))
	b.workers.Note(clustertest.Event{Kind: clustertest.Calm})
	b.check(b.workers.AwaitAll(b.ctx, b.workers.Mark(), b.workers.Now(), b.workers.Workers()...))
	b.logf("all workers go on")
}

// judge ends workers and members in good order, and judges.
func (b *harness) judge() clustertest.Verdict {
	b.Helper()
	b.check(b.workers.Finish())
	b.check(b.cluster.End(b.ctx))
	v, err := b.workers.Judge()
	b.check(err)
	for _, violation := range v.Violations {
		b.Error(violation)
	}
	if v.Handoffs == 0 {
		b.Error("no lock changed hands")
	}
	b.logf("grants=%d handoffs=%d stale_refused=%d lost=%d violations=%d", v.Grants, v.Handoffs, v.Stale, v.Lost, len(v.Violations))
	return v
}
