package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The protocols of targets in which members ask each other, and in which they ask leaders.
const (
	peers   = "permission"
	leaders = "bakery"
)

// sizes returns the sizes of the clusters in this process.
func sizes() []int { return []int{3, 5, 9} }

// spread is a cluster that is all in this process, with its workers at their own members, or all at the coordinator.
type spread struct {
	*gathering
	name        string
	sends       load.Messages // its message pattern
	coordinator bool
}

// spreads makes all targets of that many members. Those of protocol central share a cluster.
func (b *Harness) spreads(count int) []*spread {
	of := func(protocol string, options map[string]string) *gathering {
		return &gathering{harness: b, count: count, space: host.Space{Protocol: protocol, Options: options}}
	}
	central, number := of("central", nil), "-"+strconv.Itoa(count)
	return []*spread{
		{central, "central" + number + "-coordinator", load.NoMessages, true},
		{central, "central" + number, load.Centralized, false},
		{of(peers, nil), peers + number, load.Broadcast, false},
		{of(peers, map[string]string{"retain": "true"}), peers + number + "-retain", load.Broadcast, false},
		{of(leaders, nil), leaders + number, load.TwoPhase, false},
	}
}

// spreadNames are the names of all of them.
func spreadNames() (names []string) {
	for _, count := range sizes() {
		for _, s := range (&Harness{}).spreads(count) {
			names = append(names, s.name)
		}
	}
	return names
}

// Delayed reports whether a delay of messages between members applies to a target.
func Delayed(name string) bool { return slices.Contains(spreadNames(), name) }

func (s *spread) Name() string { return s.name }

// Supports excludes Hold: all members share the memory of this process.
func (s *spread) Supports(c load.Cell) bool { return c.Workload != load.Hold }

// Messages returns the message pattern.
func (s *spread) Messages() load.Messages { return s.sends }

// Ping is a ping-pong between the members: with their delay, both ways.
func (s *spread) Ping(ctx context.Context, d time.Duration) (time.Duration, error) {
	ping, err := s.harness.Ping(ctx, d)
	return ping + 2*s.harness.config.Delay, err
}

// Usage returns zero: the members' usage counts as the workers'.
func (s *spread) Usage(context.Context, bool) (load.Usage, error) { return load.Usage{}, nil }

// Counted returns the number of messages of their space between the members. Each was counted at both ends.
func (s *spread) Counted() uint64 { return s.messages.count.Load() / 2 }

// Connect places the workers: one at each member, if there are as many, and otherwise in rotation at those that do not
// coordinate, so that the cheaper locks at the coordinator are not mixed with the others.
func (s *spread) Connect(_ context.Context, c load.Cell) (load.Client, error) {
	nodes := s.nodes
	at := slices.IndexFunc(nodes, func(n *host.Member) bool { return n.View().Coordinator == n.Identity().ID })
	switch {
	case at < 0:
		return nil, fmt.Errorf("find the coordinator of %s: no member says that it is", s.Name())
	case s.coordinator:
		nodes = nodes[at : at+1]
	case c.Workers != len(nodes):
		nodes = slices.Concat(nodes[:at], nodes[at+1:])
	}
	var used lockers
	for _, n := range nodes {
		used = append(used, n)
	}
	return used, nil
}

// gathering is a cluster of members in this process, which reach each other over the loopback. Several targets may
// share it.
type gathering struct {
	harness  *Harness
	count    int
	space    host.Space // its Name is the default one
	users    int
	nodes    []*host.Member
	messages messages
	hearing  sync.WaitGroup
}

// Start starts the members, unless another target has.
func (g *gathering) Start(ctx context.Context) error {
	if g.users++; g.users > 1 {
		return nil
	}
	err := g.startAll(ctx)
	if err != nil {
		err = errors.Join(err, g.Stop())
	}
	return err
}

func (g *gathering) startAll(ctx context.Context) error {
	addresses, err := clustertest.FreeAddresses(g.count)
	if err != nil {
		return err
	}
	g.space.Name = holdfast.DefaultSpace
	for i, address := range addresses {
		name := "m" + strconv.Itoa(i+1)
		n, err := host.Start(ctx, host.Config{
			Name: name, Address: address, Join: addresses, Expect: g.count,
			Peers: hear(address, &g.messages, g.harness.config.Delay, &g.hearing),
			State: g.harness.fresh("member-" + name), Spaces: []host.Space{g.space},
		})
		if err != nil {
			return err
		}
		g.nodes = append(g.nodes, n)
	}
	for _, n := range g.nodes {
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	return g.awaitAll(ctx)
}

// awaitAll waits until all members have the view of all: a member is ready as soon as a quorum is.
func (g *gathering) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gatherLimit)
	defer cancel()
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	for {
		views := make([]protocol.View, 0, g.count)
		for _, n := range g.nodes {
			views = append(views, n.View())
		}
		if !slices.ContainsFunc(views, func(v protocol.View) bool {
			return len(v.Members) < g.count || v.Number != views[0].Number || v.Epoch != views[0].Epoch
		}) {
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %d members have one view: %w", g.count, context.Cause(ctx))
		}
	}
}

// gatherLimit is the time limit for members to have one view, once each can grant.
const gatherLimit = 30 * time.Second

// Stop ends them, unless another target needs them.
func (g *gathering) Stop() error {
	if g.users--; g.users > 0 {
		return nil
	}
	var closing sync.WaitGroup
	errs := make([]error, len(g.nodes))
	for i, n := range g.nodes {
		closing.Go(func() { errs[i] = n.Close() })
	}
	closing.Wait()
	g.hearing.Wait()
	g.nodes = nil
	return errors.Join(errs...)
}
