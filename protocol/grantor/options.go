package grantor

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are those of a space. All members have the same.
type Options struct {
	protocol.Common
	// Placement lets grantorship move to the member that locks most: it is the window, from 1s to 1h, in which a
	// grantor counts grants. Zero means that it moves only on request.
	Placement time.Duration
	// HoldOn is how long a member keeps a grant that its clients use no more, from 1s to 1h.
	// Zero means that it keeps none.
	HoldOn time.Duration
	authority.Tuning
	// Parked is the maximum number of messages that wait here for a grantor that is about to begin; a further one is
	// dropped, and its sender repeats it. Zero means 1024.
	Parked int
}

// List binds the fields.
func (o *Options) List() option.List {
	length := func(at *time.Duration, on time.Duration) option.Value {
		return option.Duration{At: at, Least: time.Second, Most: time.Hour, Words: option.Words{{Text: "off"}, {Text: "on", Number: int64(on)}}}
	}
	return append(append(o.Common.List(), o.Tuning.List()...), option.List{
		{
			Name: "placement", Value: length(&o.Placement, 10*time.Second), Default: "off",
			Help: "Window in which a grantor counts each member's locks, to move the grantorship to the busiest one; on is 10s, off moves it only on request.",
		},
		{
			Name: "hold_on", Value: length(&o.HoldOn, time.Minute), Default: "off",
			Help: "How long a member keeps an unused grant for its clients' next lock of the name; on is 1m, off keeps none.",
		},
		{
			Name: "parked", Value: option.Count[int]{At: &o.Parked, Most: 1 << 20}, Tuning: true, Local: true,
			Help: "Most messages that wait for a starting grantor.",
		},
	}...)
}

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{
		Config:  authority.Config{Self: s.Self, Table: s.Table, Patience: s.Patience, Any: o.Any, Operators: o.Operators, Tuning: o.Tuning},
		Options: *o,
	})
}

// Descriptor describes the protocol.
func Descriptor() protocol.Descriptor {
	return protocol.Descriptor{
		Name: "grantor", Options: func() protocol.Options { return &Options{} },
		Moves: true, Probes: probes(),
		Messages: slices.Concat(messages, authority.Messages),
	}
}
