package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestWhatIsHeardBeforeTheEndIsJudgedCounts: a heartbeat, or a return, that is stepped before the tick that ends its
// session renews it, though its time has passed: it may have waited while the member was busy. Nothing else is
// served to such a session, and behind the tick it has ended.
func TestWhatIsHeardBeforeTheEndIsJudgedCounts(t *testing.T) {
	const late = time.Minute // beyond the end of a session of 10 s
	for what, sign := range map[string]func(*session.Opened) any{
		"heartbeat": func(o *session.Opened) any { return &session.Renew{ID: o.ID, Proven: true, Arrived: late} },
		"return":    func(o *session.Opened) any { return &session.Resume{ID: o.ID, Secret: o.Secret} },
		"check":     func(o *session.Opened) any { return &session.Check{ID: o.ID, Secret: o.Secret} },
	} {
		t.Run(what, func(t *testing.T) {
			machine := newMachine(t, session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1})
			call := func(now protocol.Time, port protocol.Port, fact any) protocol.Reply {
				t.Helper()
				var out protocol.Effects
				call := protocol.CallID{Sink: 1, Op: 2}
				machine.Step(now, protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: fact}, &out)
				for _, reply := range out.Replies {
					if reply.To == call {
						return reply
					}
				}
				t.Fatalf("%T is answered by %+v", fact, out.Replies)
				return protocol.Reply{}
			}
			opened := open(t, machine, session.Open{Kind: session.Stream, TTL: 10 * time.Second})
			other := open(t, machine, session.Open{Kind: session.Stream, TTL: 10 * time.Second})
			if refused := call(late, 1, &lock.Request{Session: opened.ID, ID: 1, Name: "x"}).Decision; !errors.Is(refused.Err, holdfast.SessionExpired) {
				t.Errorf("a request of a session whose time has passed: %+v", refused)
			}
			renewed := call(late, protocol.Below, sign(opened)).Result.(*session.Renewed)
			if renewed.Err != nil || what != "check" && renewed.TTL != 10*time.Second {
				t.Fatalf("before the tick: %+v", renewed)
			}
			machine.Step(late, protocol.Event{Kind: protocol.Tick}, &protocol.Effects{})
			again := call(late, protocol.Below, sign(opened)).Result.(*session.Renewed)
			if lives := what != "check"; (again.Err == nil) != lives {
				t.Errorf("behind the tick: %+v, want the session to live: %v", again, lives)
			}
			if over := call(late, protocol.Below, sign(other)).Result.(*session.Renewed); !errors.Is(over.Err, session.ErrUnknown) {
				t.Errorf("a session that was not heard before the tick: %+v", over)
			}
		})
	}
}
