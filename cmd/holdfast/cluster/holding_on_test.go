package cluster

import (
	"context"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// The names that a member keeps in TestKeeperKilled.
const (
	keptUnused = "hot/unused" // none of its clients has it
	keptUsed   = "hot/used"   // one of them has, and others wait for it
)

// TestKeeperKilled: a member that holds on to two hot names is killed while workers through
// all members go on. What it kept belongs to no member until its lease is over. Then the
// waiters are served, and tokens are above all that the member has given by itself.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{
		Addresses: loopback(t, 3), Lease: steady(), Flags: []string{grantors + ",hold_on=1h"},
	})
	b.begin(6)
	elder := b.coordinator()
	grantor := b.another(elder)
	keeper := b.another(elder, grantor)
	b.appoint(grantor)
	k := keeping{b, b.adminOf(grantor), b.dial(keeper), keeper}

	unused := k.heat(keptUnused)
	b.check(unused.Unlock(b.ctx))
	k.keeps(unused)
	used := k.heat(keptUsed)
	waits := []<-chan *holdfast.Lock{k.queue(grantor, keptUsed), k.queue(elder, keptUsed)}
	k.keeps(used)
	if used.Context().Err() != nil {
		t.Fatalf("%s was lost before its member was killed: %v", keptUsed, context.Cause(used.Context()))
	}

	b.check(keeper.Kill()) // it looks at the exit status
	mark, _ := b.fault("%s was killed, which keeps %s, used under tokens up to %v, and lends %s under %v",
		keeper.Name, keptUnused, unused.Token(), keptUsed, used.Token())
	b.await("a write through another member", mark, func(e clustertest.Event) bool {
		return e.Kind == clustertest.Wrote && e.Member != keeper.Name
	})
	last := used
	for _, wait := range waits {
		last = k.next(wait, last)
		if used.Context().Err() == nil {
			t.Errorf("%s was granted under token %v before its holder heard of its loss", keptUsed, last.Token())
		}
		b.check(last.Unlock(b.ctx))
	}
	last = k.next(k.want(elder, keptUnused), unused)
	b.check(last.Unlock(b.ctx))

	b.check(keeper.Start())
	b.healed()
	b.judge()
}

// keeping is a member that holds on, a client through it, and an operator at the grantor.
type keeping struct {
	*harness
	grantor *client.Admin
	locks   *client.Client
	member  *clustertest.Member
}

// dial begins a client of this process that knows one member.
func (b *harness) dial(m *clustertest.Member) *client.Client {
	b.Helper()
	locks, err := client.Dial(b.ctx, m.Address)
	b.check(err)
	b.Cleanup(func() { _ = locks.Close() }) // its member has ended by then
	return locks
}

// adminOf reaches a member as an operator.
func (b *harness) adminOf(m *clustertest.Member) *client.Admin {
	b.Helper()
	admin, err := client.DialAdmin(m.Address)
	b.check(err)
	b.Cleanup(func() { _ = admin.Close() }) // its member has ended by then
	return admin
}

// heat locks a name again and again through the member, and returns the last lock.
func (k *keeping) heat(name string) *holdfast.Lock {
	k.Helper()
	var last *holdfast.Lock
	for range 20 {
		if last != nil {
			k.check(last.Unlock(k.ctx))
		}
		held, err := k.locks.Lock(k.ctx, name)
		k.check(err)
		k.rises(held, last)
		last = held
	}
	return last
}

// keeps asserts that the member keeps what this lock, its last one there, was given under: to
// the grantor the grant goes on, under the token that the member has counted on from.
func (k *keeping) keeps(last *holdfast.Lock) {
	k.Helper()
	shown, err := k.grantor.Show(k.ctx, "", last.Name())
	k.check(err)
	if len(shown.Holders) != 1 || shown.Holders[0].Member != k.member.Name || shown.Holders[0].Token >= uint64(last.Token()) {
		k.Fatalf("%s is held by %+v: want %s, with a lower token than %v, which it has given by itself",
			last.Name(), shown.Holders, k.member.Name, last.Token())
	}
	k.logf("%s keeps %s under token %v", k.member.Name, last.Name(), shown.Holders[0].Token)
}

// queue lets a client through another member wait for a name, and returns when the grantor
// has queued it.
func (k *keeping) queue(through *clustertest.Member, name string) <-chan *holdfast.Lock {
	k.Helper()
	queued := make(chan int, 1)
	granted := k.want(through, name, holdfast.OnQueued(func(position int) { queued <- position }))
	select {
	case position := <-queued:
		k.logf("a client through %s waits for %s at position %d", through.Name, name, position)
	case l := <-granted:
		k.Fatalf("%s was granted through %s under token %v while %s used it", name, through.Name, l.Token(), k.member.Name)
	case <-k.ctx.Done():
		k.Fatalf("wait for %s through %s: %v", name, through.Name, k.ctx.Err())
	}
	return granted
}

// want lets a client through some member lock a name. Nothing comes if it is not granted.
func (k *keeping) want(through *clustertest.Member, name string, o ...holdfast.Option) <-chan *holdfast.Lock {
	k.Helper()
	locks, granted := k.dial(through), make(chan *holdfast.Lock, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l, err := locks.Lock(k.ctx, name, o...)
		if err != nil {
			k.Errorf("lock %s through %s: %v", name, through.Name, err)
			return
		}
		granted <- l
	}()
	k.Cleanup(func() { _ = locks.Close(); <-done }) // the test is over: what waits ends
	return granted
}

// next waits for a lock that is wanted, and asserts that it is a later one than before.
func (k *keeping) next(granted <-chan *holdfast.Lock, before *holdfast.Lock) *holdfast.Lock {
	k.Helper()
	select {
	case l := <-granted:
		k.rises(l, before)
		k.logf("%s was granted under token %v", l.Name(), l.Token())
		return l
	case <-k.ctx.Done():
		k.Fatalf("%s is granted to no client: %v", before.Name(), k.ctx.Err())
		return nil
	}
}

// rises asserts that the token of a lock is above that of the one before it, if there is one.
func (k *keeping) rises(l, before *holdfast.Lock) {
	k.Helper()
	if before != nil && l.Token() <= before.Token() {
		k.Fatalf("%s was granted under token %v, after %v", l.Name(), l.Token(), before.Token())
	}
}
