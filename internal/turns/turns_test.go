package turns_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/turns"
)

// TestInTurn: as many count as may, those of the first line come before the others, and each line is in order. A turn that has
// ended in its line is passed over.
func TestInTurn(t *testing.T) {
	all := turns.New(1, time.Hour)
	now, late, later, first := all.Enqueue(false), all.Enqueue(false), all.Enqueue(false), all.Enqueue(true)
	state := func(under, urgent, others int) {
		t.Helper()
		if n, waiting := all.State(); n != under || waiting != [2]int{urgent, others} {
			t.Fatalf("%d turns count, and %v wait; want %d and [%d %d]", n, waiting, under, urgent, others)
		}
	}
	comes := func(turn *turns.Turn) {
		t.Helper()
		select {
		case <-turn.Come():
		default:
			t.Fatal("the turn has not come")
		}
	}
	comes(now)
	state(1, 1, 2)
	now.End()
	comes(first)
	now.End() // again: no turn comes by that
	state(1, 0, 2)
	late.End()
	comes(late) // it is waited for no more
	state(1, 0, 1)
	first.End()
	comes(later)
	later.End()
	state(0, 0, 0)
}

// TestATurnCountsForItsLimit, and for no longer.
func TestATurnCountsForItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := turns.New(1, time.Second)
		silent, next := all.Enqueue(false), all.Enqueue(false)
		began := time.Now()
		<-next.Come()
		if took := time.Since(began); took != time.Second {
			t.Errorf("the next turn has come after %v", took)
		}
		silent.End()
		if under, _ := all.State(); under != 1 {
			t.Errorf("%d turns count, want the next one's", under)
		}
		next.End()
	})
}

// TestRoom: AwaitRoom returns when a line is shorter, and when the turns are closed.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := turns.New(1, time.Hour)
		now, next := all.Enqueue(false), all.Enqueue(false)
		room := make(chan struct{})
		await := func() {
			all.AwaitRoom(1)
			room <- struct{}{}
		}
		go await()
		synctest.Wait()
		select {
		case <-room:
			t.Error("there is room in a full line")
		default:
		}
		now.End()
		<-room
		waits := all.Enqueue(false)
		go await()
		synctest.Wait()
		all.Close()
		<-room
		next.End()
		waits.End()
	})
}
