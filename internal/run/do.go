package run

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Question is a question to the machine at a port, with a limit for an answer that does not come at once.
type Question struct {
	Port   protocol.Port
	Fact   any
	Within context.Context
	// Turn is held while the driver is stepped with the first question and those that follow at once, so that the
	// conversations of one client do not compete with each other for the driver. Nil holds nothing.
	Turn sync.Locker
}

// mostAtOnce is the maximum number of questions of a conversation that keep others from the driver.
const mostAtOnce = 64

// Converse asks a chain of questions: next makes each from the previous answer, and returns nil at the end. All
// questions answered at once, up to 64, are one step, on the caller's goroutine and with the driver's mutex held: next
// must neither block nor call the driver. Waited reports that an answer came later. The error is the cause of the end of
// Within, or ErrClosed: later answers reach no caller.
func (d *Driver) Converse(q *Question, next func(answer *protocol.Reply) *Question) (waited bool, err error) {
	if q == nil {
		return false, nil
	}
	turn := q.Turn
	for q != nil {
		call, line, err := d.askInTurn(turn, &q, next)
		if err != nil {
			return waited, err
		}
		if line == nil {
			continue // there are more
		}
		waited = true
		select {
		case answer := <-line:
			q = next(&answer)
			continue
		case <-q.Within.Done():
			err = context.Cause(q.Within)
		case <-d.done:
			err = ErrClosed
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.questions.lines, call.Op)
		return true, err
	}
	return waited, nil
}

// askInTurn is ask in a turn, which may be nil.
func (d *Driver) askInTurn(turn sync.Locker, q **Question, next func(*protocol.Reply) *Question) (call protocol.CallID, line chan protocol.Reply, err error) {
	if turn != nil {
		turn.Lock()
		defer turn.Unlock()
	}
	return d.ask(q, next)
}

// ask asks q and the questions that follow from the answers, until an answer does not come at once: then the first that
// comes is put into line. Without a line there are no more questions, or so many that others come first.
func (d *Driver) ask(q **Question, next func(*protocol.Reply) *Question) (call protocol.CallID, line chan protocol.Reply, err error) {
	d.mu.Lock()
	defer d.leave()
	if d.closed {
		return call, nil, ErrClosed
	}
	for n := 0; *q != nil && n < mostAtOnce; n++ {
		call = d.Unheard()
		d.step(&protocol.Event{Kind: protocol.Call, Port: (*q).Port, Call: call, Fact: (*q).Fact})
		i := d.answerTo(call)
		if i < 0 || d.effects.Replies[i].Decision.Kind == lock.Queued {
			line = make(chan protocol.Reply, 1)
			d.questions.lines[call.Op] = line
			break
		}
		answer := d.effects.Replies[i]
		d.takeOut(i)
		*q = next(&answer)
	}
	d.deliver()
	return call, line, nil
}

// Unheard returns the id of a call whose answer is discarded.
func (d *Driver) Unheard() protocol.CallID {
	return protocol.CallID{Sink: d.questions.sink, Op: d.questions.last.Add(1)}
}

// questions is the sink of the driver's own callers: it has the waiting channels by the number of the call. The
// driver's mutex guards it.
type questions struct {
	sink  uint64
	last  atomic.Uint64
	lines map[uint64]chan protocol.Reply
}

// Deliver passes on the first answer to each question. Queued does not count.
func (q *questions) Deliver(replies []protocol.Reply) {
	for _, reply := range replies {
		if line := q.lines[reply.To.Op]; line != nil && reply.Decision.Kind != lock.Queued {
			delete(q.lines, reply.To.Op)
			line <- reply
		}
	}
}

// Do asks the machine at port one question and waits for its one answer. The error is the context's, or ErrClosed. A
// later answer is dropped, so ask nothing whose answer must not be lost.
func (d *Driver) Do(ctx context.Context, port protocol.Port, fact any) (reply protocol.Reply, err error) {
	_, err = d.Converse(&Question{Port: port, Fact: fact, Within: ctx}, func(answer *protocol.Reply) *Question {
		reply = *answer
		return nil
	})
	if err != nil && err != ErrClosed {
		err = ctx.Err()
	}
	return reply, err
}

// Query is Do with the answer extracted by AnswerTo.
func Query[T any](ctx context.Context, d *Driver, port protocol.Port, fact any) (answer T, err error) {
	reply, err := d.Do(ctx, port, fact)
	if err != nil {
		return answer, err
	}
	return AnswerTo[T](fact, reply)
}

// AnswerTo extracts the answer to a question from its reply. The error is an ErrUnavailable or a *LimitError if no
// deciding member has answered; any other is from a machine that answers with another type.
func AnswerTo[T any](fact any, reply protocol.Reply) (T, error) {
	answer, ok := reply.Result.(T)
	if unanswered, is := reply.Result.(*protocol.Unanswered); is {
		return answer, fmt.Errorf("%w: the member that decides does not answer", unanswered.Err)
	}
	if !ok {
		return answer, fmt.Errorf("%T was answered with %T", fact, reply.Result)
	}
	return answer, nil
}
