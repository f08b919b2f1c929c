package simtest

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Describe describes a protocol that is only tried, whose machines a function makes.
func Describe(name string, machine func(*protocol.Setup) protocol.Machine) protocol.Descriptor {
	return protocol.Descriptor{Name: name, Options: func() protocol.Options { return &options{machine: machine} }}
}

// options are those of its spaces: they have none of their own.
type options struct {
	protocol.Common
	machine func(*protocol.Setup) protocol.Machine
}

// List binds the fields.
func (o *options) List() option.List { return o.Primary("it has no rules for several sides") }

// New makes a member's machine.
func (o *options) New(s *protocol.Setup) (protocol.Machine, error) { return o.machine(s), nil }
