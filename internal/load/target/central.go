package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// three is a cluster of three, used through its authority or another member.
type three struct {
	*cluster
	direct bool
}

func (c *three) Name() string {
	if c.direct {
		return c.protocol
	}
	return c.protocol + "-member"
}

func (c *three) Supports(load.Cell) bool { return true }

// pollInterval is the interval of checks which member a session has reached.
const pollInterval = 5 * time.Millisecond

// Connect dials, and waits until the session is at its intended member: a client that goes to the authority starts at
// the member that names it.
func (c *three) Connect(ctx context.Context, _ load.Cell) (load.Client, error) {
	authority, err := c.authority(ctx)
	if err != nil {
		return nil, err
	}
	first := authority
	options := []client.Option{client.Name("holdfast bench")}
	if c.direct {
		options = append(options, client.Direct())
	} else {
		first = (authority + 1) % len(c.addresses)
	}
	dialled, err := client.Dial(ctx, c.addresses[first], options...)
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
	return session{lockers{dialled}, dialled}, nil
}

// replicated is the protocol whose members store their decisions in folders.
const replicated = "consensus"

// cluster is three members in children, with a protocol for the default space. Two targets share it.
type cluster struct {
	servers
	protocol  string
	users     int
	addresses []string
}

func memberNames() []string { return []string{"a", "b", "c"} }

// Addresses returns those of its members.
func (c *cluster) Addresses() []string { return c.addresses }

// TLS returns nil: a bench's own members do not encrypt.
func (c *cluster) TLS() *tls.Config { return nil }

// Start starts the members, unless another target has.
func (c *cluster) Start(ctx context.Context) error {
	if c.users++; c.users > 1 {
		return nil
	}
	err := c.startAll(ctx)
	if err != nil {
		err = errors.Join(err, c.Stop())
	}
	return err
}

func (c *cluster) startAll(ctx context.Context) (err error) {
	if c.addresses, err = clustertest.FreeAddresses(len(memberNames())); err != nil {
		return err
	}
	if err := c.startMembers(memberNames(), c.addresses, c.protocol, c.protocol == replicated); err != nil {
		return err
	}
	if err := c.awaitReady(ctx); err != nil {
		return err
	}
	if c.protocol == replicated {
		// Its voters elect a leader that the view does not name; but direct clients follow the view.
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

// Stop ends them, unless another target needs them.
func (c *cluster) Stop() error {
	if c.users--; c.users > 0 {
		return nil
	}
	return c.servers.Stop()
}

// authority returns the number of the member that is the authority of the default space. It waits until there is one: a
// serving cluster may still be electing it.
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
