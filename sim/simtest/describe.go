package simtest

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Describe returns the descriptor of an experimental protocol whose machines a function makes.
func Describe(name string, machine func(*protocol.Setup) protocol.Machine) protocol.Descriptor {
	return protocol.Descriptor{Name: name, Options: func() protocol.Options { return &options{machine: machine} }}
}

// options are the options of its spaces: there are none.
type options struct {
	protocol.Common
	machine func(*protocol.Setup) protocol.Machine
}

// List binds the fields.
func (o *options) List() option.List { return o.Primary("it has no rules for several sides") }

// New makes a member's machine.
func (o *options) New(s *protocol.Setup) (protocol.Machine, error) { return o.machine(s), nil }
