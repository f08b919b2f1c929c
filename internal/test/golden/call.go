package golden

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// whole is the notation for the name of the whole space.
const whole = `""`

// Call reads a call of a session or an operator, after the words that name its target; nil for other verbs.
func (l *Line) Call(session lock.SessionID, now lock.Time) any {
	l.Helper()
	switch l.Verb {
	case "lock":
		return l.Lock(&lock.Request{Session: session, ID: l.Request(), Name: l.Name()}, now)
	case "suspend":
		return l.Lock(&lock.Request{Session: session, ID: l.Request(), Name: lock.SpaceLock}, now)
	case "unlock":
		return &protocol.Release{Session: session, Request: l.Request(), Name: l.Name(), Awaited: l.Flag("awaited"), Token: l.Token()}
	case "resume":
		return &protocol.Release{Session: session, Request: l.Request(), Name: lock.SpaceLock, Awaited: l.Flag("awaited"), Token: l.Token()}
	case "cancel":
		return &protocol.Cancel{Session: session, Request: l.Request(), Name: l.Name()}
	case "extend":
		e := &protocol.Extend{Session: session, Request: l.Request(), Name: l.Name(), Token: l.Token(), Hold: l.Duration("hold")}
		if l.More() {
			e.Hold = l.Time()
		}
		return e
	case "amend":
		return &protocol.Amend{
			Session: session, Request: l.Request(), Name: l.Name(), Token: l.Token(),
			Amendment: lock.Amendment{Revision: uint64(l.Number("revision")), Value: l.Value("value")},
		}
	case "end":
		end := &protocol.EndSession{Session: session}
		if l.More() {
			end.Why = holdfast.Loss(l.Next())
		}
		return end
	case "list":
		return &protocol.ListRequests{Session: session}
	}
	return l.operators()
}

// operators reads a call of an operator.
func (l *Line) operators() any {
	l.Helper()
	switch l.Verb {
	case "show":
		return &protocol.Show{Name: l.Name(), Stale: l.Flag("stale")}
	case "break":
		return &protocol.Break{Name: l.Name(), Reason: "test", Token: l.Token()}
	case "inspect":
		return &protocol.Inspect{Here: l.Flag("here")}
	case "scan":
		scan := &protocol.Scan{Limit: int(l.Number("limit")), After: l.Value("after"), Prefix: l.Value("prefix"), Stale: l.Flag("stale")}
		if scan.Limit == 0 {
			scan.Limit = 10
		}
		return scan
	case "open":
		return &protocol.OpenSpace{}
	case "close":
		return &protocol.CloseSpace{}
	case "leave":
		return &protocol.StepDown{}
	}
	return nil
}

// Lock reads the options of a request for a lock.
func (l *Line) Lock(r *lock.Request, now lock.Time) *lock.Request {
	l.Helper()
	if l.Flag("shared") {
		r.Mode = holdfast.ModeShared
	}
	if slots := l.Value("slots"); slots != "" {
		r.Mode = holdfast.ModeSlots
		if _, err := fmt.Sscanf(slots, "%d/%d", &r.Units, &r.Capacity); err != nil {
			l.Wrong("%s: %v", slots, err)
		}
	}
	r.Owner, r.Client, r.Reason, r.Value = l.Value("owner"), l.Value("client"), l.Value("reason"), l.Value("value")
	r.Arrived, r.WaitEnd, r.Try = now-l.Duration("age"), lock.Never, l.Flag("try")
	if wait := l.DurationOr("wait", lock.Never); wait != lock.Never {
		r.WaitEnd = now + wait
	}
	r.Hold, r.Belief = l.Duration("hold"), l.Duration("belief")
	return r
}
