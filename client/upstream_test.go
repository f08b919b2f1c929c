package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// kept is three members of a cluster that keeps locks and sessions, and an Admin of each.
type kept struct {
	*testing.T
	all    []*served
	admins []*client.Admin
}

func serveKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{T: t, all: serveClusterOf(t, "consensus", steady)}
	for _, m := range k.all {
		admin, err := client.DialAdmin(m.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { admin.Close() })
		k.admins = append(k.admins, admin)
	}
	return k
}

// on is for a subtest.
func (k *kept) on(t *testing.T) *kept { return &kept{t, k.all, k.admins} }

// until asks a member until what it shows of a name is so, and returns that.
func (k *kept) until(i int, name, what string, is func(*schema.Lock) bool) *schema.Lock {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	for {
		shown, err := k.admins[i].Show(ctx, "", name)
		if err != nil {
			k.Fatalf("%s shows %s, which is to be %s: %v", k.all[i].name(), name, what, err)
		}
		if is(shown) {
			return shown
		}
	}
}

func held(l *schema.Lock) bool { return len(l.Holders) == 1 }
func free(l *schema.Lock) bool { return len(l.Holders)+len(l.Waiters) == 0 }

// sessionOf is what proves that a client's session is its own.
func sessionOf(c *client.Client) string { return c.Session() + "." + c.Secret() }

// TestUpstreamOfLeases plays etcd's tests of locks and of the sessions that they live in, by name, with clients of the three members
// of a cluster of protocol consensus.
func TestUpstreamOfLeases(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	k := serveKept(t)
	for name, play := range map[string]func(*kept){
		"TestMutexLockSessionExpired": (*kept).lockOfASessionThatHasEnded,
		"TestMutexUnlock":             (*kept).unlockOfWhatIsNotHeld,
		"TestSessionOptions":          (*kept).sessionThatIsNamed,
		"TestSessionTTLOptions":       (*kept).sessionWithATTL,
		"TestSessionCtx":              (*kept).contextOfASession,
		"TestResumeElection":          (*kept).resumedLeadership,
		"TestV3LockLockWaiter":        (*kept).waiterOfASessionThatIsEnded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(k.on(t))
		})
	}
}

// lockOfASessionThatHasEnded: a caller that waits when its session ends gets that error, and not what is free then.
func (k *kept) lockOfASessionThatHasEnded() {
	first, second := dial(k.T, k.all[0]), dial(k.T, k.all[1])
	l := lock(k.T, first, "expired")
	waited := make(chan error, 1)
	queued := make(chan struct{}, 1)
	go func() {
		_, err := second.Lock(k.Context(), "expired", holdfast.OnQueued(func(int) { queued <- struct{}{} }))
		waited <- err
	}()
	<-queued
	k.until(2, "expired", "waited for", func(l *schema.Lock) bool { return len(l.Waiters) == 1 })
	ended := sessionOf(second)
	if err := second.Close(); err != nil {
		k.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, holdfast.ErrClosed) {
		k.Errorf("the client that waits in a session that has ended got %v", err)
	}
	if err := l.Unlock(k.Context()); err != nil {
		k.Fatal(err)
	}
	k.until(2, "expired", "free", free)
	if _, err := k.admins[2].Renew(k.Context(), ended, 0); !errors.Is(err, holdfast.ErrLost) {
		k.Errorf("the session that has ended is renewed: %v", err)
	}
}

// unlockOfWhatIsNotHeld says so, and takes the name from no holder.
func (k *kept) unlockOfWhatIsNotHeld() {
	first, second := dial(k.T, k.all[0]), dial(k.T, k.all[1])
	one := lock(k.T, first, "unlocked")
	if err := one.Unlock(k.Context()); err != nil {
		k.Fatal(err)
	}
	if err := one.Unlock(k.Context()); !errors.Is(err, holdfast.ErrNotHeld) {
		k.Errorf("a second unlock: %v", err)
	}
	two := lock(k.T, second, "unlocked")
	if err := one.Unlock(k.Context()); !errors.Is(err, holdfast.ErrNotHeld) {
		k.Errorf("an unlock when another has the name: %v", err)
	}
	for i, admin := range k.admins {
		if err := admin.Release(k.Context(), "", "unlocked", two.Token(), sessionOf(first)); !errors.Is(err, holdfast.ErrNotHeld) {
			k.Errorf("an unlock of what another holds, through %s: %v", k.all[i].name(), err)
		}
	}
	if shown := k.until(2, "unlocked", "held", held); shown.Holders[0].Token != uint64(two.Token()) || two.Check() != nil {
		k.Errorf("%+v, %v; want it to be held under %v", shown.Holders, two.Check(), two.Token())
	}
}

// sessionThatIsNamed: a client that names another process's session gets that one, through whichever member.
func (k *kept) sessionThatIsNamed() {
	first := dial(k.T, k.all[0], client.TTL(time.Minute))
	l := lock(k.T, first, "named")
	named := first.Session()
	second, other := dial(k.T, k.all[1], client.Resume(named, first.Secret())), dial(k.T, k.all[1])
	if second.Session() != named {
		k.Errorf("session %s was named, and it is %s", named, second.Session())
	}
	if shown := k.until(1, "named", "held", held); shown.Holders[0].Session != named || shown.Holders[0].Token != uint64(l.Token()) {
		k.Errorf("it is held by %+v; want session %s under %v", shown.Holders, named, l.Token())
	}
	if _, err := client.Dial(k.Context(), k.all[2].address, client.Resume(named, other.Secret())); !errors.Is(err, holdfast.ErrLost) {
		k.Errorf("the session with another secret: %v", err)
	}
}

// sessionWithATTL lives for that, and one that asks for none for what the members have configured. A member promises what was
// asked for, regardless of its lease.
func (k *kept) sessionWithATTL() {
	requested, other := dial(k.T, k.all[0], client.TTL(15*time.Second)), dial(k.T, k.all[1])
	if ttl := other.TTL(); ttl != 10*time.Second {
		k.Errorf("nothing was asked for, and it is %v; want 10s, regardless of the lease", ttl)
	}
	lock(k.T, requested, "ttl")
	renewed, err := k.admins[2].Renew(k.Context(), sessionOf(requested), 15*time.Second)
	if err != nil || time.Duration(renewed.Ttl.AsDuration()) != 15*time.Second {
		k.Fatalf("it is renewed for %+v, %v; want 15s, which was asked for", renewed, err)
	}
}

// contextOfASession: it ends with the session, and says why.
func (k *kept) contextOfASession() {
	c := dial(k.T, k.all[0])
	l := lock(k.T, c, "context")
	if err := context.Cause(l.Context()); err != nil {
		k.Fatalf("the lock has ended: %v", err)
	}
	if err := c.Close(); err != nil {
		k.Fatal(err)
	}
	<-l.Context().Done()
	if err := context.Cause(l.Context()); !errors.Is(err, holdfast.ErrClosed) && !errors.Is(err, holdfast.ErrLost) {
		k.Errorf("the lock has ended because of %v", err)
	}
	k.until(1, "context", "free", free)
}

// waiterOfASessionThatIsEnded: when the holder's session is ended, through a member that it was never at, the waiter has the lock.
func (k *kept) waiterOfASessionThatIsEnded() {
	first, second := dial(k.T, k.all[0]), dial(k.T, k.all[1])
	l := lock(k.T, first, "waited")
	waiting := waits(k.T, second, "waited")
	if _, err := k.admins[2].EndSession(k.Context(), sessionOf(first)); err != nil {
		k.Fatal(err)
	}
	next := <-waiting
	if next == nil || next.Check() != nil || next.Token() <= l.Token() {
		k.Fatalf("the waiter has %v behind token %v", next, l.Token())
	}
	<-l.Context().Done()
	if err := l.Check(); !errors.Is(err, holdfast.ErrLost) {
		k.Errorf("the lock of the session that was ended: %v", err)
	}
}

// resumedLeadership: a process that leads by a lock is gone, and another one goes on in its session through another member. It still leads
// when the first one has learned that it no longer does, under the same token, and gives the lead to the next when it resigns.
func (k *kept) resumedLeadership() {
	first, next := dial(k.T, k.all[0], client.TTL(5*time.Second)), dial(k.T, k.all[2])
	l := lock(k.T, first, "leader")
	waiting := waits(k.T, next, "leader")
	second := dial(k.T, k.all[1], client.Resume(first.Session(), first.Secret()))
	resumed := sessionOf(second)
	lostBecause(k.T, l, holdfast.EndedByAnother)
	for i := range k.all {
		shown := k.until(i, "leader", "held", held)
		if g := shown.Holders[0]; g.Token != uint64(l.Token()) || g.Session != second.Session() || len(shown.Waiters) != 1 {
			k.Errorf("%s shows %+v, waited for by %+v; want session %s under %v, and one who waits", k.all[i].name(), g, shown.Waiters, second.Session(), l.Token())
		}
	}
	if err := k.admins[1].Release(k.Context(), "", "leader", l.Token(), resumed); err != nil {
		k.Fatal(err)
	}
	if after := <-waiting; after == nil || after.Check() != nil || after.Token() <= l.Token() {
		k.Errorf("the next to lead has %v behind token %v", after, l.Token())
	}
}
