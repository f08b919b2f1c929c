package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
	"github.com/holdfast-locks/holdfast/internal/trial"
)

// central is a cluster of three, talked to through its coordinator or another member.
type central struct {
	cluster *cluster
	direct  bool
}

func (c *central) Name() string {
	if c.direct {
		return "central"
	}
	return "central-member"
}

func (c *central) Supports(load.Cell) bool { return true }

func (c *central) Start(ctx context.Context) error { return c.cluster.start(ctx) }

func (c *central) Stop() error { return c.cluster.stop() }

func (c *central) children() []*child { return c.cluster.members }

func (c *central) Usage(ctx context.Context, settle bool) (sum load.Usage, err error) {
	for _, m := range c.cluster.members {
		used, err := m.usage(ctx, settle)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(used)
	}
	return sum, nil
}

// Addresses are those of its members.
func (c *central) Addresses() []string { return c.cluster.addresses }

// TLS is nil: members of a bench alone with each other do not encrypt.
func (c *central) TLS() *tls.Config { return nil }

// Sample is what its members have.
func (c *central) Sample(ctx context.Context) (all []soak.Process, err error) {
	for _, m := range c.cluster.members {
		p, err := m.sample(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// askAgain is the pause between two looks at which member a session has reached.
const askAgain = 5 * time.Millisecond

// Connect dials, and waits until the session is where it shall be: a client that goes to
// the authority begins wherever it is told about that.
func (c *central) Connect(ctx context.Context, _ int) (load.Client, error) {
	coordinator, err := c.cluster.coordinator(ctx)
	if err != nil {
		return nil, err
	}
	first := coordinator
	options := []client.Option{client.Name("holdfast bench")}
	if c.direct {
		options = append(options, client.Direct())
	} else {
		first = (coordinator + 1) % len(c.cluster.addresses)
	}
	dialled, err := client.Dial(ctx, c.cluster.addresses[first], options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	for dialled.Member() != memberNames()[first] {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			err := fmt.Errorf("reach member %s: %w; the session is at %q", memberNames()[first], context.Cause(ctx), dialled.Member())
			return nil, errors.Join(err, dialled.Close())
		}
	}
	return session{locks{dialled}, dialled}, nil
}

// cluster is three members in children. Two targets share it.
type cluster struct {
	bed       *Bed
	users     int
	addresses []string
	members   []*child
}

func memberNames() []string { return []string{"a", "b", "c"} }

func (c *cluster) start(ctx context.Context) error {
	if c.users++; c.users > 1 {
		return nil
	}
	err := c.startAll(ctx)
	if err != nil {
		c.users = 0
		err = stopAll(err, c.members...)
		c.members = nil
	}
	return err
}

func (c *cluster) startAll(ctx context.Context) (err error) {
	if c.addresses, err = trial.FreeAddresses(len(memberNames())); err != nil {
		return err
	}
	for i, name := range memberNames() {
		folder := c.bed.fresh("member-" + name)
		args := c.bed.memberArgs(name, folder, c.addresses[i],
			"--join", strings.Join(c.addresses, ","), "--expect", fmt.Sprint(len(c.addresses)))
		member, err := c.bed.start("member "+name, "member-"+name, args...)
		if err != nil {
			return err
		}
		c.members = append(c.members, member)
	}
	for _, m := range c.members {
		if err := m.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) stop() error {
	if c.users--; c.users > 0 {
		return nil
	}
	err := stopAll(nil, c.members...)
	c.members = nil
	return err
}

// coordinator is which of the members coordinates.
func (c *cluster) coordinator(ctx context.Context) (int, error) {
	admin, err := client.DialAdmin(c.addresses[0])
	if err != nil {
		return 0, err
	}
	status, err := admin.Status(ctx)
	if err = errors.Join(err, admin.Close()); err != nil {
		return 0, err
	}
	i := slices.Index(memberNames(), status.View.Coordinator)
	if i < 0 {
		return 0, fmt.Errorf("find the coordinator: member %s says %q", memberNames()[0], status.View.Coordinator)
	}
	return i, nil
}
