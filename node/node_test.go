package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/node"
)

// TestMain looks for goroutines that outlive what began them. A probe of memberlist's that is under way at its end
// waits for its own deadline, and ends then.
func TestMain(m *testing.M) {
	if folder := os.Getenv(founderVariable); folder != "" {
		beFounder(folder)
	}
	const memberlist = "github.com/hashicorp/memberlist.(*Memberlist)."
	parallel.Tests()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(memberlist+"probeNode"), goleak.IgnoreAnyFunction(memberlist+"handleIndirectPing.func2"))
}

func start(t testing.TB, c node.Config) *node.Node {
	t.Helper()
	n, err := node.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// founderVariable makes this program founder a of the pair in a folder, until it is killed.
const founderVariable = "HOLDFAST_TEST_FOUNDER"

func beFounder(folder string) {
	n, err := node.Start(context.Background(), pairIn(folder)[0])
	if err == nil {
		err = n.WaitReady(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// pair are the configurations of two founders.
func pair(t *testing.T, spaces ...node.Space) [2]node.Config { return pairIn(t.TempDir(), spaces...) }

func pairIn(folder string, spaces ...node.Space) [2]node.Config {
	addresses := []string{"unix://" + filepath.Join(folder, "a"), "unix://" + filepath.Join(folder, "b")}
	var both [2]node.Config
	for i, name := range []string{"a", "b"} {
		both[i] = node.Config{
			Name: name, Listen: addresses[i], Join: addresses, Expect: 2, Spaces: spaces, State: filepath.Join(folder, name+"-state"),
		}
	}
	return both
}

// startPair starts two founders, and returns them when both are ready.
func startPair(t *testing.T, both [2]node.Config) (a, b *node.Node) {
	t.Helper()
	a, b = start(t, both[0]), start(t, both[1])
	for _, n := range []*node.Node{a, b} {
		if err := n.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// TestConformance: a Node is a Locker like every other.
func TestConformance(t *testing.T) {
	t.Parallel()
	n := start(t, node.Config{
		Spaces: []node.Space{{Name: "billing"}},
		Limits: node.Limits{WaitersPerName: 300, LocksPerSession: 250},
	})
	lockertest.Run(t, func(t testing.TB) holdfast.Locker {
		locks, err := n.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return locks
	}, lockertest.Caps{
		Class: holdfast.Fenced, Spaces: []string{"billing"}, MaxWaitersPerName: 300, LocksPerSession: 250,
		Break: func(tb testing.TB, space, name string) {
			if err := n.Break(tb.Context(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
	})
}

// TestZeroConfig: the zero Config is a member alone, with the default space.
func TestZeroConfig(t *testing.T) {
	t.Parallel()
	n := start(t, node.Config{})
	lock, err := n.Lock(t.Context(), "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.TryLock(t.Context(), "orders/42"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a second TryLock: got %v, want ErrHeld", err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	both, err := n.LockAll(t.Context(), []string{"b", "a"})
	if err != nil || len(both) != 2 || both[0].Name() != "b" {
		t.Errorf("LockAll: got %v, %v", both, err)
	}
	spaces := n.Spaces()
	if len(spaces) != 1 || spaces[0].Name != holdfast.DefaultSpace || spaces[0].Protocol != "central" || spaces[0].Class() != holdfast.Fenced {
		t.Errorf("spaces: %+v", spaces)
	}
	if n.Name() != "embedded" || len(n.View().Members) != 1 || n.Started().IsZero() || n.SyncTime() != 0 || n.Assured("") != holdfast.Forever {
		t.Errorf("it is %q in view %+v, started at %v, sync %v, assured %v", n.Name(), n.View(), n.Started(), n.SyncTime(), n.Assured(""))
	}
}

// TestOrders: the orders for whole spaces, and for one name, have their effect.
func TestOrders(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := startPair(t, pair(t, node.Space{Name: "default", Protocol: "grantor"}))
	held, err := a.Lock(ctx, "X")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Break(ctx, "", "X", "a test"); err != nil {
		t.Fatal(err)
	}
	<-held.Context().Done()
	if why := holdfast.Why(held.Check()); why != holdfast.Broken {
		t.Errorf("the lock is lost by %v, want %v", why, holdfast.Broken)
	}
	if err := b.BecomeGrantor(ctx, ""); err != nil {
		t.Error(err)
	}
	if err := b.Transfer(ctx, "", "a"); err != nil {
		t.Error(err)
	}
	if err := a.Suspend(ctx, "", "a test"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.TryLock(ctx, "Y"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("in a suspended space: got %v, want ErrHeld", err)
	}
	if err := b.Resume(ctx, "", "a test"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock(ctx, "Y"); err != nil {
		t.Error(err)
	}
	if err := b.CloseSpace(ctx, ""); err != nil {
		t.Error(err)
	}
	if err := b.OpenSpace(ctx, ""); err != nil {
		t.Error(err)
	}
	if shards, err := a.Shards(ctx, ""); err != nil && !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("shards: %v, %v", shards, err)
	}
	if err := a.Reform(ctx, "", "b", 0); !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("reform: got %v, want ErrUnsupported", err)
	}
	if err := a.SettleClaims(ctx); err != nil {
		t.Error(err)
	}
}

// TestForcedView: a founder goes on alone, by order, when the senior one of two is killed.
func TestForcedView(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	senior := exec.CommandContext(ctx, os.Args[0])
	senior.Env = append(os.Environ(), founderVariable+"="+folder)
	said, err := senior.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := senior.Start(); err != nil {
		t.Fatal(err)
	}
	b := start(t, pairIn(folder)[1])
	if err := b.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the other founder says %q, %v", line, err)
	}
	if _, err := b.PlanForce(ctx, []string{"b"}); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a plan while the quorum is there: got %v, want ErrConflict", err)
	}
	if err := errors.Join(senior.Process.Kill(), ended(senior.Wait())); err != nil {
		t.Fatal(err)
	}
	forceAlone(t, b)
}

// ended expects that a process was killed.
func ended(err error) error {
	if exit, is := errors.AsType[*exec.ExitError](err); is && !exit.Exited() {
		return nil
	}
	return fmt.Errorf("the founder was not killed: %w", err)
}

// forceAlone has a founder plan and force a view of itself alone.
func forceAlone(t *testing.T, b *node.Node) {
	t.Helper()
	ctx := t.Context()
	if b.Forced() != nil {
		t.Errorf("no view was forced, and it has %+v", b.Forced())
	}
	plan, err := b.PlanForce(ctx, []string{"b"})
	for errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, holdfast.ErrConflict) { // it has to find out first that a is gone
		look, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		if err := b.WaitReady(look); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the quorum: got %v, want that it is waited for", err)
		}
		cancel()
		plan, err = b.PlanForce(ctx, []string{"b"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(plan.Named, []string{"b"}) || !slices.Equal(plan.Rivals, []string{"a"}) || len(plan.Spaces) != 1 || !plan.Spaces[0].Serves {
		t.Errorf("the plan is %+v", plan)
	}
	if _, err := b.Force(ctx, node.ForceView{Members: plan.Named, Reason: "a test", Confirm: "another"}); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a code that does not fit: got %v, want ErrConflict", err)
	}
	forced, err := b.Force(ctx, node.ForceView{Members: plan.Named, Reason: "a test", By: "the test", Confirm: plan.Code})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(forced.Members, []string{"b"}) || forced.Reason != "a test" || forced.By != "the test" || forced.Replaced != plan.View || forced.Time.IsZero() {
		t.Errorf("the forced view is %+v", forced)
	}
	if later := b.Forced(); later == nil || later.View != forced.View {
		t.Errorf("the latest forced view is %+v, want %+v", later, forced)
	}
	if err := b.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.TryLock(ctx, "X"); err != nil {
		t.Errorf("after the forced view: %v", err)
	}
}

// TestStartErrors: an error that says what to do about it is a StartError, and others are not.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	n := start(t, node.Config{Data: folder, Spaces: []node.Space{{Name: "default", Protocol: "consensus"}}})
	if n.SyncTime() <= 0 {
		t.Errorf("the disk was not measured: %v", n.SyncTime())
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	other := node.Config{Data: folder, Spaces: []node.Space{{Name: "default", Protocol: "consensus", Options: map[string]string{"shards": "3"}}}}
	_, err := node.Start(t.Context(), other)
	if _, is := errors.AsType[*node.StartError](err); !is {
		t.Errorf("other shards than the folder has: got %v (%T), want a StartError", err, err)
	}
	_, err = node.Start(t.Context(), node.Config{Drift: 2})
	if _, is := errors.AsType[*node.StartError](err); err == nil || is {
		t.Errorf("a drift of 2: got %v (%T), want another error", err, err)
	}
}
