package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
)

// wants checks what a feed has had when everything is at rest.
func wants(b *harness, f *Feed, lines ...string) {
	b.Helper()
	synctest.Wait()
	if got := linesOf(f); !slices.Equal(got, lines) {
		b.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // inside a synctest bubble, where it costs no time
	synctest.Wait()
}

func TestWatchersSeeEveryMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2, 3)
		defer b.Close()
		see(b.own, 1, 1, 2, 3)
		f := b.watch("", "")
		grant(b.own, "x", 1)
		wants(b, f, "a granted x 1", "a released x 1")
		grant(b.life(2), "x", 2)
		wants(b, f, "b granted x 2", "b released x 2")
		grant(b.life(3), "y", 3)
		wants(b, f, "c granted y 3", "c released y 3")
		b.own.Publish(&schema.WatchEvent{Event: Space, Space: "default"})
		b.life(2).Publish(&schema.WatchEvent{Event: Space, Space: "default"})
		see(b.life(3), 1, 1, 2, 3)
		wants(b, f, "a space  0") // each has its own eye on spaces and views
		f.Close()
		pass(time.Minute) // it could come again
		for id := range b.other {
			if filters := b.questions(id); len(filters) > 0 {
				t.Errorf("%s is asked for %v, and there is no watcher", name(id), filters)
			}
			if n := b.life(id).open.Load(); n != 0 {
				t.Errorf("%s has %d feeds", name(id), n)
			}
		}
	})
}

// TestSuspensionsAreNoLocks: a watcher sees a suspension as a state of its
// space, not as a lock without a name; and it counts for nothing that could be missing.
func TestSuspensionsAreNoLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		grant(b.own, lock.SpaceLock, 1)
		grant(b.life(2), lock.SpaceLock, 2)
		wants(b, f)
		grant(b.life(2), "x", 3)
		wants(b, f, "b granted x 3", "b released x 3")
		f.Close()
	})
}

// TestARepeatedReleaseIsOneEvent: the answer to a release of what was released already is no event.
func TestARepeatedReleaseIsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 1)
		defer b.Close()
		see(b.own, 1, 1)
		f := b.watch("", "")
		grant(b.own, "x", 7)
		for range 2 {
			observe(b.own, lock.Decision{Kind: lock.Released, Name: "y", Token: 8})
		}
		observe(b.own, lock.Decision{Kind: lock.Released, Name: "y", Token: 9})
		wants(b, f, "a granted x 7", "a released x 7", "a released y 8", "a released y 9")
		f.Close()
	})
}

func TestNothingIsSaidOfQuietTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2, 3)
		defer b.Close()
		grant(b.life(2), "before", 1)
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		defer f.Close()
		b.sever(2, false) // the connection breaks, and is made anew
		pass(2 * time.Second)
		grant(b.life(2), "x", 2)
		synctest.Wait()
		see(b.own, 2, 1, 2, 3) // a member joins that has done nothing yet
		pass(time.Second)
		grant(b.life(3), "y", 3)
		wants(b, f, "b granted x 2", "b released x 2", "a view", "c granted y 3", "c released y 3")
	})
}

func TestGapsArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		defer f.Close()
		grant(b.life(2), "x", 1)
		pass(1500 * time.Millisecond)
		b.sever(2, true)
		pass(3 * time.Second)
		// Beats have confirmed that up to 1 s nothing is missing.
		wants(b, f, "b granted x 1", "b released x 1", "b missing from 1.000")
		late := b.watch("", "x")
		defer late.Close()
		wants(b, late, "b missing from 4.500")
		grant(b.life(2), "missed", 2)
		b.sever(2, false)
		pass(5 * time.Second)
		got := linesOf(f)
		if len(got) != 1 || !strings.HasPrefix(got[0], "b missing from 1.000 until ") {
			t.Errorf("got %v", got)
		}
		if got := linesOf(late); len(got) != 1 || !strings.Contains(got[0], " until ") {
			t.Errorf("the client that came later got %v", got)
		}
		grant(b.life(2), "x", 3)
		pass(10 * time.Millisecond) // what follows the first event within a pause comes at its end
		wants(b, f, "b granted x 3", "b released x 3")
	})
}

// TestWhoDoesNotAnswerAtFirst is reported missing when the watch begins, which waits for it in vain.
func TestWhoDoesNotAnswerAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		b.sever(2, true)
		see(b.own, 1, 1, 2)
		short, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Watch(short, Filter{"", "other"}, "", "a", 100); !errors.Is(err, context.Canceled) {
			t.Errorf("a watcher that has gone: %v", err)
		}
		f := b.watch("", "")
		defer f.Close()
		wants(b, f, "b missing from 0.000")
		if waited := time.Since(b.all[Filter{}].began); waited > 2*time.Second {
			t.Errorf("it was waited for %v", waited)
		}
		if n := b.own.watchers; n != 1 {
			t.Errorf("%d watchers are left", n)
		}
	})
}

func TestMembersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2, 3, 4)
		defer b.Close()
		see(b.own, 1, 1, 2, 3)
		f := b.watch("", "")
		defer f.Close()

		b.life(3).End() // c leaves in good order
		synctest.Wait()
		see(b.own, 2, 1, 2)
		pass(5 * time.Second)
		wants(b, f, "a view")

		b.sever(2, true) // b crashes
		pass(100 * time.Millisecond)
		see(b.own, 3, 1)
		pass(10 * time.Second)
		wants(b, f, "a view", "b missing from 5.000")

		b.restart(2) // and comes back
		see(b.own, 4, 1, 2)
		wants(b, f, "a view", "b missing from 5.000 until 15.100")

		grant(b.life(4), "early", 1) // d does something before it is asked
		see(b.own, 5, 1, 2, 4)
		wants(b, f, "a view", "d missing from 15.100 until 15.100")

		grant(b.restart(3), "early", 2) // so does c in its next life
		see(b.own, 6, 1, 2, 3, 4)
		wants(b, f, "a view", "c missing from 0.000 until 15.100")
	})
}

// TestFormerMemberIsHeard: a member that no view has any more is heard as long as it tells.
func TestFormerMemberIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		defer f.Close()
		see(b.own, 2, 1)
		synctest.Wait()
		observe(b.life(2), lock.Decision{Kind: lock.Lost, Name: "x", Token: 4, Since: 1, Loss: holdfast.MemberLost})
		wants(b, f, "a view", "b lost x 4")
		b.sever(2, true)
		wants(b, f, "b missing from 0.000")
		pass(time.Minute)
		wants(b, f)
		if filters := b.questions(2); len(filters) > 0 {
			t.Errorf("b is asked for %v", filters)
		}
	})
}

func TestFiltersTravel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		narrow := b.watch("default", "a/")
		same := b.watch("default", "a/")
		narrower := b.watch("default", "a/b")
		if got := fmt.Sprint(b.questions(2)); got != "[{default a/}]" {
			t.Errorf("asked for %s", got)
		}
		for i, name := range []string{"x", "a/c", "a/b"} {
			grant(b.life(2), name, holdfast.Token(i))
		}
		pass(pause) // what follows the first event comes when a pause is over
		wants(b, narrow, "b granted a/c 1", "b released a/c 1", "b granted a/b 2", "b released a/b 2")
		wants(b, same, "b granted a/c 1", "b released a/c 1", "b granted a/b 2", "b released a/b 2")
		wants(b, narrower, "b granted a/b 2", "b released a/b 2")
		narrow.Close()
		same.Close()
		grant(b.life(2), "a/b", 4)
		pass(pause)
		wants(b, narrower, "b granted a/b 4", "b released a/b 4")

		feeds := []*Feed{narrower}
		for i := range 20 {
			feeds = append(feeds, b.watch("", fmt.Sprint(i)))
		}
		synctest.Wait()
		if filters := b.questions(2); len(filters) != gatherings+1 || !slices.Contains(filters, Filter{}) {
			t.Errorf("20 watchers ask for %v", filters)
		}
		grant(b.life(2), "19/x", 9)
		pass(pause)
		wants(b, feeds[20], "b granted 19/x 9", "b released 19/x 9")
		for _, f := range feeds {
			f.Close()
			f.Close() // again does nothing
		}
		pass(time.Minute)
		if filters := b.questions(2); len(filters) != 0 || len(b.all) != 0 {
			t.Errorf("asked for %v in %d gatherings, and there is no watcher", filters, len(b.all))
		}
	})
}

// TestSlowWatcher is dropped, and no other watcher is.
func TestSlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		slow, fast := b.watch("", ""), b.watch("", "x")
		defer slow.Close()
		defer fast.Close()
		if _, err := b.Watch(t.Context(), Filter{}, "", "a", 2); !errors.As(err, new(*holdfast.LimitError)) {
			t.Errorf("more watchers than there may be: %v", err)
		}
		for i := range FeedBound {
			observe(b.own, lock.Decision{Kind: lock.Granted, Name: fmt.Sprint(i), Token: 1, Since: 1})
			if i%1000 == 0 {
				synctest.Wait()
			}
		}
		if at := linesOf(slow); len(at) != FeedBound || at[0] != "a granted 0 1" {
			t.Errorf("%d events are kept for a watcher that does not read", len(at))
		}
		for i := range FeedBound + 1 {
			observe(b.own, lock.Decision{Kind: lock.Granted, Name: fmt.Sprint(i), Token: 1, Since: 1})
		}
		grant(b.life(2), "x", 2)
		pass(time.Second)
		if _, err := slow.Next(t.Context()); err != ErrSlow {
			t.Errorf("a slow reader gets %v", err)
		}
		wants(b, fast, "b granted x 2", "b released x 2")
	})
}

// TestSlowMember is dropped by the source, asks again, and tells of a gap.
func TestSlowMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		defer f.Close()
		source := b.life(2)
		source.mu.Lock()
		for one := range source.feeds {
			one.mu.Lock()
			one.slow = true
			one.mu.Unlock()
		}
		source.mu.Unlock()
		grant(source, "lost", 1)
		pass(time.Second)
		grant(source, "x", 2)
		pass(2 * pause)
		got := linesOf(f)
		if len(got) != 3 || !strings.HasPrefix(got[0], "b missing from 0.000 until ") || got[1] != "b granted x 2" {
			t.Errorf("got %v", got)
		}
	})
}
