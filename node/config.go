package node

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config says what kind of member this process is. The zero Config is a member
// alone, that serves this process only and has the default space.
type Config struct {
	// Name is the member's name, for people. Zero means "embedded".
	Name string
	// Address is where the member is reached, for people. Zero means nowhere.
	Address string
	// State is the folder of the stable cell. Zero means that none is kept.
	State string
	// Serves says that clients outside this process will be served.
	Serves bool
	// Spaces are the lockspaces. Zero means the default space alone, which is always
	// added where it is missing, with protocol central.
	Spaces []Space
	// Lease is D of membership.md. Zero means 3 s.
	Lease time.Duration
	// Drift is by how much one clock may run faster than another. Zero means 0.05.
	Drift float64
	// TTL is what a client's session gets that does not say. Zero means 10 s.
	TTL time.Duration
	// Limits bound what clients can make the member keep.
	Limits Limits
	// Observe sees the effects of every step; see run.Config.
	Observe func(now protocol.Time, effects *protocol.Effects)
	// Logger gets what happens. Nil discards.
	Logger *slog.Logger
	// Clock measures time. Nil means the machine's, which runs through sleep.
	Clock clock.Clock
}

// Space defines a lockspace.
type Space struct {
	Name     string
	Protocol string // zero means central, the one that there is
}

// Limits bound a member. Zero values mean the defaults of the fields' comments.
type Limits struct {
	TTL             time.Duration // longest session TTL; zero means 1 h
	Sessions        int           // zero means 100,000
	LocksPerSession int           // in one space; zero means 100,000
	WaitersPerName  int           // zero means 10,000
}

func (c *Config) check() error {
	c.Name = cmp.Or(c.Name, "embedded")
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	c.Drift = cmp.Or(c.Drift, 0.05)
	c.TTL = cmp.Or(c.TTL, 10*time.Second)
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	c.Spaces = slices.Clone(c.Spaces)
	if !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Name == holdfast.DefaultSpace }) {
		c.Spaces = append(c.Spaces, Space{Name: holdfast.DefaultSpace})
	}
	// Ports are handed out in this order, which every format shows too.
	slices.SortFunc(c.Spaces, func(a, b Space) int {
		if a.Name == holdfast.DefaultSpace || b.Name == holdfast.DefaultSpace {
			return cmp.Compare(isNot(a.Name), isNot(b.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for i := range c.Spaces {
		s := &c.Spaces[i]
		s.Protocol = cmp.Or(s.Protocol, "central")
		if err := holdfast.CheckSpace(s.Name); err != nil {
			return err
		}
		if s.Protocol != "central" {
			return fmt.Errorf("space %q: protocol %q: this version has central", s.Name, s.Protocol)
		}
		if i > 0 && c.Spaces[i-1].Name == s.Name {
			return fmt.Errorf("space %q is defined twice", s.Name)
		}
	}
	return nil
}

// checkNumbers looks before anything is opened or written.
func (c *Config) checkNumbers() error {
	if !(c.Drift >= 0 && c.Drift <= 0.5) { // so that it is no NaN either
		return fmt.Errorf("field Drift is %v; 0 to 0.5 is allowed", c.Drift)
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Lease", int64(c.Lease)}, {"TTL", int64(c.TTL)}, {"Limits.TTL", int64(c.Limits.TTL)},
		{"Limits.Sessions", int64(c.Limits.Sessions)},
		{"Limits.LocksPerSession", int64(c.Limits.LocksPerSession)},
		{"Limits.WaitersPerName", int64(c.Limits.WaitersPerName)},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is negative (%d); 0 means the default", field.name, field.value)
		}
	}
	return nil
}

// isNot orders the default space before all others.
func isNot(space string) int {
	if space == holdfast.DefaultSpace {
		return 0
	}
	return 1
}

func (c *Config) table() lock.Config {
	return lock.Config{
		Drift:           c.Drift,
		WaitersPerName:  c.Limits.WaitersPerName,
		LocksPerSession: c.Limits.LocksPerSession,
	}
}
