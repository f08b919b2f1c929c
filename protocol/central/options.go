package central

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Options are those of a space.
type Options struct {
	protocol.Common
	authority.Tuning
}

// List binds the fields.
func (o *Options) List() option.List { return append(o.Common.List(), o.Tuning.List()...) }

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{Self: s.Self, Table: s.Table, Patience: s.Patience, Any: o.Any, Operators: o.Operators, Tuning: o.Tuning})
}

// Descriptor describes the protocol. Its members never question another member's report.
func Descriptor() protocol.Descriptor {
	probes := authority.Probes()
	probes.Tables = func(space protocol.Machine, now protocol.Time) []probe.Table {
		return space.(*Machine).part.Tables(now)
	}
	probes.Unreached = []any{authority.Revalidate{}}
	return protocol.Descriptor{Name: "central", Options: func() protocol.Options { return &Options{} }, Messages: authority.Messages, Probes: probes}
}
