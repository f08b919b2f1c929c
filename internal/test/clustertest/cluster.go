package clustertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Settings are the settings of a cluster's members.
type Settings struct {
	// Program is the holdfast binary.
	Program string
	// Folder is where the members' state folders are; it must exist.
	Folder string
	// Addresses are those of the founders, one each.
	Addresses []string
	// Lease and Patience are D and T. Zero means the program's defaults.
	Lease, Patience time.Duration
	// Around returns what stands before the command of the member at an index, such as a
	// program that runs it elsewhere. Nil means nothing.
	Around func(index int) []string
	// Data returns the data folder of the member with a name, which has its stable cell too. Nil
	// means that it keeps nothing but a state folder, and the default space is in memory unless Durable is set.
	Data func(name string) string
	// Durable makes the members store the default space in their state folder, which is the default.
	Durable bool
	// LogLevel is the members' log level. Zero means warn.
	LogLevel string
	// Flags are further flags of each, and FlagsOf those of the member with a name. Nil
	// means none.
	Flags   []string
	FlagsOf func(name string) []string
	// Options are how they are asked. Nil means in plain text.
	Options []client.Option
}

// Cluster is the founders of a cluster.
type Cluster struct {
	Members  []*Member
	settings Settings
}

// NewCluster makes a cluster whose members have not started: a, b, c and so on.
func NewCluster(s Settings) *Cluster {
	c := &Cluster{settings: s}
	for i, address := range s.Addresses {
		name := memberName(i)
		var command []string
		if s.Around != nil {
			command = s.Around(i)
		}
		command = append(slices.Clone(command), s.Program, "serve", "--name", name, "--listen", address, "--http", "",
			"--join", strings.Join(s.Addresses, ","), "--expect", strconv.Itoa(len(s.Addresses)), "--log-level", cmp.Or(s.LogLevel, "warn"))
		if s.Data != nil {
			command = append(command, "--data", s.Data(name))
		} else {
			command = append(command, "--state", filepath.Join(s.Folder, "state-"+name))
			if !s.Durable {
				command = append(command, "--memory")
			}
		}
		if s.Lease > 0 {
			command = append(command, "--lease", s.Lease.String())
		}
		if s.Patience > 0 {
			command = append(command, "--patience", s.Patience.String())
		}
		command = append(command, s.Flags...)
		if s.FlagsOf != nil {
			command = append(command, s.FlagsOf(name)...)
		}
		c.Members = append(c.Members, &Member{Name: name, Address: address, Command: command, Options: s.Options})
	}
	return c
}

// memberName returns a to z, then a1 to z1 and so on.
func memberName(i int) string {
	name := string(rune('a' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i / 26)
	}
	return name
}

// Lease returns the lease of its members.
func (c *Cluster) Lease() time.Duration {
	if c.settings.Lease > 0 {
		return c.settings.Lease
	}
	return 3 * time.Second
}

// Start starts all members, and returns when all can grant.
func (c *Cluster) Start(ctx context.Context) error {
	for _, m := range c.Members {
		if err := m.Start(); err != nil {
			return err
		}
	}
	for _, m := range c.Members {
		if err := m.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Servers returns the addresses of all members in a client's form, the one at index first, first.
func (c *Cluster) Servers(first int) string {
	var places []string
	for i := range c.Members {
		places = append(places, c.Members[(first+i)%len(c.Members)].Address)
	}
	return "holdfast://" + strings.Join(places, ",")
}

// Member returns the member with a name.
func (c *Cluster) Member(name string) *Member {
	i := slices.IndexFunc(c.Members, func(m *Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return c.Members[i]
}

// pollInterval is the pause between two looks at a status. A status is not pushed.
const pollInterval = 50 * time.Millisecond

// AwaitStatus polls a member until its status matches, and returns it.
func (c *Cluster) AwaitStatus(ctx context.Context, m *Member, what string, is func(*schema.Status) bool) (*schema.Status, error) {
	var last *schema.Status
	var trouble error
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		status, err := m.Status(attempt)
		cancel()
		switch {
		case err == nil && is(status):
			return status, nil
		case err == nil:
			last = status
		}
		trouble = err
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return last, fmt.Errorf("wait until %s: %w; last status %+v, last error %v; it says: %s", what, ctx.Err(), last, trouble, m.Log())
		}
	}
}

// Coordinator returns the coordinator, as a running member sees it.
func (c *Cluster) Coordinator(ctx context.Context, seenBy *Member) (*Member, error) {
	status, err := c.AwaitStatus(ctx, seenBy, "a member coordinates", func(s *schema.Status) bool {
		return c.Member(s.View.Coordinator) != nil
	})
	if err != nil {
		return nil, err
	}
	return c.Member(status.View.Coordinator), nil
}

// AwaitView waits until a member sees the cluster whole: these members, no others, all
// spaces able to grant.
func (c *Cluster) AwaitView(ctx context.Context, seenBy *Member, members ...*Member) error {
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	what := fmt.Sprintf("%s sees %s, able to grant", seenBy.Name, strings.Join(names, ", "))
	_, err := c.AwaitStatus(ctx, seenBy, what, func(s *schema.Status) bool {
		var seen []string
		for _, m := range s.View.Members {
			seen = append(seen, m.Name)
		}
		slices.Sort(seen)
		unready := slices.IndexFunc(s.Spaces, func(space *schema.Space) bool { return space.State != "ready" })
		return slices.Equal(names, seen) && unready < 0
	})
	return err
}

// Others returns the members that run, without some.
func (c *Cluster) Others(without ...*Member) (others []*Member) {
	for _, m := range c.Members {
		if m.Running() && !slices.Contains(without, m) {
			others = append(others, m)
		}
	}
	return others
}

// End shuts all members down, one after the other, so that each can leave a view that continues; those that do not end
// in time are killed, which is an error.
func (c *Cluster) End(ctx context.Context) error {
	var errs []error
	for _, m := range slices.Backward(c.Others()) {
		if err := errors.Join(m.Continue(), m.Terminate(), m.AwaitEnd(ctx)); err != nil {
			errs = append(errs, err)
			if m.Running() {
				errs = append(errs, m.Kill())
			}
		}
	}
	return errors.Join(errs...)
}

// Ports are below the range that systems assign dynamically, Linux from 32768 on, for connections too. Otherwise
// another process could get a port before the server listens on it, or while a server there is killed and started
// again; and a client that connects to such a port without a listener may be assigned the same one, and connect to
// itself.
const (
	firstPort = 10_000
	ports     = 32_768 - firstPort
)

// nextPort goes through them from somewhere, so that tests that run at a time never find the same one.
var nextPort = func() func() int {
	var next atomic.Uint32
	next.Store(rand.Uint32N(ports))
	return func() int { return firstPort + int(next.Add(1)%ports) }
}()

// FreeAddresses returns addresses of this machine on which no process currently listens.
func FreeAddresses(count int) ([]string, error) {
	var addresses []string
	var listeners []net.Listener
	var errs []error
	for tries := 0; len(addresses) < count; tries++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(nextPort())))
		if err != nil && tries < 100*count {
			continue // another process has it
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("find a free port: %w", err))
			break
		}
		listeners = append(listeners, l)
		addresses = append(addresses, l.Addr().String())
	}
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return addresses, errors.Join(errs...)
}
