package server

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
)

// A stream carries one session for as long as it does not break. Three goroutines
// share it, however many operations are under way:
//
//   - Open, the handler, waits for the end and says how it ended. Returning from it
//     is what wakes the other two, even if they are blocked.
//   - read takes frames and steps the driver, once a frame. What is answered at once and
//     is little, it sends by itself: see answer.
//   - write sends what else the outbox gathers, once a batch.
//
// What becomes of the operations comes from the driver by Deliver, on the goroutine that
// stepped it. A client that does not read fills its own outbox and nothing else, and at
// the outbox's bound its stream is broken.
type stream struct {
	server *grpcServer
	rpc    grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]

	sink    uint64
	session lock.SessionID
	client  string
	caller  caller
	opening chan any // what Deliver was told about the session: *session.Opened or *session.Renewed
	box     outbox

	opened    chan struct{} // closed when the client has been greeted
	finishing chan struct{} // closed when only the outbox is left to send
	lastOnce  sync.Once
	last      error // how it ends once the outbox is sent

	ended   chan struct{} // closed when it is over
	over    atomic.Bool
	endOnce sync.Once
	result  error
	gone    chan struct{} // closed when nothing of it can step the driver any more

	sending   sync.Mutex // who has it takes from the box and sends
	batch     []outgoing // memory of who sends
	owner     *client    // whose requests these are, where they are bounded in number
	allowance allowance

	calls    uint64       // numbered so far
	before   uint64       // the latest request that the client may have made on another stream: up to it they may stand in a queue
	wanted   atomic.Int64 // the ttl that its client has asked for last; 0 where it asks for none
	*scratch              // while a frame is performed
}

func newStream(g *grpcServer, rpc grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]) *stream {
	return &stream{
		server:    g,
		rpc:       rpc,
		opening:   make(chan any, 1),
		box:       newOutbox(g.outboxEvents, g.outboxBytes, &g.unsent),
		opened:    make(chan struct{}),
		finishing: make(chan struct{}),
		ended:     make(chan struct{}),
		gone:      make(chan struct{}),
	}
}

// Open serves one stream. It returns once the stream is over: without an error
// where the client ended it or was refused in a frame, with a status otherwise.
func (g *grpcServer) Open(rpc grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]) error {
	if g.service.forwarder.passesOn() {
		return g.service.forwarder.stream(rpc)
	}
	s := newStream(g, rpc)
	if !g.live.add(s) {
		return status.Error(codes.Unavailable, "this member is leaving")
	}
	s.owner = g.service.clients.enter(callerName(rpc.Context()), g.service.now())
	g.work.Go(s.read)
	s.wait()
	return s.result
}

// wait returns when the stream is over. A client that neither greets in time nor
// reads its last words in time is not waited for.
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

// end ends the stream now; what the outbox still has is not sent. The first end
// counts. It never blocks.
func (s *stream) end(result error) {
	s.endOnce.Do(func() {
		s.result = result
		s.over.Store(true)
		close(s.ended)
	})
}

// finish ends the stream as soon as the outbox is sent. It never blocks.
func (s *stream) finish(result error) {
	s.lastOnce.Do(func() {
		s.last = result
		close(s.finishing)
	})
}

// read takes the client's frames until the stream is over.
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

// receive takes the next frame. Where none comes it says how the stream ends and
// reports false. A client that has only closed its own direction still gets what
// was answered so far.
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

// leave lets go of the session, which lives on until its TTL is over.
func (s *stream) leave() {
	if s.sink != 0 {
		s.server.service.driver.Detach(s.sink)
	}
	s.owner.leave()
	s.box.close()
	close(s.gone)
	s.server.occupants.leave(s)
	s.server.live.remove(s)
}

// write sends what the reader does not send by itself, a batch at a time, until the stream
// is over.
func (s *stream) write() {
	for {
		select {
		case <-s.ended:
			return
		default:
		}
		finishing := s.isFinishing() // asked before the batch: what is told later than this is not waited for
		switch sent, err := s.flush(); {
		case err != nil:
			s.end(err)
			return
		case sent:
			continue
		case finishing:
			s.end(s.last)
			return
		}
		select {
		case <-s.box.wake:
		case <-s.finishing:
		case <-s.ended:
		}
	}
}

// flush sends all that has gathered, and reports whether there was something.
func (s *stream) flush() (sent bool, err error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.sendGathered()
}

// sendGathered is flush for who has s.sending.
func (s *stream) sendGathered() (sent bool, err error) {
	s.batch = s.box.take(s.batch)
	if len(s.batch) == 0 {
		return false, nil
	}
	return true, s.send(s.batch)
}

// atOnce is how many events the reader sends by itself.
const atOnce = 16

// answer sends what the frame that was just performed has led to. If that is little it
// does so on the reader's own goroutine, since to wake another one costs more than the rest
// of a lock; a client that does not read its answers is then not read any further. Much is
// left to the writer, while the reader goes on: there the outbox has its bound.
func (s *stream) answer() {
	if s.box.waiting() > atOnce || !s.sending.TryLock() {
		s.box.signal()
		return
	}
	defer s.sending.Unlock()
	if _, err := s.sendGathered(); err != nil {
		s.end(err)
	}
}

func (s *stream) isFinishing() bool {
	select {
	case <-s.finishing:
		return true
	default:
		return false
	}
}

// send sends a batch in as few frames as the bound of a frame allows.
func (s *stream) send(batch []outgoing) error {
	f := s.server.frames.Get().(*frame)
	defer s.server.frames.Put(f)
	for len(batch) > 0 {
		n := f.fill(batch, s.server.service)
		err := s.rpc.SendMsg(&f.message)
		f.counted(s.server.service)
		f.empty()
		if err != nil {
			return err
		}
		s.server.service.observer.frame(sent)
		s.box.sent(batch[:n])
		batch = batch[n:]
	}
	return nil
}

// errSlow ends the stream of a client that does not read what it asked for.
func (s *stream) errSlow() error {
	return api.ToStatus(&api.Failure{
		Code: api.CodeLimit,
		Detail: fmt.Sprintf("more than %d events or %d bytes were waiting to be read; resume the session and read faster",
			s.server.outboxEvents, s.server.outboxBytes),
		Err: &holdfast.LimitError{Limit: unreadAnswers, Value: int64(s.server.outboxEvents)},
	})
}

// unreadAnswers is the name of the limit of what may wait for a client to read it.
const unreadAnswers = "unread_answers"

// errSuperseded ends the earlier stream of a session that a later one resumes.
func errSuperseded() error {
	return status.Error(codes.Aborted, "a later stream has resumed this session")
}

// errTakenOver refuses the client of a session that a later one has taken over, and ends its stream. It is the
// unknown_session that ends the clients of older programs, too, and says why.
func errTakenOver(id lock.SessionID) error {
	return &api.Failure{
		Code: api.CodeUnknownSession, Detail: fmt.Sprintf("session %v: taken over by another client", id), Err: holdfast.EndedByAnother,
	}
}

// errExpired ends the stream of a session that has ended: it was not renewed in time, or
// why says what else has ended it.
func errExpired(why error) error {
	text := "it was not renewed in time"
	if why != nil {
		text = why.Error()
	}
	return api.ToStatus(api.Fail(api.CodeUnknownSession, "unknown session: "+text))
}
