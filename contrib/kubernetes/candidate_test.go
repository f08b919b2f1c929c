package kubernetes_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/holdfast-locks/holdfast"
	holdfastkube "github.com/holdfast-locks/holdfast/contrib/kubernetes"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// The times of client-go's own defaults.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// resource is what leaders write to. It knows nothing of the election: it compares tokens.
type resource struct {
	t *testing.T

	mu      sync.Mutex
	largest holdfast.Token
	leading string
	leaders []string // in the order of their first writes
}

// begin notes that a candidate leads with a token, and checks that no other does and that none has had a larger one.
func (r *resource) begin(candidate string, token holdfast.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leading != "" || token <= r.largest {
		r.t.Errorf("%q leads with token %v, and %q has led with token %v", candidate, token, r.leading, r.largest)
	}
	r.leading, r.largest = candidate, token
	r.leaders = append(r.leaders, candidate)
}

func (r *resource) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leading = ""
}

// leader returns the candidate that leads, and how many have led.
func (r *resource) leader() (candidate string, led int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading, len(r.leaders)
}

// candidate is a LeaderElector over locks in memory.
type candidate struct {
	client  *holdfasttest.Locker
	lock    *holdfastkube.Lock
	elector *leaderelection.LeaderElector
	stopped chan struct{} // gets a value when it stops to lead
}

// newCandidate makes a candidate that writes to a resource while it leads.
func newCandidate(t *testing.T, locks *holdfasttest.Locker, r *resource, identity string, release bool) *candidate {
	t.Helper()
	c := &candidate{client: locks.Client(identity), stopped: make(chan struct{}, 1)}
	var err error
	c.lock, err = holdfastkube.New(holdfastkube.Config{Locks: c.client, Name: "scheduler", Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	c.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				held := c.lock.Granted()
				r.begin(identity, held.Token())
				defer r.end()
				<-held.Context().Done()
			},
			OnStoppedLeading: func() { c.stopped <- struct{}{} },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs the elector once, until the returned function is called; done is closed then.
func (c *candidate) run(t *testing.T) (cancel context.CancelFunc, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.elector.Run(ctx)
	}()
	return cancel, ended
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // inside a synctest bubble
	synctest.Wait()
}
