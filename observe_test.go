package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast"
)

// TestWanted checks that the channel is closed by the first state with a waiter, and by no other.
func TestWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBacking(holdfast.Forever)
		l := newLock(b, holdfast.Forever)
		wanted := l.Wanted()
		if l.Wanted() != wanted {
			t.Error("a second call returns another channel")
		}
		b.observed <- holdfast.State{Name: l.Name(), Holders: []holdfast.Holder{{Token: l.Token()}}}
		synctest.Wait()
		select {
		case <-wanted:
			t.Error("wanted without a waiter")
		default:
		}
		b.observed <- holdfast.State{Name: l.Name(), Waiters: []holdfast.Waiter{{Client: "next"}}}
		<-wanted
	})
}

// TestWantedEnds checks that the observation of a lock ends with it, and that the channel stays open.
func TestWantedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBacking(holdfast.Forever)
		l := newLock(b, holdfast.Forever)
		wanted := l.Wanted()
		if err := l.Unlock(context.Background()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // a goroutine that is left would be a deadlock of the bubble
		late := l.Wanted()
		select {
		case <-wanted:
			t.Error("an unlocked lock is wanted")
		case <-late:
			t.Error("a lock is wanted that was unlocked before the call")
		default:
		}
	})
}

// TestLeader checks that the leader of a state is its newest holder.
func TestLeader(t *testing.T) {
	if leader, is := (holdfast.State{}).Leader(); is || leader != (holdfast.Holder{}) {
		t.Errorf("a free name has the leader %+v", leader)
	}
	two := holdfast.State{Holders: []holdfast.Holder{{Client: "a", Token: 3}, {Client: "b", Token: 7}}}
	if leader, is := two.Leader(); !is || leader.Client != "b" {
		t.Errorf("the leader is %+v", leader)
	}
}
