package server

import (
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A stream carries one session until it breaks. It drives the two halves of package edge. Three goroutines share it,
// however many operations are under way:
//
//   - Open, the handler, waits for the end and returns the status. Its return wakes the other two, even if they are
//     blocked.
//   - read receives frames and steps the driver, once a frame. It sends small immediate answers by itself: see answer.
//   - write sends everything else in the outbox, once a batch.
//
// The driver reports the outcomes of operations by Deliver, on the goroutine that stepped it. A client that does not
// read fills only its own outbox, and at the outbox's bound its stream is broken.
type stream struct {
	server *grpcServer
	rpc    grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]

	machine edge.Machine // the reader's
	sink    uint64
	session lock.SessionID // guarded by occupants
	opening chan any       // the answer to the hello
	owner   *client

	mu   sync.Mutex // guards box
	box  edge.Outbox
	wake chan struct{} // has a value when there may be something to take
	held atomic.Bool   // a goroutine is about to check the box anyway

	overQuota atomic.Int32 // refusals by quotas since the last step of the reader

	opened     chan struct{} // closed when the client has been greeted
	finishing  chan struct{} // closed when only the outbox is left to send
	finishOnce sync.Once

	ended   chan struct{} // closed when it is over
	over    atomic.Bool
	endOnce sync.Once
	gone    chan struct{} // closed when nothing of it can step the driver any more

	sending sync.Mutex      // its owner takes from the box and sends
	batch   []edge.Outgoing // the sender's memory
}

func newStream(g *grpcServer, rpc grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]) *stream {
	return &stream{
		server:    g,
		rpc:       rpc,
		machine:   edge.New(&g.edge),
		box:       edge.NewOutbox(&g.edge),
		wake:      make(chan struct{}, 1),
		opening:   make(chan any, 1),
		opened:    make(chan struct{}),
		finishing: make(chan struct{}),
		ended:     make(chan struct{}),
		gone:      make(chan struct{}),
	}
}

// Open serves one stream. It returns once the stream is over: without an error if the client ended it or was refused in
// a frame, with a status otherwise.
func (g *grpcServer) Open(rpc grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]) error {
	if g.service.forwarder.passesOn() {
		return g.service.forwarder.stream(rpc)
	}
	s := newStream(g, rpc)
	if !g.live.add(s) {
		return status.Error(codes.Unavailable, "this member is leaving")
	}
	s.owner = g.service.clients.enter(callerOf(rpc.Context()), g.service.now())
	g.work.Go(s.read)
	s.wait()
	return s.result()
}

// wait returns when the stream is over. It does not wait for a client that fails to greet, or to read its last
// messages, in time.
func (s *stream) wait() {
	patience := time.NewTimer(s.server.patience)
	defer patience.Stop()
	opened, finishing := s.opened, s.finishing
	for {
		select {
		case <-s.ended:
			return
		case <-s.rpc.Context().Done():
			s.end(status.FromContextError(s.rpc.Context().Err()).Err())
		case <-opened:
			opened = nil
			patience.Stop()
		case <-finishing:
			finishing, opened = nil, nil
			patience.Reset(s.server.patience)
		case <-patience.C:
			s.end(status.Errorf(codes.DeadlineExceeded, "no hello, or the last answer not read, for %v", s.server.patience))
		}
	}
}

// result returns the status of a stream that is over.
func (s *stream) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.box.State()
	if errors.Is(err, edge.ErrSuperseded) {
		return status.Error(codes.Aborted, err.Error())
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return api.ToStatus(err)
}

// change changes the outbox, and notifies the other goroutines if that ends the stream. It never blocks.
func (s *stream) change(change func(*edge.Outbox)) {
	s.mu.Lock()
	change(&s.box)
	state, result := s.box.State()
	s.mu.Unlock()
	s.heed(state, result)
}

// heed notifies the other goroutines that the stream ends.
func (s *stream) heed(state edge.State, result error) {
	if state == edge.Finishing {
		s.finishOnce.Do(func() { close(s.finishing) })
	}
	if state == edge.Over {
		s.endOnce.Do(func() {
			if isSlow(result) {
				s.server.service.observer.refused(edge.UnreadAnswers)
			}
			s.over.Store(true)
			close(s.ended)
		})
	}
}

// end ends the stream now; the rest of the outbox is not sent. The first end counts. It never blocks.
func (s *stream) end(result error) { s.change(func(o *edge.Outbox) { o.End(result) }) }

// finish ends the stream as soon as the outbox is sent. It never blocks.
func (s *stream) finish(result error) { s.change(func(o *edge.Outbox) { o.Finish(result) }) }

// read receives the client's frames until the stream is over.
func (s *stream) read() {
	defer s.leave()
	frame := &frames.Operations{}
	operations, arrived, ok := s.greet(frame)
	s.server.work.Go(s.write)
	for ok && s.perform(operations, arrived) {
		frame.Release()
		if ok = s.receive(frame); ok {
			operations, arrived = frame.List(), s.server.service.now()
		}
	}
	frame.Release()
	<-s.ended
}

// receive receives the next frame. Without one it sets the stream's status and reports false. A client that has only
// closed its own direction still gets the pending answers.
func (s *stream) receive(frame *frames.Operations) bool {
	err := s.rpc.RecvMsg(frame)
	if errors.Is(err, io.EOF) {
		s.finish(nil)
		return false
	}
	if err != nil {
		err = s.server.service.unreceived(err)
	} else if err = s.server.service.tooLarge(frame.Size); err == nil {
		s.server.service.observer.frame(received)
		return true
	}
	s.end(err)
	return false
}

// leave releases the session, which lives on until its TTL is over.
func (s *stream) leave() {
	if s.sink != 0 {
		s.server.service.driver.Detach(s.sink)
	}
	s.owner.leave()
	s.change((*edge.Outbox).Close)
	close(s.gone)
	s.server.occupants.leave(s)
	s.server.live.remove(s)
}

// perform executes a frame's operations, in order, and reports whether the stream continues.
func (s *stream) perform(operations []*schema.Operation, arrived protocol.Time) bool {
	event := edge.Event{Operations: operations, Allowance: s.admit(operations, arrived)}
	for len(event.Operations) > 0 {
		out := s.server.scratches.Get().(*edge.Effects)
		goesOn := s.step(arrived, &event, out)
		s.answer() // and for refusals made here
		event.Operations, event.Before = event.Operations[out.Taken:], event.Before+out.Taken
		out.Reset()
		s.server.scratches.Put(out)
		if !goesOn || s.over.Load() {
			return false
		}
	}
	return true
}

// step turns operations into calls, and steps the driver with them, in the client's turn. It reports whether the stream
// continues after them.
func (s *stream) step(arrived protocol.Time, event *edge.Event, out *edge.Effects) (goesOn bool) {
	s.owner.turn.Lock()
	defer s.owner.turn.Unlock()
	is := len(event.Operations) > heavyOperations
	s.server.service.heavy.begin(is)
	goesOn = s.understand(arrived, event, out)
	s.say(out)
	s.held.Store(true)
	s.server.service.driver.Step(out.Calls...)
	s.held.Store(false)
	s.server.service.heavy.end(is)
	if is && s.over.Load() {
		return false
	}
	if refused := s.overQuota.Swap(0); is && refused > 0 {
		s.signal() // the writer sends meanwhile
		pay(time.Duration(refused)*refusedRequest, s.ended)
	}
	return goesOn
}

// understand turns operations into calls, and reports whether the stream continues after them. A panic here must not
// end the member: it is a refusal and ends the stream.
func (s *stream) understand(arrived protocol.Time, event *edge.Event, out *edge.Effects) (goesOn bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			s.server.panicked("holdfast.v1.Sessions/Open", mistake, debug.Stack())
			s.end(errInternal())
			goesOn = false
		}
	}()
	event.Overload = s.server.service.overload()
	s.machine.Step(arrived, event, out)
	return !out.Over
}

// admit takes the tokens for a frame, all at once.
func (s *stream) admit(operations []*schema.Operation, arrived protocol.Time) *edge.Allowance {
	requests, returns := edge.Count(operations)
	requests, returns, refusal := s.owner.admit(arrived, requests, returns)
	if refusal == nil {
		return nil
	}
	return &edge.Allowance{Requests: requests, Returns: returns, Refusal: refusal}
}

// say puts the machine's messages into the outbox without waking the writer, and counts refusals.
func (s *stream) say(out *edge.Effects) {
	if !out.ForOutbox() {
		return
	}
	for i := range out.Says {
		if _, _, _, refused := out.Says[i].Outcome(); refused != nil {
			s.countRefusal(refused)
		}
	}
	s.change(func(o *edge.Outbox) { o.Apply(out) })
}

// countRefusal counts a refusal by its code. That of a limit is counted by the limit's name, when it is sent.
func (s *stream) countRefusal(err error) {
	if code := api.Code(err); code != api.CodeLimit {
		s.server.service.observer.refused(code)
	}
}

// Deliver implements run.Sink: it passes the replies to the outbox, and wakes the writer once.
func (s *stream) Deliver(replies []protocol.Reply) {
	for i := range replies {
		if d := &replies[i].Decision; d.Kind == lock.Refused && isOverQuota(d.Err) {
			s.overQuota.Add(1)
		}
	}
	s.mu.Lock()
	answer := s.box.Hear(replies)
	state, result := s.box.State()
	s.mu.Unlock()
	if answer != nil {
		select {
		case s.opening <- answer:
		default: // it was already answered
		}
	}
	if state != edge.Open {
		s.heed(state, result)
	}
	s.signal()
}
