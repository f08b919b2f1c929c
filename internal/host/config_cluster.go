package host

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// clustered reports whether there are, or can be, other members with a say.
func (c *Config) clustered() bool { return len(c.founders()) > 1 || c.guest() }

// guest reports whether this member has no vote.
func (c *Config) guest() bool { return len(c.Join) > 0 && c.Expect == 0 }

// founders lists the addresses of all founders: this member's own among them, unless
// it is a guest.
func (c *Config) founders() []string {
	if len(c.Join) == 0 {
		return nil
	}
	all := slices.DeleteFunc(slices.Clone(c.Join), func(a string) bool { return a == c.Address })
	if !c.guest() {
		all = append(all, c.Address)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// preempt reports whether the highest id coordinates. The views belong to the member, so one space that wants it sets
// it for all.
func (c *Config) preempt() bool {
	return slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.options.Views().Preempt })
}

// any reports whether every side of a partition continues alone.
func (c *Config) any() bool { return c.Spaces[0].options.Views().Any }

// checkProof returns what is wrong about the proof of members' names.
func (c *Config) checkProof() error {
	switch {
	case len(c.Members) > 0 && c.TLS == nil:
		return fmt.Errorf("config: Members lists names, and TLS is nil: without TLS nothing proves a member's name; set TLS, or leave Members out")
	case c.TLS != nil && strings.HasPrefix(c.Listen, "unix://"):
		return fmt.Errorf("config: Listen is %q, and TLS is set: a Unix socket is not encrypted, so it proves no member's name; listen at HOST:PORT, or leave TLS out", c.Listen)
	}
	return nil
}

// checkCluster returns what is wrong with the configuration of the cluster's other members.
func (c *Config) checkCluster() error {
	c.Address = cmp.Or(c.Address, c.Listen)
	switch {
	case len(c.Join) == 0 && c.Expect <= 1:
		return nil
	case len(c.Join) == 0:
		return fmt.Errorf("config: Expect is %d and Join is empty; list the addresses of all founders in Join", c.Expect)
	case slices.Contains(c.Join, ""):
		return fmt.Errorf("config: Join has an empty address")
	case c.Address == "":
		return fmt.Errorf("config: Address is empty; other members must be able to reach this one")
	case c.Peers == nil && c.Listen == "":
		return fmt.Errorf("config: Peers is nil and Listen is empty; other members must be able to reach this one")
	}
	c.Name = cmp.Or(c.Name, c.Address)
	founders := c.founders()
	switch {
	case len(founders) == 0:
		return fmt.Errorf("config: Join has this member's own address alone (%s); a founder alone has Expect 1", c.Address)
	case c.Expect > 0 && len(founders) != c.Expect:
		return fmt.Errorf("config: Expect is %d, and Join with this member's own address makes %d founders (%s); the two must agree",
			c.Expect, len(founders), strings.Join(founders, ", "))
	}
	return nil
}

// member returns the configuration of the member's machines. Random numbers drawn here are part of it, and so of
// traces, and not of the entropy that the machines get.
func (c *Config) member(kept bool, remembered membership.Cell, started time.Time, draws *rand.Rand) *member.Config {
	s := &member.Config{
		Name: c.Name, Address: c.Address, HTTP: c.HTTP,
		Founders: c.founders(), Founder: !c.guest(), Priority: c.Priority, Preempt: c.preempt(), Available: c.any(),
		Kept: kept, Cell: remembered, Serves: c.Serves, Definitions: c.definitions(),
		Lease: c.Lease, Patience: c.Patience, Drift: c.Drift, TTL: c.TTL, LastingTTL: c.lastingTTL, MaxTTL: c.Limits.TTL, Sessions: c.Limits.Sessions,
		Table: c.table(), PID: os.Getpid(), Wall: time.Duration(started.UnixNano()),
	}
	for _, space := range c.Spaces {
		made := member.Space{Name: space.Name, Protocol: space.Protocol, Options: space.options.List().Given()}
		if space.described.Stores {
			made.Options = option.Values{} // as given: each life resolves it with its own process name
			maps.Copy(made.Options, space.Options)
			maps.Copy(made.Options, space.tuning)
			made.Store, made.Process, made.Attends = space.features(), c.process, space.Attends
		}
		if space.described.Candidates {
			made.Candidate = c.Candidate
		}
		if space.described.Stores || space.described.Candidates || space.described.Logs {
			// Each space has its own number, so that they do not all have the same leaders.
			made.Random = draws.Uint32()
		}
		s.Spaces = append(s.Spaces, made)
	}
	return s
}

// definitions returns a line for each space: all members must have the same.
func (c *Config) definitions() (lines []string) {
	for i := range c.Spaces {
		s := &c.Spaces[i]
		line := fmt.Sprintf("space %s: protocol %s, partition %s", s.Name, s.Protocol, s.Given()["partition"])
		if s.described.Stores {
			line += ", store " + s.features().Name
		}
		for _, o := range s.options.List().Agreed() {
			if o.Name != "partition" {
				line += ", " + o.Name + " " + o.Text()
			}
		}
		lines = append(lines, line)
	}
	return lines
}
