package client

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// welcomeFrom is a welcome to a session by a member of a cluster, which knows others.
func welcomeFrom(session, cluster string, members ...string) *schema.Event {
	event := welcomed(session, testTTL)
	event.GetWelcome().Cluster, event.GetWelcome().Members = cluster, members
	return event
}

// leaves ends a session as a member does that is leaving, and takes no streams any more.
func (v *conversation) leaves() {
	v.hangUp <- api.ToStatus(api.Fail(api.CodeUnknownSession, "unknown session: this member is leaving"))
}

// TestLearnedAddressOfAnotherCluster: an address from a member's list is taken for a member's
// only if the program there belongs to the cluster. The session that it opened is ended
// there, and the next address is tried.
func TestLearnedAddressOfAnotherCluster(t *testing.T) {
	one, two, three := newFake(t), newFake(t), newFake(t)
	s := &stage{fake: one, clock: clocktest.NewManual()}
	result := s.dial(one.address)
	first := one.accept()
	first.send(welcomeFrom("a-1", "ours", one.address, two.address, three.address))
	s.finish(result)

	first.leaves()
	again := one.accept()
	if again.hello.GetSession() != "" {
		t.Errorf("its own member has ended the session, and it is asked for again: %v", again.hello)
	}
	again.send(refused(0, api.CodeUnavailable))
	again.hangUp <- nil
	stranger := two.accept()
	stranger.send(welcomeFrom("x-1", "theirs"))
	if stranger.next().GetEnd() == nil {
		t.Error("the session at a stranger's is not ended")
	}
	stranger.hangUp <- nil
	member := three.accept()
	member.send(welcomeFrom("c-1", "ours", three.address))
	waitFor(t, func() bool { return s.client.Session() == "c-1" })
}

// TestMovedReplacesWhatWasLearned.
func TestMovedReplacesWhatWasLearned(t *testing.T) {
	one, two := newFake(t), newFake(t)
	s := &stage{fake: one, clock: clocktest.NewManual()}
	result := s.dial(one.address)
	first := one.accept()
	first.send(welcomeFrom("a-1", "ours", one.address, "127.0.0.1:1"))
	s.finish(result)
	first.send(&schema.Event{Kind: &schema.Event_Moved{Moved: &schema.Moved{Authority: two.address, Members: []string{two.address, "no address"}}}})
	waitFor(t, func() bool {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		known := s.client.machine.Known()
		return len(known) == 2 && known[1].Place == two.address
	})
	one.stop()
	member := two.accept()
	if member.hello.GetSession() != "a-1" {
		t.Errorf("a broken stream ends nothing: %v", member.hello)
	}
	member.hangUp <- status.Error(codes.Unavailable, "enough")
}

// waitFor waits until a condition holds whose change is not reported.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience); !so(); {
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("it never was so")
		}
	}
}
