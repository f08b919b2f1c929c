package kubernetes_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// TestOneLeads runs three LeaderElectors of client-go: one leads at a time, by the tokens that the resource sees. A
// leader that is cancelled frees the lock at once; one that loses it stops at once, and its elector soon after.
func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		r := &resource{t: t}
		candidates := map[string]*candidate{}
		cancels := map[string]context.CancelFunc{}
		dones := map[string]<-chan struct{}{}
		for _, identity := range []string{"a", "b", "c"} {
			c := newCandidate(t, locks, r, identity, true)
			candidates[identity] = c
			cancels[identity], dones[identity] = c.run(t)
		}
		pass(5 * leaseDuration)
		first, led := r.leader()
		if led != 1 || first == "" {
			t.Fatalf("%d candidates have led, and %q leads", led, first)
		}
		if record, _, err := candidates[first].lock.Get(t.Context()); err != nil || record.HolderIdentity != first || record.LeaderTransitions != 0 {
			t.Errorf("the record of %q is %+v: %v", first, record, err)
		}

		cancels[first]()
		<-dones[first]
		<-candidates[first].stopped
		if held := locks.Values("scheduler"); len(held) != 0 {
			t.Errorf("the lock is held after the leader was cancelled: %q", held)
		}
		pass(3 * retryPeriod) // client-go waits for up to 2.2 times the period
		second, led := r.leader()
		if led != 2 || second == first {
			t.Fatalf("after %q leads %q", first, second)
		}

		candidates[second].client.Expire()
		if held := candidates[second].lock.Granted(); held.Context().Err() == nil {
			t.Error("the context of the leader goes on after the loss of its lock")
		}
		pass(3 * retryPeriod)
		third, led := r.leader()
		if led != 3 || third == second || third == first {
			t.Fatalf("after %q and %q leads %q", first, second, third)
		}
		pass(renewDeadline)
		<-candidates[second].stopped
		<-dones[second]

		cancels[third]()
		<-dones[third]
		pass(leaseDuration)
		if leader, led := r.leader(); led != 3 {
			t.Errorf("%q leads after the end of all candidates", leader)
		}
	})
}

// TestLossIsNoticed checks that an elector which is alone does not lead on after the loss of its lock, as if nothing had
// been: it stops, and leads with a larger token when it runs again.
func TestLossIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		r := &resource{t: t}
		c := newCandidate(t, locks, r, "a", true)
		_, done := c.run(t)
		pass(leaseDuration)
		first := c.lock.Granted()
		locks.Break("scheduler")
		pass(renewDeadline + retryPeriod)
		<-c.stopped
		<-done
		if _, led := r.leader(); led != 1 {
			t.Errorf("it has led %d times", led)
		}
		if holdfast.Why(first.Check()) != holdfast.Broken {
			t.Errorf("the lock of the first leadership: %v", first.Check())
		}
		cancel, done := c.run(t)
		pass(leaseDuration)
		if leader, led := r.leader(); led != 2 || leader != "a" || c.lock.Granted().Token() <= first.Token() {
			t.Errorf("%q leads, and %d have led", leader, led)
		}
		cancel()
		<-done
	})
}

// TestNoRelease checks that a leader that stops without a release, in a process that lives on, has lost the lock after
// the lease.
func TestNoRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		r := &resource{t: t}
		a, b := newCandidate(t, locks, r, "a", false), newCandidate(t, locks, r, "b", true)
		cancelA, doneA := a.run(t)
		pass(leaseDuration)
		cancelB, doneB := b.run(t)
		pass(leaseDuration)
		cancelA()
		<-doneA
		pass(leaseDuration / 2)
		if leader, led := r.leader(); leader != "a" || led != 1 {
			t.Errorf("within the lease %q leads, and %d have led", leader, led)
		}
		pass(leaseDuration)
		if leader, _ := r.leader(); leader != "b" || holdfast.Why(a.lock.Granted().Check()) != holdfast.HoldLimit {
			t.Errorf("after the lease %q leads, and the lock of a: %v", leader, a.lock.Granted().Check())
		}
		cancelB()
		<-doneB
	})
}

// TestSameIdentity checks that two candidates with the same identity do not lead at the same time.
func TestSameIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		r := &resource{t: t}
		a, b := newCandidate(t, locks, r, "same", true), newCandidate(t, locks, r, "same", true)
		cancelA, doneA := a.run(t)
		pass(retryPeriod)
		cancelB, doneB := b.run(t)
		pass(5 * leaseDuration)
		if _, led := r.leader(); led != 1 || b.lock.Granted() != nil {
			t.Errorf("%d have led", led)
		}
		for _, end := range []context.CancelFunc{cancelB, cancelA} {
			end()
		}
		<-doneA
		<-doneB
	})
}
