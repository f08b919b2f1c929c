package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/holdfast-locks/holdfast"
)

// Config configures a candidate.
type Config struct {
	// Locks grants the lock, and shows who holds it: it has to be a holdfast.Observer, as the Lockers of Holdfast are.
	// Required.
	Locks holdfast.Locker
	// Name is the name of the lock, the same for all candidates. Required.
	Name string
	// Identity is the name of this candidate, unique among all. Required.
	Identity string
	// Options are those of the request for the lock, such as a reason to show or a required class. Its hold limit and
	// value are the package's.
	Options []holdfast.Option
	// EventRecorder records that this candidate became leader, and stopped leading, as events about Object, such as the
	// pod. Zero means no events.
	EventRecorder resourcelock.EventRecorder
	Object        runtime.Object
}

// Lock is a resourcelock.Interface: one candidate's side of the lock. One LeaderElector uses it at a time.
type Lock struct {
	config   Config
	observer holdfast.Observer
	granted  atomic.Pointer[holdfast.Lock]

	mu      sync.Mutex // held during Create and Update
	held    *holdfast.Lock
	lease   time.Duration // the LeaseDuration of the last record that was granted
	noTrial time.Time     // it does not take part before
}

var _ resourcelock.Interface = (*Lock)(nil)

// New returns a candidate's side of a lock. The error is an ErrName or an ErrConflict that names the field.
func New(config Config) (*Lock, error) {
	observer, observes := config.Locks.(holdfast.Observer)
	var err error
	switch {
	case config.Locks == nil:
		err = fmt.Errorf("%w: Config.Locks is nil; give a Locker", holdfast.ErrConflict)
	case !observes:
		err = fmt.Errorf("%w: Config.Locks, a %T, is no holdfast.Observer; give a Locker that is one", holdfast.ErrConflict, config.Locks)
	case config.Identity == "":
		err = fmt.Errorf("%w: Config.Identity is empty; give one that no other candidate has", holdfast.ErrName)
	case config.EventRecorder != nil && config.Object == nil:
		err = fmt.Errorf("%w: Config.EventRecorder needs Config.Object, which its events are about", holdfast.ErrConflict)
	default:
		err = holdfast.CheckName(config.Name)
	}
	if err != nil {
		return nil, &holdfast.Error{Op: "candidate for", Name: config.Name, Err: err}
	}
	return &Lock{config: config, observer: observer}, nil
}

// Granted returns the lock as it was granted to this candidate last: its token goes with what the leader writes, and its
// context ends with the leadership. It is nil before the first leadership. After one it is still that lock, which has
// ended.
func (l *Lock) Granted() *holdfast.Lock { return l.granted.Load() }

// Identity returns the name of this candidate.
func (l *Lock) Identity() string { return l.config.Identity }

// Describe returns the name of the lock.
func (l *Lock) Describe() string { return l.config.Name }

// RecordEvent records an event of this candidate.
func (l *Lock) RecordEvent(event string) {
	if l.config.EventRecorder != nil {
		l.config.EventRecorder.Eventf(l.config.Object, corev1.EventTypeNormal, "LeaderElection", "%s %s", l.config.Identity, event)
	}
}

// readWait is how long Get waits for the members at most: as long as TryLock does.
const readWait = 5 * time.Second

// Get returns the record of the leader, and its bytes. The error is a NotFound if the lock is free.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	for state, err := range l.observer.Observe(ctx, l.config.Name) {
		leader, held := state.Leader()
		switch {
		case err != nil:
			return nil, nil, err
		case !held:
			return nil, nil, apierrors.NewNotFound(schema.GroupResource{Group: "holdfast", Resource: "locks"}, l.config.Name)
		}
		var record resourcelock.LeaderElectionRecord
		if err := json.Unmarshal([]byte(leader.Value), &record); err != nil {
			return nil, nil, l.fail("read", fmt.Errorf("its holder is no candidate: it has the value %q: %w", leader.Value, err))
		}
		return &record, []byte(leader.Value), nil
	}
	return nil, nil, l.fail("read", holdfast.ErrUnavailable)
}

// Create takes the lock with a record.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.put(ctx, record)
}

// Update renews the record of the lock that this candidate holds, or takes the lock with it. A record without a holder
// releases the lock.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.put(ctx, record)
}

// put gives a record to the lock. No error of it is a Conflict: LeaderElector repeats a release after one, without a
// pause.
func (l *Lock) put(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if record.HolderIdentity != "" && record.HolderIdentity != l.config.Identity {
		return l.fail("renew", fmt.Errorf("%w: the record is of candidate %q, and this one is %q",
			holdfast.ErrConflict, record.HolderIdentity, l.config.Identity))
	}
	value, err := json.Marshal(record)
	if err != nil {
		return l.fail("renew", err)
	}
	lease := time.Duration(record.LeaseDurationSeconds) * time.Second
	held := l.held
	switch {
	case held == nil && record.HolderIdentity == "":
		return l.fail("unlock", holdfast.ErrNotHeld)
	case held == nil:
		return l.take(ctx, lease, string(value))
	case record.HolderIdentity == "":
		l.held = nil
		return held.Unlock(ctx)
	}
	err = held.Extend(ctx, lease)
	if err == nil {
		err = held.SetValue(ctx, string(value))
	}
	if lost := held.Check(); lost != nil {
		l.held = nil
		// The LeaderElector gives up within RenewDeadline, which is less than LeaseDuration; a record has that in whole
		// seconds.
		l.noTrial = time.Now().Add(l.lease + time.Second)
		err = lost
	}
	return err
}

// take takes the lock.
func (l *Lock) take(ctx context.Context, lease time.Duration, value string) error {
	if rest := time.Until(l.noTrial); rest > 0 {
		return l.fail("lock", fmt.Errorf("this candidate has lost it, and takes part again in %v", rest.Round(time.Second/10)))
	}
	options := append(slices.Clip(l.config.Options), holdfast.Value(value), holdfast.Hold(lease))
	lock, err := l.config.Locks.TryLock(ctx, l.config.Name, options...)
	if err != nil {
		return err
	}
	l.held, l.lease = lock, lease
	l.granted.Store(lock)
	return nil
}

func (l *Lock) fail(op string, err error) error {
	return &holdfast.Error{Op: op, Name: l.config.Name, Err: err}
}
