package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Origin is the zero of wall-clock epochs, in seconds since the Unix epoch: 2026-01-01 UTC.
const Origin = 1767225600

// Config is the configuration of a membership machine.
type Config struct {
	// Name is the member's name, unique in the cluster. Address is where other members reach it, HTTP its HTTP address.
	// A member alone needs none of them.
	Name, Address, HTTP string
	// Founders are the addresses of all founders, including this member's own if it is one; the same at each member.
	// Zero makes this member a cluster of its own, which others may join as guests.
	Founders []string
	// Founder makes this member a voter. Without it, it is a guest, and Founders are the addresses where it asks for
	// admission. It is implied if there are no Founders.
	Founder bool
	// Priority orders founders by seniority when a cluster is formed: the smallest
	// (Priority, Name) is the most senior. Zero is the most senior.
	Priority int
	// Preempt makes the highest id coordinate, as published, even if a healthy coordinator has to give way. Zero means
	// that seniority decides, and that a healthy coordinator never gives way.
	Preempt bool
	// Available is partition mode any: every side of a partition continues alone, without a quorum and without waiting.
	// Zero means mode primary.
	Available bool
	// Kept reports that the member has a stable cell; Cell is its content, the zero Cell if the state folder is new.
	// Without Kept the member has no memory, and Cell must be zero.
	Kept bool
	Cell Cell
	// Serves reports that the member serves clients outside this process. A member that serves none and keeps no cell
	// waits for no member: its holders end with it.
	Serves bool
	// Spaces is the number of machines above this one: each confirms an epoch (protocol.Confirmed). Zero means that no
	// confirmation is needed.
	Spaces int
	// Definitions has a line for each space that all members must agree on.
	Definitions []string
	// Lease is D. Zero means 3 s.
	Lease time.Duration
	// Patience is T, the time to wait for an answer. Zero means 250 ms, or a twelfth of the lease if that is less. It
	// grows with round trips, up to a quarter of the lease.
	Patience time.Duration
	// Drift is δ. Zero means 0.05.
	Drift float64
	// MaxHorizon bounds promises beyond the lease. Zero means 2 h.
	MaxHorizon time.Duration
	// Wall is the wall clock at the start, since the Unix epoch.
	Wall time.Duration
	// Rand draws ids and jitter. Required.
	Rand *rand.Rand
}

// check fills in defaults. The error names the invalid field.
func (c *Config) check() error {
	c.defaults()
	switch {
	case c.Rand == nil:
		return fmt.Errorf("membership: Rand is nil; give a source of random numbers")
	case c.Lease < 0, c.MaxHorizon < 0:
		return fmt.Errorf("membership: Lease %v, MaxHorizon %v: neither may be negative", c.Lease, c.MaxHorizon)
	case !(c.Drift >= 0 && c.Drift <= 0.5): // also rejects NaN
		return fmt.Errorf("membership: Drift is %v; 0 to 0.5 is allowed", c.Drift)
	case !c.Kept && c.Cell != (Cell{}):
		return fmt.Errorf("membership: Cell is given but not Kept")
	case c.Cell.highest() >= protocol.MaxEpoch:
		return fmt.Errorf("membership: Cell knows of epoch %d; they end at %d", c.Cell.highest(), uint64(protocol.MaxEpoch))
	case Second(c.Wall) >= protocol.MaxEpoch:
		return fmt.Errorf("membership: Wall is %v, and epochs count by it until %v; set the clock",
			time.Unix(0, int64(c.Wall)).UTC().Format(time.DateTime), time.Unix(Origin+protocol.MaxEpoch, 0).UTC().Format(time.DateTime))
	case c.Spaces < 0:
		return fmt.Errorf("membership: Spaces is %d; it may not be negative", c.Spaces)
	case c.Priority < 0:
		return fmt.Errorf("membership: Priority is %d; 0 is the most senior", c.Priority)
	case c.Patience <= 0:
		return fmt.Errorf("membership: Patience is %v; it must be positive", c.Patience)
	case c.Patience > c.lasting():
		return fmt.Errorf("membership: Patience is %v; with Lease %v it must be under %v, so that a lease outlives the suspicion of a coordinator and the election of the next",
			c.Patience, c.Lease, c.lasting()+1)
	}
	return c.checkFounders()
}

func (c *Config) defaults() {
	if c.Lease == 0 {
		c.Lease = 3 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = max(1, min(250*time.Millisecond, c.Lease/12))
	}
	if c.Drift == 0 {
		c.Drift = 0.05
	}
	if c.MaxHorizon == 0 {
		c.MaxHorizon = 2 * time.Hour
	}
	if len(c.Founders) == 0 {
		c.Founder = true
	}
	c.Founders = slices.Compact(slices.Sorted(slices.Values(c.Founders)))
	c.Definitions = slices.Sorted(slices.Values(c.Definitions))
}

func (c *Config) checkFounders() error {
	switch {
	case len(c.Founders) == 0:
		return nil
	case c.Name == "":
		return fmt.Errorf("membership: Name is empty; a member of a cluster needs one of its own")
	case c.Address == "":
		return fmt.Errorf("membership: Address is empty; other members must be able to reach this one")
	case slices.Contains(c.Founders, ""):
		return fmt.Errorf("membership: Founders has an empty address")
	case c.Founder && !slices.Contains(c.Founders, c.Address):
		return fmt.Errorf("membership: Founders %q does not have this founder's own Address %q", c.Founders, c.Address)
	case !c.Founder && slices.Contains(c.Founders, c.Address):
		return fmt.Errorf("membership: Founders %q has this member's Address %q; then it must be a Founder", c.Founders, c.Address)
	}
	return nil
}

// alone reports whether no other member can ever have a vote.
func (c *Config) alone() bool { return c.Founder && len(c.Founders) <= 1 }

// poll is C, the interval of polls; silence is S, the time after which a coordinator is suspected.
func (c *Config) poll() time.Duration    { return c.Lease / 10 }
func (c *Config) silence() time.Duration { return 3 * c.poll() }

// lasting is the longest patience with which a lease outlives the suspicion of a coordinator and the election of the
// next: 2·C + S + 4·T < D.
func (c *Config) lasting() time.Duration { return (c.Lease - 2*c.poll() - c.silence() - 1) / 4 }

// member returns this member's place as a view would list it.
func (c *Config) member(id protocol.ID, tenure protocol.Tenure) election.Member {
	return election.Member{
		Member: protocol.Member{ID: id, Name: c.Name, Address: c.Address, Tenure: tenure, Founder: c.Founder},
		HTTP:   c.HTTP, Serves: c.Serves, Kept: c.Kept,
	}
}
