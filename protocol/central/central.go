package central

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// Config is a member's configuration. Its Table is the coordinator's.
type Config = authority.Config

// Machine is one member's part of the protocol.
type Machine struct{ part *authority.Machine }

// New returns a member's machine. The error names the invalid field.
func New(c Config) (*Machine, error) {
	part, err := authority.New(c, authority.Rules{Title: "coordinator", Terms: terms{}})
	if err != nil {
		return nil, fmt.Errorf("central: %w", err)
	}
	return &Machine{part}, nil
}

// Wake returns when the holder or the coordinator has something to do.
func (m *Machine) Wake() protocol.Time { return m.part.Wake() }

// Step processes one event. The membership's facts name the coordinator.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind != protocol.Raised {
		m.part.Step(now, ev, out)
		return
	}
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.part.Follow(now, fact, reignOf(fact), out)
	case *protocol.Halted:
		m.part.Halt(now, out)
	case *protocol.Lapsed:
		m.part.Lapse(now, fact.Tenure, out)
	}
}

// reignOf is the reign of a view's coordinator. It ends with the view's epoch.
func reignOf(view *protocol.View) authority.Reign {
	return authority.Reign{Authority: view.Coordinator, Number: view.Epoch.Counter, Count: view.Count}
}

// terms are a coordinator's: it grants once the view is installed and all earlier promises have expired, until its role
// ends; the membership reports when a dropped tenure's holds are free. A tenure that is neither in the view nor in its
// list of dropped ones holds nothing any more.
type terms struct{}

func (terms) From(view *protocol.View) protocol.Time {
	if !view.Installed {
		return protocol.Never
	}
	return view.GrantFrom
}

func (terms) Until(view *protocol.View) protocol.Time        { return view.Lease.Role }
func (terms) Dropped(view *protocol.View) []protocol.Dropped { return view.Dropped }
func (terms) Gone(*protocol.View) protocol.Time              { return 0 }
