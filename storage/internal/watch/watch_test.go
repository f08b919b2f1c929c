package watch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// TestNotify: the watchers of that row, all of them, and those of all rows by NotifyAll.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub watch.Hub
		defer hub.Close()
		for _, w := range []struct {
			name, key string
			want      int
		}{{"one", "a", 2}, {"two", "a", 2}, {"other", "b", 1}} {
			count := new(int) // synctest.Wait comes between the watcher's goroutine and the look at it
			if err := hub.Watch(t.Context(), w.key, func() { *count++ }); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if *count != w.want {
					t.Errorf("%s was notified %d times, want %d", w.name, *count, w.want)
				}
			}()
		}
		hub.Notify("a")
		hub.Notify("unwatched")
		synctest.Wait()
		hub.NotifyAll()
		synctest.Wait()
		if n := hub.Watched(); n != 2 {
			t.Errorf("%d rows are watched, want 2", n)
		}
	})
}

// TestNotificationsCoalesce to a watcher that is busy, and what comes during its call leads to
// one more.
func TestNotificationsCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub watch.Hub
		defer hub.Close()
		calls, busy := 0, make(chan struct{})
		err := hub.Watch(t.Context(), "k", func() {
			calls++
			if calls == 1 {
				<-busy
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		hub.Notify("k")
		synctest.Wait()
		for range 1000 {
			hub.Notify("k")
		}
		close(busy)
		synctest.Wait()
		if calls != 2 {
			t.Errorf("%d calls, want one for the first and one for the 1000 that came meanwhile", calls)
		}
	})
}

// TestEnds: with its context, one alone; with the hub, all.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub watch.Hub
		ctx, cancel := context.WithCancel(t.Context())
		ended, stays := 0, 0
		err := errors.Join(
			hub.Watch(ctx, "k", func() { ended++ }),
			hub.Watch(t.Context(), "k", func() { stays++ }),
		)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		hub.Notify("k")
		synctest.Wait()
		if ended != 0 || stays != 1 {
			t.Errorf("notified %d and %d times, want 0 and 1", ended, stays)
		}
		hub.Close()
		hub.Close()
		hub.Notify("k")
		if n := hub.Watched(); n != 0 {
			t.Errorf("%d rows are watched after Close", n)
		}
		if err := hub.Watch(t.Context(), "k", func() {}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("a watch after Close: %v", err)
		}
	})
}

// TestWhatCannotBeWatched is refused.
func TestWhatCannotBeWatched(t *testing.T) {
	var hub watch.Hub
	defer hub.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx     context.Context
		key     string
		changed func()
		want    error
		says    string
	}{
		{t.Context(), "", func() {}, storage.ErrInvalid, "a key of 0 bytes"},
		{t.Context(), "k", nil, storage.ErrInvalid, "give a function"},
		{ended, "k", func() {}, storage.ErrRefused, "context canceled"},
	} {
		err := hub.Watch(c.ctx, c.key, c.changed)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("watch %q: %v; want %q in it, and %v", c.key, err, c.says, c.want)
		}
	}
}
