package storelock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/folder"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storelock"
)

// eachWay runs a test by claims and by conditional writes.
func eachWay(t *testing.T, test func(t *testing.T, store *memory.Store, o []storelock.Option)) {
	for name, more := range map[string][]storelock.Option{"claims": nil, "cas": {storelock.CAS()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, memory.New(memory.Config{}), quick(append(more, storelock.Expiry(300*time.Millisecond))...))
		})
	}
}

// operate returns an operator of the default space.
func operate(t *testing.T, store storage.Store) *storelock.Operator {
	t.Helper()
	o, err := storelock.Operate(t.Context(), store, holdfast.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestListing: locks that are held or wanted are listed in order, with their holders, and free ones are not.
func TestListing(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		began := time.Now().Truncate(time.Microsecond)
		if all, err := operate(t, store).Locks(t.Context(), ""); len(all) != 0 || err != nil {
			t.Errorf("in a new store: %v, %v", all, err)
		}
		first, second := opened(t, store, append(o, storelock.RID("first"))...), opened(t, store, append(o, storelock.RID("second"))...)
		locks := map[string]*holdfast.Lock{}
		for _, name := range []string{"b", "a", "other", "free"} {
			lock, err := first.Lock(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			locks[name] = lock
		}
		if err := locks["free"].Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Space("billing").Lock(t.Context(), "a bill"); err != nil {
			t.Fatal(err)
		}
		waiting, cancel := context.WithCancel(t.Context())
		waits, queued := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(waits)
			_, err := second.Lock(waiting, "a", func(r *holdfast.Request) { r.Queued = func(int) { close(queued) } })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the waiter: %v", err)
			}
		}()
		<-queued
		operator := operate(t, store)
		for waiters := 0; waiters == 0; { // with cas a waiter records itself after it was queued
			shown, err := operator.Show(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			waiters = len(shown.Waiters)
		}
		all, err := operator.Locks(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, lock := range all {
			names = append(names, lock.Name)
			if !strings.HasPrefix(lock.RID, "first") || lock.Token < locks[lock.Name].Token() || lock.Lease != 300*time.Millisecond {
				t.Errorf("%+v; its token is %v", lock, locks[lock.Name].Token())
			}
			if lock.Since.Before(began) || lock.Since.After(time.Now()) {
				t.Errorf("%s is held since %v; the test runs since %v", lock.Name, lock.Since, began)
			}
		}
		if got := strings.Join(names, " "); got != "a b other" {
			t.Errorf("held are %s", got)
		}
		if some, err := operator.Locks(t.Context(), "o"); err != nil || len(some) != 1 || some[0].Name != "other" {
			t.Errorf("with a prefix: %v, %v", some, err)
		}
		if free, err := operator.Show(t.Context(), "free"); err != nil || free.RID != "" {
			t.Errorf("a free lock is %+v, %v", free, err)
		}
		cancel()
		<-waits
	})
}

// TestBreak: the holder of a broken lock loses it as broken, and only then has another process the lock.
func TestBreak(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		locks, next := opened(t, store, o...), opened(t, store, o...)
		operator := operate(t, store)
		if _, err := operator.Break(t.Context(), "job", 0); err == nil {
			t.Error("a lock in a new store was broken")
		}
		lock, err := locks.Lock(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		operator = operate(t, store)
		if _, err := operator.Break(t.Context(), "job", lock.Token()-1); !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("under another token: %v", err)
		}
		if err := lock.Check(); err != nil {
			t.Errorf("that broke the lock: %v", err)
		}
		unlocked := make(chan error, 1)
		context.AfterFunc(lock.Context(), func() { unlocked <- lock.Unlock(context.WithoutCancel(t.Context())) })
		broken, err := operator.Break(t.Context(), "job", 0)
		if err != nil || broken.RID == "" {
			t.Fatalf("%+v, %v", broken, err)
		}
		if lock.Context().Err() == nil {
			t.Error("the break was done before the holder had stopped")
		}
		if err := <-unlocked; holdfast.Why(err) != holdfast.Broken {
			t.Errorf("it was lost as %v", err)
		}
		second, err := next.TryLock(t.Context(), "job")
		if err != nil || second.Token() <= lock.Token() {
			t.Errorf("the next holder: %v, %v", second, err)
		}
		again, err := locks.Lock(t.Context(), "another")
		if err != nil || again.Check() != nil {
			t.Errorf("another lock of the process: %v", err)
		}
	})
}

// TestBreakOfTheDead: a broken lock whose process has ended is free when its claim has expired.
func TestBreakOfTheDead(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		dying := &mortal{Store: store}
		locks := opened(t, dying, o...)
		lock, err := locks.Lock(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		dying.dead.Store(true)
		t.Cleanup(func() { dying.dead.Store(false) }) // its Close need not wait
		if _, err := operate(t, store).Break(t.Context(), "job", 0); err != nil {
			t.Fatal(err)
		}
		if holdfast.Why(lock.Check()) != holdfast.SessionExpired {
			t.Errorf("the lock was free before its holder had stopped: %v", lock.Check())
		}
		next, err := opened(t, store, o...).TryLock(t.Context(), "job")
		if err != nil || next.Token() <= lock.Token() {
			t.Errorf("the next holder: %v, %v", next, err)
		}
	})
}

// TestReleaseOfTheDead: what a process has held is free at once, if its guardian says that it has ended.
func TestReleaseOfTheDead(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		dying := &mortal{Store: store}
		locks := opened(t, dying, append(o, storelock.Expiry(time.Hour))...)
		lock, err := locks.Lock(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		dying.dead.Store(true)
		t.Cleanup(func() { dying.dead.Store(false) }) // its Close need not wait
		operator, settings := operate(t, store), locks.Settings()
		if err := operator.Release(t.Context(), "job", settings.RID+"x"); err != nil {
			t.Error(err)
		}
		if held, err := operator.Show(t.Context(), "job"); err != nil || held.RID != settings.RID {
			t.Errorf("another process released it: %+v, %v", held, err)
		}
		for range 2 { // a second time there is nothing to release
			if err := operator.Release(t.Context(), "job", settings.RID); err != nil {
				t.Fatal(err)
			}
		}
		next, err := opened(t, store, append(o, storelock.Expiry(time.Hour))...).TryLock(t.Context(), "job")
		if err != nil || next.Token() <= lock.Token() {
			t.Errorf("the next holder: %v, %v", next, err)
		}
	})
}

// TestLeaseOfTheSlowest: a break waits for a lease as long as a process does whose clock may be the fastest.
func TestLeaseOfTheSlowest(t *testing.T) {
	shown := storelock.Shown{}
	shown.Lease = time.Minute
	if least := time.Minute + time.Minute*5/100; shown.Over() < least {
		t.Errorf("a lease of 1m is over after %v, want %v or more", shown.Over(), least)
	}
}

// TestValues: a value is in the store when the call that sets it has returned, for every process, and goes with its lock.
// The longest one fits.
func TestValues(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) { checkValues(t, store, o) })
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		store, err := folder.Open(t.Context(), "folder://"+t.TempDir()+"/locks?sync=false")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		checkValues(t, store, quick(storelock.CAS(), storelock.HoldOn(50*time.Millisecond), storelock.Expiry(time.Second)))
	})
}

func checkValues(t *testing.T, store storage.Store, o []storelock.Option) {
	t.Helper()
	ctx := t.Context()
	first, second := opened(t, store, append(o, storelock.RID("first"))...), opened(t, store, append(o, storelock.RID("second"))...)
	longest := strings.Repeat("v", holdfast.MaxValue)
	for _, requested := range []string{"", "one", longest} {
		lock, err := first.Lock(ctx, "job", holdfast.Value(requested))
		if err != nil {
			t.Fatal(err)
		}
		operator := operate(t, store)
		revision := uint64(0)
		shows := func(want string) {
			t.Helper()
			shown, err := operator.Show(ctx, "job")
			if err != nil || shown.Value != want || shown.RID == "" || want != requested && shown.Revision <= revision {
				t.Fatalf("it is shown as %+v, %v; it has the value %.20q", shown, err, want)
			}
			revision = shown.Revision
			all, err := operator.Locks(ctx, "")
			if err != nil || len(all) != 1 || all[0].Value != want || all[0].Revision != shown.Revision {
				t.Fatalf("it is listed as %+v, %v; it has the value %.20q", all, err, want)
			}
		}
		shows(requested)
		for _, value := range []string{"two", longest + "!", "three\nlines", longest[1:], ""} {
			err := lock.SetValue(ctx, value)
			if len(value) > holdfast.MaxValue {
				if !errors.Is(err, holdfast.ErrName) {
					t.Errorf("a value that is too long: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			shows(value)
		}
		if err := lock.SetValue(ctx, "last"); err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if shown, err := operator.Show(ctx, "job"); err != nil || shown.Value != "" || shown.Revision != 0 {
			t.Errorf("a free lock is shown as %+v, %v", shown, err)
		}
		if lock, err = second.Lock(ctx, "job"); err != nil {
			t.Fatal(err)
		}
		if shown, err := operator.Show(ctx, "job"); err != nil || shown.Value != "" || !strings.HasPrefix(shown.RID, "second") {
			t.Errorf("the next lock is shown as %+v, %v", shown, err)
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
