package unordered

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// knowledge is a member's knowledge of a crash.
type knowledge uint8

const (
	unaware  knowledge = iota
	accepted           // it has accepted the view without the crashed member
	opened             // and knows that the crashed member can no longer hold
)

// view is the view of a member with that knowledge. After a crash the epoch is the same, if its coordinator is.
func (e *engine) view(crashed int, known knowledge) *protocol.View {
	v := &protocol.View{
		Number: 1, Epoch: protocol.Epoch{Counter: 1}, Installed: known != accepted, Open: known != accepted, GrantFrom: protocol.Never,
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	if crashed > 0 {
		v.Number = 2
	}
	if crashed == 1 {
		v.Epoch.Counter = 2
	}
	for place, id := range e.ids {
		if place != crashed-1 {
			v.Members = append(v.Members, protocol.Member{
				ID: id, Name: fmt.Sprintf("m%d", place+1), Address: address(place), Since: 1, Founder: true,
			})
		}
	}
	v.Coordinator = v.Members[0].ID
	v.Epoch.Candidate, v.Lease.Promised = v.Coordinator, v.Epoch.Counter
	return v
}

func address(place int) string { return fmt.Sprintf("10.0.0.%d:4040", place+1) }

// crash ends a member, and its users. Its messages are still in flight, and can arrive. A lost message is one that
// arrives after its receiver has accepted the view without its sender, and ignores it.
func (e *engine) crash(w *world, place int) {
	w.crashed = place + 1
	w.members[place] = &member{id: e.ids[place]}
	w.transit = slices.DeleteFunc(w.transit, func(p *parcel) bool { return p.to == place })
	for i := range w.users {
		if e.at(i) != place {
			continue
		}
		u := &w.users[i]
		u.calls = 0
		if u.phase == holding {
			u.phase = lingering
		} else {
			u.phase = gone
		}
	}
}

// learns reports whether a member can learn more of a crash now: no member knows that the crashed one can no longer
// hold before all have accepted the view without it.
func (w *world) learns(place int) bool {
	if w.crashed == 0 || place == w.crashed-1 {
		return false
	}
	if w.views[place] != accepted {
		return w.views[place] == unaware
	}
	for i, known := range w.views {
		if i != w.crashed-1 && known == unaware {
			return false
		}
	}
	return true
}

// learn advances a member's knowledge of a crash.
func (e *engine) learn(w *world, place int) error {
	w.views[place]++
	known, crashed := w.views[place], w.crashed
	if known == opened {
		for i := range w.users {
			if u := &w.users[i]; u.phase == lingering {
				u.phase, u.token = gone, 0
			}
		}
	} else {
		w.transit = slices.DeleteFunc(w.transit, func(p *parcel) bool { return p.to == place && p.from == crashed-1 })
	}
	return e.step(w, place, sum(fmt.Appendf(nil, "view without %d, %d", crashed, known)), func() protocol.Event {
		return protocol.Event{Kind: protocol.Raised, Fact: e.view(crashed, known)}
	})
}

// outdate drops messages in flight to a member that it ignores from now on.
func (w *world) outdate(place int, outdated func(protocol.Message) bool) {
	w.transit = slices.DeleteFunc(w.transit, func(p *parcel) bool { return p.to == place && outdated(p.message) })
}
