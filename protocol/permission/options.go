package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are those of a space. All members have the same.
type Options struct {
	protocol.Common
	// Capacity, if not zero, makes each name K entries, of which a member uses one at a time (Raymond): every lock is
	// then one of K slots. At most holdfast.MaxCapacity.
	Capacity int
	// Defer makes a member that defers a request report it.
	Defer bool
	// Retain keeps a permission until its giver requests the name.
	Retain bool
}

// List binds the fields.
func (o *Options) List() option.List {
	return append(o.Primary("no member could merge what the sides of a partition have granted"), option.List{
		{
			Name: "defer", Value: option.Switch{At: &o.Defer}, Default: "false",
			Help: "Whether a member that cannot give its permission yet answers at once, at the cost of one message.",
		},
		{
			Name: "retain", Value: option.Switch{At: &o.Retain}, Default: "false",
			Help: "Whether a member keeps the permissions for an exclusive lock until another member asks for the name.",
		},
		{
			Name: "capacity", Default: "off",
			Value: option.Count[int]{At: &o.Capacity, Most: holdfast.MaxCapacity, Words: option.Words{{Text: "off"}}},
			Help:  "Number of members that may use a name at once: every lock of the space takes one of so many slots; off leaves that to the requests.",
		},
	}...)
}

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{Self: s.Self, Table: s.Table, Patience: s.Patience, Options: *o})
}

// Descriptor describes the protocol.
func Descriptor() protocol.Descriptor {
	return protocol.Descriptor{
		Name: "permission", Options: func() protocol.Options { return &Options{} },
		Peers: true, Probes: probes(),
		Messages: slices.Concat(messages, local.Messages),
	}
}
