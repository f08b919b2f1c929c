package client

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// takenOver is what a member says to the client of a session that another one has taken over.
var takenOver = api.Failure{Code: api.CodeUnknownSession, Detail: "session a-1: taken over by another client", Err: holdfast.EndedByAnother}

// TestTakenOver ends a client whose session another one has taken over: when its member says so on its stream, and when any
// member refuses it because of that, though others do not know the session.
func TestTakenOver(t *testing.T) {
	for name, report := range map[string]func(*conversation){
		"told": func(v *conversation) { v.hangUp <- api.ToStatus(&takenOver) },
		"refused": func(v *conversation) {
			v.broken()
			again := v.fake.accept()
			again.send(&schema.Event{Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: api.ToProblem(&takenOver)}}})
			again.hangUp <- nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			s, v := f.dialled(f.address + ",127.0.0.1:1")
			held := s.hold(v, "a", 1)
			waiting := s.begin("b")
			v.send(queued(v.acquireOp("b"), 0))
			report(v)
			s.isDone(held, holdfast.EndedByAnother)
			waiting.fails(holdfast.EndedByAnother)
			if err := held.Check(); err == nil || err.Error() != `lock "a": session a-1: taken over by another client` {
				t.Errorf("Check: %v", err)
			}
			if err := held.Unlock(t.Context()); holdfast.Why(err) != holdfast.EndedByAnother {
				t.Errorf("Unlock: %v", err)
			}
			s.begin("c").fails(holdfast.EndedByAnother)
			s.empty()
			s.until(func() bool { return s.client.stream == nil && s.client.machine.Searched() })
			if s.client.Session() != "" {
				t.Errorf("its session is still %s", s.client.Session())
			}
			if err := s.client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// TestHelloSaysWhichClient: its number is the same in every hello, and its generation that of the latest welcome to the session.
func TestHelloSaysWhichClient(t *testing.T) {
	s, v := newStage(t)
	number := v.hello.GetNumber()
	if number == 0 || v.hello.GetGeneration() != 0 {
		t.Errorf("the first hello has number %d and generation %d", number, v.hello.GetGeneration())
	}
	last := uint64(0)
	for _, generation := range []uint64{0, 3, 3} {
		v.broken()
		v = s.accept()
		if v.hello.GetNumber() != number || v.hello.GetGeneration() != last {
			t.Errorf("it comes back with number %d and generation %d, want %d and %d", v.hello.GetNumber(), v.hello.GetGeneration(), number, last)
		}
		last = generation
		welcome := welcomed("a-1", testTTL)
		welcome.GetWelcome().Generation = generation
		v.send(welcome)
		s.holdAmongBeats(v, "x", 1)
	}
	v.leaves()
	if v = s.accept(); v.hello.GetSession() != "" || v.hello.GetGeneration() != 0 || v.hello.GetNumber() != number {
		t.Errorf("it opens a session by %v", v.hello)
	}
	other, w := newStage(t, Resume("a-1", "secret of a-1"))
	if w.hello.GetNumber() == number || w.hello.GetNumber() == 0 || w.hello.GetSession() != "a-1" || w.hello.GetGeneration() != 0 {
		t.Errorf("another client resumes by %v", w.hello)
	}
	other.empty()
}
