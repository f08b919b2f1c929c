package protocoltest

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// option reads an option of members, and reports whether it is one: what the stage knows itself, or else an option of the
// protocol, whose name alone stands for true.
func (s *Stage) option(arg string) bool {
	s.t.Helper()
	key, value, set := strings.Cut(arg, "=")
	switch key {
	case "any":
		s.options["partition"] = "any"
	case "named":
		s.named = true
	case "founders":
		s.setup.Founders = int(Number(s.t, value))
	case "priority", "random", "address":
		for _, own := range strings.Split(value, ",") {
			name, is, _ := strings.Cut(own, ":")
			s.own[name+" "+key] = is
		}
	case "store":
		s.setup.Store.Watch = strings.Contains(value, "watch")
		s.setup.Store.TTL = strings.Contains(value, "ttl")
		s.store.forgets = strings.Contains(value, "forgets")
	default:
		if !set && s.known.Find(key) == nil {
			return false
		}
		s.options[key] = value
		if !set {
			s.options[key] = "true"
		}
	}
	return true
}

// create makes the machine of one member.
func (s *Stage) create(m *member) protocol.Machine {
	s.t.Helper()
	setup := s.setup
	setup.Self, setup.Process = m.id, m.name
	switch priority := s.own[m.name+" priority"]; priority {
	case "":
	case "off":
		setup.Priority = off
	default:
		setup.Priority = int(Number(s.t, priority))
	}
	if random := s.own[m.name+" random"]; random != "" {
		setup.Random = uint32(Number(s.t, random))
	}
	return NewMachine(s.t, s.protocol, s.options, setup)
}

// NewMachine makes a machine of a protocol with options.
func NewMachine(t testing.TB, d protocol.Descriptor, given option.Values, setup protocol.Setup) protocol.Machine {
	t.Helper()
	options, err := d.Parse(given)
	if err == nil {
		err = options.Resolve(&setup)
	}
	if err != nil {
		t.Fatal(err)
	}
	machine, err := options.New(&setup)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// off is the priority of a member that is never a leader, as configurations say it.
const off = 15

// address is where a member listens: its name, if nothing else is said.
func (s *Stage) address(m *member) string {
	if address := s.own[m.name+" address"]; address != "" {
		return address
	}
	return m.name
}
