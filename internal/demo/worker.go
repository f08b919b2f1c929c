package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// sessionTTL is how long a worker that fell silent still counts as present. It is
// short, so that the demo is.
const sessionTTL = 2 * time.Second

// Worker is what a worker process does: it works until its input ends. The line
// "keep" on it lets the worker keep the register the next time it has it, until it is
// lost or the line "go on" comes.
type Worker struct {
	Server   string
	Register string // path of the guarded file
	Orders   io.Reader
	Words    io.Writer
}

// worker is a Worker at work.
type worker struct {
	Worker
	clock    clock.Clock
	register Register
	locks    holdfast.Locker

	mu    sync.Mutex
	words *json.Encoder
	keep  bool
	goOn  chan struct{}
}

// Run works. The error is what made it stop before its input ended.
func (w Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	locks, err := client.Dial(ctx, w.Server, client.TTL(sessionTTL), client.Name("demo worker"))
	if err != nil {
		return err
	}
	defer locks.Close()
	at := &worker{
		Worker: w, clock: clock.Real(), register: Register{w.Register}, locks: locks,
		words: json.NewEncoder(w.Words), goOn: make(chan struct{}, 1),
	}
	go func() {
		defer cancel()
		at.listen()
	}()
	at.tell(event{Kind: ready})
	err = at.work(ctx)
	if ctx.Err() != nil {
		return nil // its input has ended: it was told to stop
	}
	return err
}

// listen takes orders until there are no more.
func (w *worker) listen() {
	for lines := bufio.NewScanner(w.Orders); lines.Scan(); {
		switch lines.Text() {
		case "keep":
			w.mu.Lock()
			w.keep = true
			w.mu.Unlock()
		case "go on":
			select {
			case w.goOn <- struct{}{}:
			default:
			}
		}
	}
}

// tell says what happened, with the time unless it is given.
func (w *worker) tell(e event) {
	if e.At == 0 {
		e.At = w.clock.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Nobody to tell is noticed by the end of the input.
	_ = w.words.Encode(e)
}

// kept reports, once, that the worker was ordered to keep what it has.
func (w *worker) kept() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.keep
	w.keep = false
	return kept
}

// work takes one lock after the other.
func (w *worker) work(ctx context.Context) error {
	for ctx.Err() == nil {
		name, options := registerName, []holdfast.Option(nil)
		if rand.IntN(2) == 0 {
			name, options = poolName, []holdfast.Option{holdfast.Slots(poolUnits, poolCapacity)}
		}
		lock, err := w.locks.Lock(ctx, name, options...)
		if err != nil {
			return err
		}
		w.tell(event{Kind: entered, Name: name, Token: lock.Token()})
		if name == registerName && w.kept() {
			w.stay(ctx, lock)
		} else {
			w.use(lock)
		}
	}
	return nil
}

// use does a little work with the lock and gives it back.
func (w *worker) use(lock *holdfast.Lock) {
	if lock.Name() == registerName {
		w.write(lock)
	}
	timer := time.NewTimer(time.Duration(1+rand.IntN(4)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-lock.Context().Done():
	case <-timer.C:
	}
	w.leave(lock)
}

// leave gives the lock back; that it is not used any more is true before.
func (w *worker) leave(lock *holdfast.Lock) {
	at := w.clock.Now()
	err := lock.Unlock(context.Background())
	switch {
	case err == nil:
		w.tell(event{At: at, Kind: left, Name: lock.Name(), Token: lock.Token()})
	case errors.Is(err, holdfast.ErrLost):
		// It did not have the lock beyond its deadline, however late it looked.
		w.tell(event{At: min(at, lock.Deadline()), Kind: lost, Name: lock.Name(), Token: lock.Token(), Why: err.Error()})
	default:
		w.tell(event{Kind: failed, Name: lock.Name(), Why: err.Error()})
	}
}

// write writes to the register under the lock's token, as a program does that does
// not look whether it still has the lock.
func (w *worker) write(lock *holdfast.Lock) {
	err := w.register.Write(lock.Token())
	switch {
	case err == nil:
		w.tell(event{Kind: wrote, Name: lock.Name(), Token: lock.Token()})
	case errors.Is(err, ErrStale):
		w.tell(event{Kind: refused, Name: lock.Name(), Token: lock.Token(), Why: err.Error()})
	default:
		w.tell(event{Kind: failed, Name: lock.Name(), Why: fmt.Sprintf("write under %v: %v", lock.Token(), err)})
	}
}

// stay keeps the lock until it is told to go on, and writes then, whether or not it
// still has it: what a process does that was paused at the wrong moment.
func (w *worker) stay(ctx context.Context, lock *holdfast.Lock) {
	w.tell(event{Kind: keeping, Name: lock.Name(), Token: lock.Token()})
	select {
	case <-w.goOn:
	case <-ctx.Done():
	}
	w.write(lock)
	w.leave(lock)
}
