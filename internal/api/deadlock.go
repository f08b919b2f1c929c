package api

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// ToDeadlock converts a policy to the schema.
func ToDeadlock(p holdfast.DeadlockPolicy) schema.Deadlock { return schema.Deadlock(p) }

// FromDeadlock converts a policy from the schema. The error is a bad_request that names the value.
func FromDeadlock(p schema.Deadlock) (holdfast.DeadlockPolicy, error) {
	if p < schema.Deadlock_DEADLOCK_IGNORE || p > schema.Deadlock_DEADLOCK_FAIL {
		return 0, Fail(CodeBadRequest, fmt.Sprintf("deadlock %d: want 0 (ignore) or 1 (fail)", p))
	}
	return holdfast.DeadlockPolicy(p), nil
}

// toCycle converts a cycle to the schema.
func toCycle(cycle []holdfast.DeadlockStep) (steps []*schema.Step) {
	for _, s := range cycle {
		steps = append(steps, &schema.Step{Session: clean(s.Session), Owner: clean(s.Owner), Client: clean(s.Client), Name: clean(s.Name), Ahead: s.Ahead})
	}
	return steps
}

// fromCycle converts a cycle from the schema.
func fromCycle(steps []*schema.Step) (cycle []holdfast.DeadlockStep) {
	for _, s := range steps {
		cycle = append(cycle, holdfast.DeadlockStep{Session: s.GetSession(), Owner: s.GetOwner(), Client: s.GetClient(), Name: s.GetName(), Ahead: s.GetAhead()})
	}
	return cycle
}
