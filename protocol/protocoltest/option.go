package protocoltest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// configure parses the options of members: the stage's own, and those of the protocol, whose name alone means true.
func (s *Stage) configure(l *golden.Line) {
	l.Helper()
	if l.Flag("any") {
		s.options["partition"] = "any"
	}
	s.named = l.Flag("named")
	if l.Flag("wall") {
		s.setup.Wall = Epoch * time.Microsecond
	}
	s.setup.Founders = int(l.Number("founders"))
	for _, key := range []string{"priority", "random", "address"} {
		for _, own := range l.List(key) {
			name, is, _ := strings.Cut(own, ":")
			s.own[name+" "+key] = is
		}
	}
	if store := l.Value("store"); store != "" {
		s.setup.Store.Watch = strings.Contains(store, "watch")
		s.setup.Store.TTL = strings.Contains(store, "ttl")
		s.setup.Store.Ends = strings.Contains(store, "ends")
		s.setup.Attends = s.setup.Store.Ends && !strings.Contains(store, "unattended")
		s.store.forgets = strings.Contains(store, "forgets")
	}
	for i := range s.known {
		name := s.known[i].Name
		if l.Flag(name) {
			s.options[name] = "true"
		} else if value := l.Value(name); value != "" {
			s.options[name] = value
		}
	}
}

// create returns the machine of one member.
func (s *Stage) create(m *member) protocol.Machine {
	s.t.Helper()
	setup := s.setup
	setup.Self, setup.Process = m.id, m.name
	setup.Priority, setup.Random = int(s.number(m.name+" priority")), uint32(s.number(m.name+" random"))
	return NewMachine(s.t, s.protocol, s.options, setup)
}

// number returns an option of one member, 0 if it is not given.
func (s *Stage) number(key string) uint64 {
	s.t.Helper()
	switch text := s.own[key]; text {
	case "":
		return 0
	case "off":
		return protocol.NoCandidate
	default:
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
}

// NewMachine returns a machine of a protocol with options.
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

// address returns a member's address: its name, unless an option has another one.
func (s *Stage) address(m *member) string {
	if address := s.own[m.name+" address"]; address != "" {
		return address
	}
	return m.name
}
