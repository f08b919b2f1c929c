package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// limitedBy checks that an error names a limit and its value.
func limitedBy(t *testing.T, err error, limit string, value int64) {
	t.Helper()
	var exceeded *holdfast.LimitError
	if !errors.Is(err, holdfast.ErrLimit) || !errors.As(err, &exceeded) || exceeded.Limit != limit || exceeded.Value != value {
		t.Errorf("want limit %s of %d: %v", limit, value, err)
	}
}

// TestLimitsOfACluster: the limits of a space are its table's, whichever member is
// asked; those of sessions are each member's own.
func TestLimitsOfACluster(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady, func(config *host.Config) {
		config.Limits = host.Limits{Names: 3, WaitersPerName: 2, Sessions: 2}
	})
	coordinator := c.coordinator(t)
	one := c.other(t, coordinator)
	two := c.other(t, coordinator, one)
	a, b := c.nodes[one], c.nodes[two]
	take(t, a, "a")
	take(t, b, "b")
	third := take(t, c.nodes[coordinator], "c")
	for _, n := range c.nodes {
		_, err := n.Lock(bounded(t), "d")
		limitedBy(t, err, "names", 3)
	}
	give(t, third)
	fourth := take(t, b, "d")
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	waits := []<-chan outcome{queue(t, ctx, a, "b"), queue(t, ctx, c.nodes[coordinator], "b")}
	_, err := b.Lock(bounded(t), "b", holdfast.Owner("another"))
	limitedBy(t, err, "waiters_per_name", 2)
	session, err := a.Session(bounded(t)) // the second
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Session(bounded(t))
	limitedBy(t, err, "sessions", 2)
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	for _, wait := range waits {
		if got := <-wait; !errors.Is(got.err, context.Canceled) {
			t.Errorf("a wait that was cancelled: %v", got.err)
		}
	}
	give(t, fourth)
	take(t, b, "e") // behind its own release
}
