package protocoltest

import (
	"strings"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
)

// raise makes a view and raises it at its recipients.
func (s *Stage) raise(l *golden.Line) {
	l.Helper()
	view := protocol.View{
		Installed: !l.Flag("proposed"), Open: l.Flag("open"), Merged: l.Flag("merged"),
		Count: uint32(l.Number("count")), GrantFrom: l.Duration("from"), Epoch: protocol.Epoch{Counter: l.Number("epoch")},
	}
	of, to, again, coordinator, opens := l.List("of"), l.List("to"), l.Flag("again"), l.Value("coordinator"), l.Duration("opens")
	if len(of) == 0 {
		for _, m := range s.members {
			if !m.crashed {
				of = append(of, m.name)
			}
		}
	}
	since := map[string]uint64{}
	for value := l.Value("since"); value != ""; value = l.Value("since") {
		name, number, _ := strings.Cut(value, "@")
		since[name] = l.ToNumber(number)
	}
	for value := l.Value("dropped"); value != ""; value = l.Value("dropped") {
		view.Dropped = append(view.Dropped, s.dropped(l, value))
	}
	if !again {
		s.views++
	}
	view.Number = s.views
	for _, name := range of {
		m := s.member(name)
		place := s.place(m)
		if number, said := since[name]; said {
			place, m.placed.since = number, number
		}
		view.Members = append(view.Members, s.listed(m, place))
	}
	view.Coordinator = view.Members[0].ID
	if coordinator != "" {
		view.Coordinator = s.member(coordinator).id
	}
	view.Epoch.Candidate = view.Coordinator
	if len(to) == 0 {
		to = of
	}
	for _, name := range to {
		m, own := s.member(name), view
		own.Lease = &m.lease
		m.lease.Promised, m.lease.Opens = max(m.lease.Promised, view.Epoch.Counter), opens
		s.step(m, protocol.Event{Kind: protocol.Raised, Fact: &own})
	}
}

// listed returns a member as a view lists it.
func (s *Stage) listed(m *member, since uint64) protocol.Member {
	return protocol.Member{
		ID: m.id, Name: m.name, Address: s.address(m), Founder: int(m.id) <= s.setup.Founders,
		Tenure: m.lease.Tenure, Since: since,
	}
}

// place is since when all views have had a member that the present one has.
func (s *Stage) place(m *member) uint64 {
	p := &m.placed
	if p.since == 0 || p.tenure != m.lease.Tenure || p.last+1 < s.views {
		p.since, p.tenure = s.views, m.lease.Tenure
	}
	p.last = s.views
	return p.since
}

// dropped parses the dropped tenures, and from when their holds are free: c@5s, c@never, and c@5s-old for the tenure
// before the present one, c@5s-before for the first of its previous life.
func (s *Stage) dropped(l *golden.Line, value string) protocol.Dropped {
	name, free, _ := strings.Cut(value, "@")
	m := s.member(name)
	dropped := protocol.Dropped{ID: m.id, Tenure: m.lease.Tenure, Free: protocol.Never}
	if old, lapsed := strings.CutSuffix(free, "-old"); lapsed {
		free = old
		dropped.Tenure.Lapses--
	} else if before, another := strings.CutSuffix(free, "-before"); another {
		free = before
		dropped.Tenure = protocol.Tenure{Incarnation: dropped.Tenure.Incarnation - 1}
	}
	if free != "never" {
		dropped.Free = l.ToDuration(free)
	}
	return dropped
}
