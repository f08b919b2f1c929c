package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// three is a cluster of three, talked to through its authority or another member.
type three struct {
	cluster *cluster
	direct  bool
}

func (c *three) Name() string {
	if c.direct {
		return c.cluster.protocol
	}
	return c.cluster.protocol + "-member"
}

func (c *three) Supports(load.Cell) bool { return true }

func (c *three) Start(ctx context.Context) error { return c.cluster.start(ctx) }

func (c *three) Stop() error { return c.cluster.stop() }

func (c *three) children() []*child { return c.cluster.members }

func (c *three) Usage(ctx context.Context, settle bool) (sum load.Usage, err error) {
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
func (c *three) Addresses() []string { return c.cluster.addresses }

// TLS is nil: members of a bench alone with each other do not encrypt.
func (c *three) TLS() *tls.Config { return nil }

// Sample is what its members have.
func (c *three) Sample(ctx context.Context) (all []soak.Process, err error) {
	for _, m := range c.cluster.members {
		p, err := m.sample(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// pollInterval is the pause between two looks at which member a session has reached.
const pollInterval = 5 * time.Millisecond

// Connect dials, and waits until the session is where it shall be: a client that goes to
// the authority begins at the member that tells it about that.
func (c *three) Connect(ctx context.Context, _ int) (load.Client, error) {
	authority, err := c.cluster.authority(ctx)
	if err != nil {
		return nil, err
	}
	first := authority
	options := []client.Option{client.Name("holdfast bench")}
	if c.direct {
		options = append(options, client.Direct())
	} else {
		first = (authority + 1) % len(c.cluster.addresses)
	}
	dialled, err := client.Dial(ctx, c.cluster.addresses[first], options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	ticks := time.NewTicker(pollInterval)
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

// replicated is the protocol whose members keep what they agree on in folders.
const replicated = "consensus"

// cluster is three members in children, whose default space has a protocol. Two targets
// share it.
type cluster struct {
	harness   *Harness
	protocol  string
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
	if c.addresses, err = clustertest.FreeAddresses(len(memberNames())); err != nil {
		return err
	}
	for i, name := range memberNames() {
		folder := c.harness.fresh("member-" + name)
		args := c.harness.memberArgs(name, folder, c.addresses[i],
			"--join", strings.Join(c.addresses, ","), "--expect", fmt.Sprint(len(c.addresses)), "--space", "default="+c.protocol)
		if c.protocol == replicated {
			args = append(args, "--data", folder+"-data")
		}
		member, err := c.harness.start("member "+name, "member-"+name, args...)
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
	if c.protocol == replicated {
		// Its voters elect a leader that the view does not name; and direct clients go where the view sends them.
		if _, err := c.authority(ctx); err != nil {
			return err
		}
	}
	if c.protocol == grantors || c.protocol == replicated {
		return appoint(ctx, c.addresses[0], memberNames()[0])
	}
	return nil
}

// appoint makes a member the authority of the default space.
func appoint(ctx context.Context, address, member string) error {
	admin, err := client.DialAdmin(address)
	if err != nil {
		return err
	}
	_, err = admin.Transfer(ctx, "", member)
	return errors.Join(err, admin.Close())
}

func (c *cluster) stop() error {
	if c.users--; c.users > 0 {
		return nil
	}
	err := stopAll(nil, c.members...)
	c.members = nil
	return err
}

// authority is which of the members is the authority of the default space. It waits until there is one: a cluster
// that serves may be about to elect it.
func (c *cluster) authority(ctx context.Context) (number int, err error) {
	admin, err := client.DialAdmin(c.addresses[0])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	for {
		status, err := admin.Status(ctx)
		if err != nil {
			return 0, err
		}
		var authority []string
		for _, space := range status.Spaces {
			if space.Name == holdfast.DefaultSpace {
				authority = space.Authority
			}
		}
		if i := slices.IndexFunc(memberNames(), func(name string) bool { return slices.Contains(authority, name) }); i >= 0 {
			return i, nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("find the authority: %w; member %s says %q", context.Cause(ctx), memberNames()[0], authority)
		}
	}
}
