package run

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Do puts one question to the machine at port and waits for its one answer. The
// error is the context's, or ErrClosed. An answer that comes later is dropped, so
// ask nothing whose answer must not be lost.
func (d *Driver) Do(ctx context.Context, port protocol.Port, fact any) (protocol.Reply, error) {
	q := &question{answer: make(chan protocol.Reply, 1)}
	sink := d.Attach(q)
	defer d.Detach(sink)
	call := protocol.CallID{Sink: sink, Op: 1}
	reply, answered, err := d.Call(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: fact})
	if err != nil || answered {
		return reply, err
	}
	select {
	case reply := <-q.answer:
		return reply, nil
	case <-ctx.Done():
		return protocol.Reply{}, ctx.Err()
	case <-d.done:
		return protocol.Reply{}, ErrClosed
	}
}

// AnswerTo takes what a question was answered with out of its reply. The error is an
// ErrUnavailable or a *LimitError where no member that decides has answered; any other is a
// machine's that answers with another type.
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

// question is the sink of one Do.
type question struct{ answer chan protocol.Reply }

func (q *question) Deliver(replies []protocol.Reply) {
	for _, reply := range replies {
		if reply.To.Op == 1 {
			select {
			case q.answer <- reply:
			default: // the one answer is there already
			}
		}
	}
}
