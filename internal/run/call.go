package run

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Answer is the part of the decision on an Acquire or a Release that its caller does not already know. Kind is 0 if it
// did not come in the same step.
type Answer struct {
	Request  uint64 // Acquire: the id of the request
	Kind     lock.Kind
	Token    holdfast.Token
	Hold     time.Duration
	Position int
	Err      error
}

// AnswerOf returns the Answer of a decision.
func AnswerOf(d *lock.Decision) Answer {
	return Answer{Request: d.Request, Kind: d.Kind, Token: d.Token, Hold: d.Hold, Position: d.Position, Err: d.Err}
}

// OwnCalls is set in the ids of calls that a sink numbers itself, if it also uses Acquire.
const OwnCalls = 1 << 62

// Call steps one event on the caller's goroutine. If its answer came in the same step it is returned, and not delivered
// to the sink; otherwise answered is false and the sink will get it.
func (d *Driver) Call(ev protocol.Event) (reply protocol.Reply, answered bool, err error) {
	d.mu.Lock()
	defer d.leave()
	if d.closed {
		return reply, false, ErrClosed
	}
	d.step(&ev)
	if i := d.answerTo(ev.Call); i >= 0 {
		reply, answered = d.effects.Replies[i], true
		d.takeOut(i)
	}
	d.deliver()
	return reply, answered, nil
}

// Acquire is Call for a request of the sink's own session, with almost no allocation or copying. The request gets an
// id, which is also that of the call: ids begin at 1, and do not reach OwnCalls.
func (d *Driver) Acquire(port protocol.Port, sink uint64, r *lock.Request) (Answer, error) {
	d.mu.Lock()
	defer d.leave()
	if d.closed {
		return Answer{}, ErrClosed
	}
	d.lastRequest++
	d.request = *r
	d.request.ID = d.lastRequest
	call := protocol.CallID{Sink: sink, Op: d.lastRequest}
	a := d.stepCall(&protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: &d.request})
	a.Request = d.lastRequest
	return a, nil
}

// Release is Call for a release, with almost no allocation or copying.
func (d *Driver) Release(port protocol.Port, call protocol.CallID, r *protocol.Release) (Answer, error) {
	d.mu.Lock()
	defer d.leave()
	if d.closed {
		return Answer{}, ErrClosed
	}
	d.release = *r
	return d.stepCall(&protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: &d.release}), nil
}

// stepCall steps a call whose answer is a decision. It is called with the mutex held.
func (d *Driver) stepCall(ev *protocol.Event) (a Answer) {
	d.step(ev)
	if i := d.answerTo(ev.Call); i >= 0 {
		a = AnswerOf(&d.effects.Replies[i].Decision)
		d.takeOut(i)
	}
	d.deliver()
	return a
}

// answerTo returns the index of a call's answer among the replies, or -1.
func (d *Driver) answerTo(call protocol.CallID) int {
	replies := d.effects.Replies
	for i := range replies {
		if replies[i].To == call {
			return i
		}
	}
	return -1
}

// takeOut removes reply i from those to be delivered.
func (d *Driver) takeOut(i int) {
	replies := d.effects.Replies
	if last := len(replies) - 1; i < last {
		copy(replies[i:], replies[i+1:])
	}
	d.effects.Replies = replies[:len(replies)-1]
}
