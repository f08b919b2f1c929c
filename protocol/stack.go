package protocol

import "fmt"

// Stack puts one machine below (the membership) and others above it (the spaces). Events go to the machine at their
// Port; what the lower one raises reaches all above, in order, within the same Step, and then the stack's driver. What
// a machine above raises goes down to the lower one, as an event of kind Raised: a request such as [NeedEpoch].
func Stack(below Machine, above ...Machine) Machine {
	s := &stack{below: below, above: above, wakes: make([]Time, len(above)+1)}
	s.wakes[0] = below.Wake()
	for i := range above {
		s.wakes[i+1] = above[i].Wake()
	}
	return s
}

type stack struct {
	below   Machine
	above   []Machine
	wakes   []Time // by port, as of each machine's last step
	passing bool   // facts of the lower machine are being passed up
}

// Wake returns the earliest wake time of all machines.
func (s *stack) Wake() Time {
	at := s.wakes[0]
	for _, wake := range s.wakes[1:] {
		at = min(at, wake)
	}
	return at
}

// Step routes: Start and Tick to all machines (below first), the rest by Port. Before any other event the lower machine
// processes its due timers: expired leases must end before the machine trusts a message that a late timer made appear
// timely.
func (s *stack) Step(now Time, ev Event, out *Effects) {
	if s.wakes[0] <= now && ev.Kind != Start && ev.Kind != Tick {
		s.stepBelow(now, &Event{Kind: Tick}, out)
	}
	switch {
	case ev.Kind == Start:
		s.stepBelow(now, &ev, out)
		for i := range s.above {
			s.stepAbove(now, i, &ev, out)
		}
	case ev.Kind == Tick:
		if s.wakes[0] <= now {
			s.stepBelow(now, &ev, out)
		}
		for i := range s.above {
			if s.wakes[i+1] <= now {
				s.stepAbove(now, i, &ev, out)
			}
		}
	case ev.Port == Below:
		s.stepBelow(now, &ev, out)
	case int(ev.Port) <= len(s.above):
		s.stepAbove(now, int(ev.Port)-1, &ev, out)
	default:
		out.Note(Misrouted{ev.Port})
	}
}

// stepBelow steps the lower machine and passes up what it raised. If a machine that is processing an earlier fact makes
// a request, the facts raised in answer are passed up after the earlier fact has reached all: no machine sees a later
// one first.
func (s *stack) stepBelow(now Time, ev *Event, out *Effects) {
	before := len(out.Raises)
	s.below.Step(now, *ev, out)
	s.wakes[0] = s.below.Wake()
	if s.passing {
		return // the outer loop will pass it up
	}
	s.passing = true
	for i := before; i < len(out.Raises); i++ {
		fact := out.Raises[i]
		for j := range s.above {
			s.stepAbove(now, j, &Event{Kind: Raised, Fact: fact}, out)
		}
	}
	s.passing = false
}

func (s *stack) stepAbove(now Time, i int, ev *Event, out *Effects) {
	sends, replies, raises := len(out.Sends), len(out.Replies), len(out.Raises)
	s.above[i].Step(now, *ev, out)
	s.wakes[i+1] = s.above[i].Wake()
	for j := sends; j < len(out.Sends); j++ {
		out.Sends[j].Port = Port(i + 1)
	}
	for j := replies; j < len(out.Replies); j++ {
		out.Replies[j].Port = Port(i + 1)
	}
	requests := out.Raises[raises:]
	if len(requests) == 0 {
		return
	}
	requests = append([]any(nil), requests...)
	out.Raises = out.Raises[:raises]
	for _, request := range requests {
		s.stepBelow(now, &Event{Kind: Raised, Port: Port(i + 1), Fact: request}, out)
	}
}

// Misrouted notes an event for a port without a machine.
type Misrouted struct{ Port Port }

func (m Misrouted) String() string {
	return fmt.Sprintf("event for port %d, where no machine is", m.Port)
}
