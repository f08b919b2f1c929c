package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Clocks of two members run at different rates, by Config.Drift (δ) at most. What one member has promised by its clock another
// one waits for longer by its own (docs/design/membership.md §1). Sessions have their own margin (package session,
// lifetime.go), and so have hold limits (lock/drift.go).

// stretch returns how long this member waits for what others count as d.
func (c *Config) stretch(d time.Duration) time.Duration {
	if protocol.Mutated("no drift margin") {
		return d
	}
	return d + time.Duration(float64(d)*c.Drift) + 1
}

// shrink returns what others may still count of a wait of this member, whose wait is
// stretched already.
func (c *Config) shrink(d time.Duration) time.Duration {
	if protocol.Mutated("no drift margin") {
		return d
	}
	return time.Duration(float64(d)/(1+c.Drift)) + 1
}
