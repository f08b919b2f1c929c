package sim

import (
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
)

// deadlocked checks a refusal because of a cycle of waits (P4): its user has asked for that, and each owner of the cycle
// waits for a name that another one has. A replica that repeats a refusal knows no more than that it was one.
func (j *judge) deadlocked(r *request, err error) {
	if r.want.deadlock != holdfast.Fail {
		j.violate("P4", "%s wants %v, and is refused because of a deadlock: %v", r.client, r.want, err)
	}
	refused, is := errors.AsType[*holdfast.DeadlockError](err)
	if !is {
		return
	}
	cycle := refused.Cycle
	if len(cycle) < 2 || cycle[0].Name != r.want.name || cycle[0].Owner != r.want.owner {
		j.violate("P4", "%s wants %v, and is refused because of a cycle without it: %v", r.client, r.want, err)
		return
	}
	for i, step := range cycle {
		same := func(other holdfast.DeadlockStep) bool {
			return other.Session == step.Session && other.Owner == step.Owner
		}
		if slices.ContainsFunc(cycle[:i], same) {
			j.violate("P4", "%s is refused because of a cycle that comes twice to %+v: %v", r.client, step, err)
		}
	}
}
