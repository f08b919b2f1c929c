package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Clocks of two members differ in rate by at most Config.Drift (δ). A member waits longer, by its own clock, for a
// promise that another has made by its clock (docs/design/membership.md §1). Sessions have their own margin (package
// session, lifetime.go), and so have hold limits (lock/drift.go).

// stretch returns how long this member waits for a duration d on another clock.
func (c *Config) stretch(d time.Duration) time.Duration {
	if protocol.Mutated("no drift margin") {
		return d
	}
	return d + time.Duration(float64(d)*c.Drift) + 1
}

// shrink returns how much another clock may still count of this member's wait, which is already stretched.
func (c *Config) shrink(d time.Duration) time.Duration {
	if protocol.Mutated("no drift margin") {
		return d
	}
	return time.Duration(float64(d)/(1+c.Drift)) + 1
}
