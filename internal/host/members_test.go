package host_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestVotersComeAndGo: a guest with a folder of its own takes the place of a founder that is removed, and of another
// that crashes, and what is held stays held.
func TestVotersComeAndGo(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	spaces := []host.Space{{Name: "default", Protocol: "consensus", Options: map[string]string{"shards": "2"}}}
	folder := t.TempDir()
	c := startCluster(t, 3, steady, func(c *host.Config) {
		c.State, c.Data, c.Spaces = "", filepath.Join(folder, c.Name), spaces
	})
	a := c.nodes[0]
	l := take(t, a, "x")
	c.configs = append(c.configs, host.Config{
		Name: "d", Listen: "unix://" + filepath.Join(folder, "d.socket"), Join: c.configs[0].Join, Lease: c.configs[0].Lease,
		Data: filepath.Join(folder, "d"), Spaces: spaces,
	})
	c.nodes = append(c.nodes, nil)
	c.start(t, 3)
	guest := c.nodes[3]
	if err := host.AwaitView(bounded(t), guest); err != nil {
		t.Fatal(err)
	}
	// The others have that view a moment later, and it has the log a moment after it was added.
	persist := func(ctx context.Context, member string, as protocol.Role) {
		t.Helper()
		for {
			err := a.Reform(ctx, "", member, as)
			if err == nil {
				return
			}
			if !errors.Is(err, holdfast.ErrConflict) && !errors.Is(err, holdfast.ErrUnavailable) || ctx.Err() != nil {
				t.Fatalf("%s as %v: %v", member, as, err)
			}
		}
	}
	persist(bounded(t), "d", protocol.Learner)
	persist(bounded(t), "d", protocol.Voter)
	if err := guest.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	persist(bounded(t), "c", protocol.Nonmember)
	if err := host.Crash(c.nodes[1]); err != nil {
		t.Fatal(err)
	}
	c.nodes[1] = nil
	// Two of three are left, and decide.
	if _, err := guest.TryLock(bounded(t), "x"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("what the first member holds is, for the new one, %v", err)
	}
	give(t, take(t, guest, "y"))
	if err := l.Check(); err != nil {
		t.Errorf("the lock that was held throughout: %v", err)
	}
	persist(bounded(t), "b", protocol.Nonmember)
	shards, err := a.Shards(bounded(t), "")
	if err != nil || len(shards.List) != 2 {
		t.Fatalf("%+v, %v", shards, err)
	}
	for i, shard := range shards.List {
		if len(shard.Voters) != 2 || len(shard.Learners) != 0 {
			t.Errorf("shard %d has %s", i, fmt.Sprint(shard))
		}
	}
	give(t, l)
}
