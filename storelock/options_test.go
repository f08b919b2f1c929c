package storelock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storelock"
)

// TestGroup: locks of one name exclude each other in one group, in the default space and in another
// one, and do not across groups.
func TestGroup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newStore()
	first, other, same := opened(t, store, quick(storelock.Group("a"))...), opened(t, store, quick(storelock.Group("b"))...), opened(t, store, quick(storelock.Group("a"))...)
	for _, space := range []string{holdfast.DefaultSpace, "billing"} {
		for _, locks := range []*storelock.Locker{first, other} {
			if _, err := locks.Space(space).TryLock(ctx, "n"); err != nil {
				t.Errorf("group %s, space %s: %v", locks.Settings().Group, space, err)
			}
		}
		if _, err := same.Space(space).TryLock(ctx, "n"); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("a second process of group a locks n in space %s: %v", space, err)
		}
	}
}

// TestCleaner: a process with a cleaner deletes an expired claim of a row that it locks; one without
// leaves the claim where it is.
func TestCleaner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string][]storelock.Option{"with": {storelock.Cleaner()}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			locks := opened(t, store, quick(o...)...)
			group, old := locks.Settings().Group, time.Now().Add(-time.Hour).UnixMicro()
			expired := storage.Entry{Column: claim.Column(old, "a process that crashed"), Value: "\x00\x00\x00\x00"}
			if err := store.Mutate(ctx, &storage.Mutate{Key: claim.Row(group, "n"), Timestamp: old, Additions: []storage.Entry{expired}}); err != nil {
				t.Fatal(err)
			}
			held, err := locks.Lock(ctx, "n")
			if err != nil {
				t.Fatal(err)
			}
			if err := held.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			if name == "with" {
				(&machine{t: t, locks: store}).unclaimed(group, "n")
				return
			}
			if err := locks.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if left, err := store.Slice(ctx, &storage.Slice{Key: claim.Row(group, "n")}); err != nil || !slices.Contains(left, expired) {
				t.Errorf("the row has %q, %v; want the expired claim in it", left, err)
			}
		})
	}
}

// TestLogger: the log says why nothing can be locked.
func TestLogger(t *testing.T) {
	t.Parallel()
	store := newStore()
	opened(t, store, storelock.Wait(10*time.Millisecond))
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if _, err := storelock.Open(context.Background(), store, storelock.Wait(20*time.Millisecond), storelock.Logger(logger)); !errors.Is(err, holdfast.ErrConflict) {
		t.Fatalf("another wait: %v", err)
	}
	for _, want := range []string{"level=ERROR", "nothing can be locked in a space of protocol claim", "wait=10ms", "wait=20ms"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &log)
		}
	}
}

// TestUnit: tokens are times in the unit of claims.
func TestUnit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for unit, now := range map[claim.Unit]func(time.Time) int64{claim.Milli: time.Time.UnixMilli, claim.Micro: time.Time.UnixMicro, claim.Nano: time.Time.UnixNano} {
		t.Run(unit.String(), func(t *testing.T) {
			t.Parallel()
			locks := opened(t, newStore(), quick(storelock.Unit(unit))...)
			began := now(time.Now())
			held, err := locks.Lock(ctx, "n")
			if err != nil {
				t.Fatal(err)
			}
			if token, ended := int64(held.Token()), now(time.Now()); token < began || token > ended {
				t.Errorf("token %d, taken between %d and %d", token, began, ended)
			}
		})
	}
}
