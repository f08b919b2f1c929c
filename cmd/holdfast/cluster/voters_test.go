package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// guest starts one member more, which is no founder, with a folder of its own and further flags.
func (b *harness) guest(address string, settings clustertest.Settings) *clustertest.Member {
	b.Helper()
	m := &clustertest.Member{Name: "guest", Address: address}
	m.Command = append([]string{
		program, "serve", "--name", m.Name, "--listen", address, "--http", "", "--join", strings.Join(settings.Addresses, ","),
		"--log-level", *level, "--data", settings.Data(m.Name), "--lease", settings.Lease.String(), "--patience", (settings.Lease / 10).String(),
	}, settings.Flags...)
	b.check(m.Start())
	b.cluster.Members = append(b.cluster.Members, m)
	return m
}

// reform has a member be something else, as soon as it can.
func (b *harness) reform(through, m *clustertest.Member, as string) {
	b.Helper()
	admin := b.adminOf(through)
	b.eventually(func() (bool, error) {
		_, err := admin.Reform(b.ctx, "", m.Name, as)
		return err == nil, err
	}, "%s becomes %s", m.Name, as)
}

// awaitShards asks a member who leads and votes until that is as wanted.
func (b *harness) awaitShards(through *clustertest.Member, what string, is func([]*schema.Shard) bool) {
	b.Helper()
	admin := b.adminOf(through)
	b.eventually(func() (bool, error) {
		shards, err := admin.Shards(b.ctx, "")
		return err == nil && is(shards.Shards), err
	}, "%s knows that %s", through.Name, what)
}

// eventually looks again and again whether something is so. An answer that members do not know it yet, or cannot decide,
// is no error.
func (b *harness) eventually(is func() (bool, error), what string, arguments ...any) {
	b.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		done, err := is()
		if done {
			b.logf(what, arguments...)
			return
		}
		if err != nil && b.ctx.Err() == nil && !errors.Is(err, holdfast.ErrUnavailable) && !errors.Is(err, holdfast.ErrConflict) && !errors.Is(err, context.DeadlineExceeded) {
			b.Fatalf("%v, before "+what, append([]any{err}, arguments...)...)
		}
		select {
		case <-look.C:
		case <-b.ctx.Done():
			b.Fatalf("it is not so in time that "+what+": %v", append(arguments, err)...)
		}
	}
}

// votes reports whether these members, and no others, vote in all shards.
func votes(shards []*schema.Shard, members ...*clustertest.Member) bool {
	var want []string
	for _, m := range members {
		want = append(want, m.Name)
	}
	slices.Sort(want)
	return !slices.ContainsFunc(shards, func(s *schema.Shard) bool {
		return !slices.Equal(slices.Sorted(slices.Values(s.Voters)), want)
	})
}

// senior is the most senior founder of the first view without a member that is gone.
func (b *harness) senior(through, gone *clustertest.Member) *clustertest.Member {
	b.Helper()
	shown := func(m *schema.Member) bool { return m.Name == gone.Name }
	status, err := b.cluster.AwaitStatus(b.ctx, through, "the view is without "+gone.Name, func(s *schema.Status) bool {
		return !slices.ContainsFunc(s.View.Members, shown)
	})
	b.check(err)
	return b.cluster.Member(status.View.Members[slices.IndexFunc(status.View.Members, func(m *schema.Member) bool { return m.Founder })].Name)
}

// TestLastingSpareTakesOver: a founder is killed for good, and a spare gets its vote. That is what decides when another one is killed.
func TestLastingSpareTakesOver(t *testing.T) {
	t.Parallel()
	settings := lasting(t)
	addresses := loopback(t, 4)
	settings.Addresses, settings.Flags = addresses[:3], []string{"--space", "default=consensus,shards=2,autopilot=3s"}
	b := prepare(t, settings)
	b.check(b.cluster.Start(b.ctx))
	founders := slices.Clone(b.cluster.Members)
	spare := b.guest(addresses[3], settings)
	b.reform(founders[0], spare, "learner")
	b.check(spare.AwaitReady(b.ctx))
	b.check(b.workers.StartAll(b.cluster, 6))
	b.check(b.workers.AwaitAll(b.ctx, 0, 0, b.workers.Workers()...))

	gone, next, stays := founders[0], founders[1], founders[2]
	s := b.set("report", gone, next, spare, stays)
	keeper, kept := b.keep(spare)
	mark, at := b.kill("for good", gone)
	b.awaitShards(spare, "the spare votes, and the one that is gone does not", func(shards []*schema.Shard) bool { return votes(shards, next, stays, spare) })
	if said := next.Log() + stays.Log() + spare.Log(); !strings.Contains(said, "go on without its vote") || !strings.Contains(said, "member="+gone.Name) {
		b.Errorf("no member's log says that %s has lost its vote", gone.Name)
	}
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))

	if b.senior(spare, gone) != stays { // a view goes on with half of its founders and the most senior one
		next, stays = stays, next
	}
	keeper, kept = b.keep(spare)
	mark, at = b.kill("of the three that vote", next)
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...)) // two of three decide, and one of them is the spare
	for _, m := range []*clustertest.Member{stays, spare} {
		s.stands(m)
	}
	s.play()
	b.check(next.Start())
	b.healed()

	b.check(gone.Start())
	_, err := b.cluster.AwaitStatus(b.ctx, gone, "it says that it was removed", func(s *schema.Status) bool {
		return s.Spaces[0].State == "unavailable" && strings.Contains(s.Spaces[0].Why, "this member was removed from the space")
	})
	b.check(err)
	b.reform(spare, gone, "learner")
	b.reform(spare, gone, "voter")
	b.awaitShards(gone, "it votes again", func(shards []*schema.Shard) bool { return votes(shards, next, stays, spare, gone) })
	b.healed()
	b.wantNoneLost(b.judge())
}

// TestLastingLeadersAreSpread: three shards have three leaders, and have them again when one of these was killed and has come back.
func TestLastingLeadersAreSpread(t *testing.T) {
	t.Parallel()
	settings := lasting(t)
	settings.Addresses, settings.Flags = loopback(t, 3), []string{"--space", "default=consensus,shards=3"}
	b := prepare(t, settings)
	b.begin(6)
	spread := func(shards []*schema.Shard) bool {
		leaders := map[string]bool{}
		for _, s := range shards {
			leaders[s.Leader] = true
		}
		return len(shards) == 3 && len(leaders) == 3 && !leaders[""]
	}
	for _, m := range b.cluster.Members {
		b.awaitShards(m, "each leads a shard", spread)
	}
	victim := b.cluster.Members[1]
	others := b.cluster.Others(victim)
	s := b.set("report", others[0], victim, others[1])
	keeper, kept := b.keep(others[1])
	mark, at := b.kill("which leads a shard", victim)
	b.awaitShards(others[0], "the others lead them all", func(shards []*schema.Shard) bool {
		return !slices.ContainsFunc(shards, func(s *schema.Shard) bool { return s.Leader == "" || s.Leader == victim.Name })
	})
	b.keeps(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	b.revive()
	for _, m := range b.cluster.Members {
		b.awaitShards(m, "each leads a shard again", spread)
	}
	s.play()
	b.wantNoneLost(b.judge())
}
