package api

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// FromAttributes decodes a message's attributes of the requested lock, except the hold limit. Package holdfast checks
// them. The error is a bad_request that names the mode or the policy.
func FromAttributes(m interface {
	GetMode() schema.Mode
	GetUnits() int32
	GetCapacity() int32
	GetOwner() string
	GetReason() string
	GetValue() string
	GetDeadlock() schema.Deadlock
}, hold time.Duration) (holdfast.Attributes, error) {
	mode, err := FromMode(m.GetMode())
	if err != nil {
		return holdfast.Attributes{}, err
	}
	deadlock, err := FromDeadlock(m.GetDeadlock())
	return holdfast.Attributes{
		Shape: holdfast.Shape{Mode: mode, Units: int(m.GetUnits()), Capacity: int(m.GetCapacity())},
		Owner: m.GetOwner(), Reason: m.GetReason(), Hold: hold, Value: m.GetValue(),
		Deadlock: deadlock,
	}, err
}
