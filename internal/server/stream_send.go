package server

import (
	"errors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/protocol"
)

// signal wakes the writer, unless a goroutine is about to check the box anyway: it finds anything that is put there
// meanwhile.
func (s *stream) signal() {
	if s.held.Load() {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// write sends everything that the reader does not, a batch at a time, until the stream is over.
func (s *stream) write() {
	for {
		select {
		case <-s.ended:
			return
		default:
		}
		switch sent, err := s.flush(); {
		case err != nil:
			s.end(err)
			return
		case sent:
			continue
		}
		select {
		case <-s.wake:
		case <-s.finishing:
		case <-s.ended:
		}
	}
}

// flush sends everything in the outbox, and reports whether there was anything.
func (s *stream) flush() (sent bool, err error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.sendGathered()
}

// sendGathered is flush with s.sending held.
func (s *stream) sendGathered() (sent bool, err error) {
	s.mu.Lock()
	s.batch = s.box.Take(s.batch)
	state, result := s.box.State()
	s.mu.Unlock()
	if len(s.batch) == 0 {
		s.heed(state, result)
		return false, nil
	}
	return true, s.send(s.batch)
}

// atOnce is the maximum number of events that the reader sends by itself.
const atOnce = 16

// answer sends the results of the last frame. If there are few it does so on the reader's own goroutine, since waking
// another one costs more than the rest of a lock; a client that does not read its answers is then not read any further.
// Many are left to the writer, while the reader continues: there the outbox has its bound.
func (s *stream) answer() {
	if s.waiting() > atOnce || !s.sending.TryLock() {
		s.signal()
		return
	}
	defer s.sending.Unlock()
	if _, err := s.sendGathered(); err != nil {
		s.end(err)
	}
}

func (s *stream) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.box.Waiting()
}

// send sends a batch in as few frames as the bound of a frame allows.
func (s *stream) send(batch []edge.Outgoing) error {
	f := s.server.frames.Get().(*frame)
	defer s.server.frames.Put(f)
	for len(batch) > 0 {
		is := len(batch) > heavyOperations
		s.server.service.heavy.begin(is)
		n := f.fill(batch, s.server)
		s.server.service.heavy.end(is)
		err := s.rpc.SendMsg(&f.Message)
		f.counted(s.server.service)
		f.Empty()
		if err != nil {
			return err
		}
		s.server.service.observer.frame(sent)
		s.mu.Lock()
		s.box.Sent(batch[:n])
		s.mu.Unlock()
		batch = batch[n:]
	}
	return nil
}

// frame is the reusable memory of a frame: a message is encoded before SendMsg returns, and is not read afterwards.
type frame struct {
	edge.Frame
	done map[outcome]int
}

// outcome is a kind of call in a space, as a key for counting outcomes.
type outcome struct {
	port protocol.Port
	call edge.Call
}

func newFrame() *frame { return &frame{done: map[outcome]int{}} }

// fill makes messages of the first events of batch and returns their number. It counts their outcomes; successes are
// counted together, once a frame.
func (f *frame) fill(batch []edge.Outgoing, g *grpcServer) int {
	n := f.Fill(batch, &g.edge, g.service.driver.Wall(0))
	for i := range batch[:n] {
		t := &batch[i]
		switch port, call, done, refused := t.Outcome(); {
		case refused != nil:
			g.service.observer.operation(g.service.spaceName(port), call.String(), refused)
		case done:
			f.done[outcome{port, call}]++
		}
		if cut, wanted, given := t.Cut(); cut != session.Uncut {
			g.service.noteCut(cut, wanted, given)
		}
	}
	return n
}

// counted reports the successes to the observer.
func (f *frame) counted(service *service) {
	//tidy:unordered each is a counter of its own
	for o, n := range f.done {
		service.observer.operations.WithLabelValues(service.spaceName(o.port), o.call.String(), resultOK).Add(float64(n))
	}
	clear(f.done)
}

// isSlow reports whether a stream has ended because its client does not read.
func isSlow(result error) bool {
	var limit *holdfast.LimitError
	return errors.As(result, &limit) && limit.Limit == edge.UnreadAnswers
}
