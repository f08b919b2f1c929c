package host_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/memory"
)

// TestReadyWhenCountedOn: a member that comes back is not ready while its place is a proposal, though its spaces can grant: another
// member that is stopped meanwhile would stop all. It is ready when the others have agreed.
func TestReadyWhenCountedOn(t *testing.T) {
	t.Parallel()
	c, network := &cluster{}, newSlowNetwork(t)
	names, folder := []string{"a", "b", "c"}, t.TempDir()
	for i, name := range names {
		config := host.Config{
			Spaces: []host.Space{{Name: "default", Protocol: "consensus"}},
			Name:   name, Address: name, Join: names, Expect: len(names), Data: filepath.Join(folder, name),
			Peers: func(identity func() transport.Identity) (transport.Transport, error) { return network.Join(identity()) },
		}
		steady(&config)
		c.configs, c.nodes = append(c.configs, config), append(c.nodes, nil)
		c.start(t, i)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(t, i)
		}
	})
	c.ready(t)
	back := (c.coordinator(t) + 1) % len(names)
	c.stop(t, back)
	c.ready(t)
	var without atomic.Uint64 // the view that all answers are about
	without.Store(c.running()[0].View().Number)
	network.Obey(func(p memory.Passage) []time.Duration {
		beyond := false
		switch m := p.Message.(type) {
		case membership.PollAnswer:
			beyond = m.View > without.Load()
		case membership.ViewAck:
			beyond = m.Answer.View > without.Load()
		}
		delays := network.carry(p)
		if beyond {
			return nil
		}
		return delays
	})
	c.start(t, back)
	ctx := bounded(t)
	for proposed := false; !proposed; {
		self, err := c.nodes[back].Who(ctx)
		if err != nil {
			t.Fatal(err)
		}
		proposed = self.Uncounted && self.State != membership.Joining
	}
	brief, done := context.WithTimeout(ctx, time.Second)
	defer done()
	if err := c.nodes[back].WaitReady(brief); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the view is not installed yet") {
		t.Errorf("a member of a proposal is ready: %v", err)
	}
	without.Store(1<<64 - 1)
	c.ready(t)
}
