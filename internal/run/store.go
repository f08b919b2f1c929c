package run

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// storeTimeout is the time limit of a request to a store: after it the answer is unknown, or, if it writes nothing,
// refused. A driver's own limit may be shorter.
const storeTimeout = 10 * time.Second

// requestsAtOnce is the maximum number of concurrent requests of one space to its store. Further ones wait for their
// turn, in order; machines have a few under way for each name that a client wants.
const requestsAtOnce = 512

// keptIdle is the number of idle request goroutines kept for reuse: drivers call deep, and a new goroutine's stack
// grows each time.
const keptIdle = 32

// rewatch is the pause before a failed watch is retried.
const rewatch = time.Second

// storeWorker sends the requests of the machine at a port to a store, each on its own goroutine, because it takes a
// round trip.
type storeWorker struct {
	store  storage.Store
	port   protocol.Port
	answer func(protocol.Event)
	logger *slog.Logger

	ctx    context.Context // ends with the driver
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	queue   []protocol.Message    // waiting for a turn
	running int                   // goroutines that serve, or are idle
	idle    int                   // idle ones without a request
	handed  chan protocol.Message // to those that are no longer idle; it has room for all
	watches map[string]context.CancelFunc
	awaits  map[string]context.CancelFunc
	closed  bool
}

func newStoreWorker(store storage.Store, port protocol.Port, answer func(protocol.Event), logger *slog.Logger) *storeWorker {
	s := &storeWorker{store: store, port: port, answer: answer, logger: logger, handed: make(chan protocol.Message, requestsAtOnce), watches: map[string]context.CancelFunc{}, awaits: map[string]context.CancelFunc{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// submit accepts a request. It does not block: it is called with the driver's mutex held.
func (s *storeWorker) submit(request protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	switch request := request.(type) {
	case storage.Watch:
		s.watch(request.Key)
		return
	case storage.Unwatch:
		if cancel := s.watches[request.Key]; cancel != nil {
			cancel()
			delete(s.watches, request.Key)
		}
		return
	case storage.Await:
		s.await(request.RID)
		return
	case storage.Unawait:
		if cancel := s.awaits[request.RID]; cancel != nil {
			cancel()
			delete(s.awaits, request.RID)
		}
		return
	}
	if s.idle > 0 {
		s.idle--
		s.handed <- request
		return
	}
	if s.running == requestsAtOnce {
		s.queue = append(s.queue, request)
		return
	}
	s.running++
	s.ended.Go(func() { s.serve(request) })
}

// serve executes a request, and then those that have waited for a turn meanwhile, or come later.
func (s *storeWorker) serve(request protocol.Message) {
	for request != nil {
		if answer := s.perform(request); answer != nil {
			s.deliver(answer)
		}
		request = s.next()
	}
}

// next returns the next request, or nil when this goroutine is not needed any more.
func (s *storeWorker) next() protocol.Message {
	request, idle := s.turn()
	if !idle {
		return request
	}
	select {
	case request = <-s.handed:
		return request
	case <-s.ctx.Done():
		return nil
	}
}

// turn returns the request that has waited longest, or that this goroutine is idle now, or neither.
func (s *storeWorker) turn() (request protocol.Message, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || len(s.queue) == 0 && s.idle == keptIdle:
		s.running--
		return nil, false
	case len(s.queue) == 0:
		s.idle++
		return nil, true
	}
	request = s.queue[0]
	s.queue = s.queue[1:]
	return request, false
}

// perform executes a request, and returns the answer.
func (s *storeWorker) perform(request protocol.Message) protocol.Message {
	ctx, cancel := context.WithTimeout(s.ctx, storeTimeout)
	defer cancel()
	switch request := request.(type) {
	case storage.Mutate:
		return storage.Mutated{ID: request.ID, Err: s.store.Mutate(ctx, &request)}
	case storage.Slice:
		entries, err := s.store.Slice(ctx, &request)
		return storage.Sliced{ID: request.ID, Entries: entries, Err: err}
	case storage.Swap:
		swapped, err := s.store.Swap(ctx, &request)
		swapped.ID, swapped.Err = request.ID, err
		return swapped
	case storage.Attend:
		return storage.Attended{RID: request.RID, Err: s.attend(ctx, request.RID)}
	case storage.Clock:
		micros, err := s.store.Clock(ctx)
		return storage.Clocked{ID: request.ID, Time: micros, Err: err}
	}
	s.logger.Debug("dropped a message without a receiver", "to", "store", "message", request)
	return nil
}

func (s *storeWorker) deliver(answer protocol.Message) {
	s.answer(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: s.port, Fact: answer})
}

// watch notifies the machine whenever the row of key may have changed, until it is unwatched. It is called with the
// mutex held.
func (s *storeWorker) watch(key string) {
	if s.watches[key] != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.watches[key] = cancel
	s.ended.Go(func() {
		defer cancel()
		changed := make(chan struct{}, 1) // several changes are signalled once
		signal := func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		for ctx.Err() == nil {
			err := s.store.Watch(ctx, key, signal)
			if err == nil {
				break
			}
			s.logger.Debug("watching a row of the store", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(rewatch):
			}
		}
		signal()
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				s.deliver(storage.Changed{Key: key})
			}
		}
	})
}

// attend records that a process lives.
func (s *storeWorker) attend(ctx context.Context, rid string) error {
	store, is := s.store.(storage.Attender)
	if !is {
		features := s.store.Features()
		return features.Lacks("ends of processes")
	}
	return store.Attend(ctx, rid)
}

// await tells the machine whether a process has ended, and when it does, until it is unawaited. It is called with the
// mutex held.
func (s *storeWorker) await(rid string) {
	if s.awaits[rid] != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.awaits[rid] = cancel
	s.ended.Go(func() {
		defer cancel()
		ended := make(chan struct{}, 1)
		over := false
		if store, is := s.store.(storage.Attender); is {
			var err error
			if over, err = store.Await(ctx, rid, func() { ended <- struct{}{} }); err != nil {
				s.logger.Debug("asking the store for the end of a process", "process", rid, "error", err)
			}
		}
		if ctx.Err() == nil {
			s.deliver(storage.Awaited{RID: rid, Ended: over})
		}
		select {
		case <-ctx.Done():
		case <-ended:
			s.deliver(storage.Awaited{RID: rid, Ended: true})
		}
	})
}

// close ends all requests under way. The store stays open: it belongs to its owner.
func (s *storeWorker) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.ended.Wait()
}

// ownClock answers a reading of the machine's wall clock.
func ownClock(port protocol.Port, c storage.Clock) protocol.Event {
	fact := storage.Clocked{ID: c.ID, Time: time.Now().UnixMicro()}
	return protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: port, Fact: fact}
}
