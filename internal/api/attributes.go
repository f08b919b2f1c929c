package api

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// FromAttributes reads what a message says of the lock that it asks for. Package holdfast checks it. The error
// is a bad_request that names the mode.
func FromAttributes(m interface {
	GetMode() schema.Mode
	GetUnits() int32
	GetCapacity() int32
	GetOwner() string
	GetReason() string
	GetHold() int64
}) (holdfast.Attributes, error) {
	mode, err := FromMode(m.GetMode())
	return holdfast.Attributes{
		Shape: holdfast.Shape{Mode: mode, Units: int(m.GetUnits()), Capacity: int(m.GetCapacity())},
		Owner: m.GetOwner(), Reason: m.GetReason(), Hold: time.Duration(m.GetHold()),
	}, err
}

// ToAcquireRequest makes a message that says that of the lock that it asks for.
func ToAcquireRequest(a holdfast.Attributes) *schema.AcquireRequest {
	return &schema.AcquireRequest{
		Mode: ToMode(a.Mode), Units: int32(a.Units), Capacity: int32(a.Capacity), Owner: a.Owner, Reason: a.Reason, Hold: int64(a.Hold),
	}
}
