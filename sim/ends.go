package sim

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// ends is the store's knowledge of processes that attend, if it reports the ends of processes (storage.Features.Ends).
//
// A store reports the end of a process when no part of it acts on a lock any more. Of a member that is when it is down,
// and no client elsewhere believes in a lock that it has granted. If a client elsewhere has had a session there, that is
// half of probe.Known.Expiry later: a client believes for less after the member has heard of it last.
type ends struct {
	attends []attendance
	awaits  []await
}

// attendance is a member's life that attends under a name.
type attendance struct {
	rid  string
	by   *process
	life uint32

	down      instant // when it has ended; meaningful when it has, like the next
	elsewhere bool    // clients elsewhere have had sessions there
}

// await is a member's wait for the end of a process.
type await struct {
	rid  string
	by   *process
	life uint32
	port protocol.Port
}

// asked handles a request.
func (e *ends) asked(s *store, m *process, port protocol.Port, request protocol.Message) {
	w := s.world
	x := await{by: m, life: m.life, port: port}
	switch request := request.(type) {
	case storage.Attend:
		e.attends = append(e.attends, attendance{rid: request.RID, by: m, life: m.life})
		s.reports(x, "Attend", "attended", storage.Attended{RID: request.RID})
	case storage.Await:
		x.rid = request.RID
		e.awaits = slices.DeleteFunc(e.awaits, func(x await) bool { return !x.by.up || x.by.life != x.life })
		e.awaits = append(e.awaits, x)
		i := slices.IndexFunc(e.attends, func(a attendance) bool { return a.rid == x.rid })
		over := i >= 0 && e.attends[i].ended() && w.now >= s.reportable(&e.attends[i])
		s.reports(x, "Await", "awaited", storage.Awaited{RID: x.rid, Ended: over})
		if i >= 0 && e.attends[i].ended() && !over {
			s.reportsEnd(&e.attends[i])
		}
	case storage.Unawait:
		x.rid = request.RID
		e.awaits = slices.DeleteFunc(e.awaits, func(other await) bool { return other == x })
	}
}

// ended reports whether the life is over.
func (a *attendance) ended() bool { return !a.by.up || a.by.life != a.life }

// reportable returns when no client believes any more in a lock of a life that is over.
func (s *store) reportable(a *attendance) instant {
	if !a.elsewhere {
		return a.down
	}
	return a.down + s.world.settings.known.Expiry/2
}

// ended reports the end of a member's life, some time after it.
func (s *store) ended(m *process) {
	if s == nil {
		return
	}
	for i := range s.ends.attends {
		if a := &s.ends.attends[i]; a.by == m && a.life == m.life {
			a.down, a.elsewhere = s.world.now, m.servesElsewhere == m.life
			s.reportsEnd(a)
		}
	}
}

// reportsEnd reports an end to those that wait for it, when no client believes any more.
func (s *store) reportsEnd(a *attendance) {
	w := s.world
	rid, at, by, life := a.rid, max(w.now, s.reportable(a)), a.by.name, int(a.life)
	w.do(at, func() {
		w.within(by, "end", life)
		for _, x := range slices.Clone(s.ends.awaits) {
			if x.rid == rid && !w.odds("unreported", w.weather.storeFail) {
				s.reports(x, "", "reports", storage.Awaited{RID: rid, Ended: true})
			}
		}
	})
}

// reports sends an answer.
func (s *store) reports(x await, act, site string, fact protocol.Message) {
	w := s.world
	was := w.scope()
	if act != "" {
		w.tape.begin(x.by.toStore(), act)
	}
	t := task{kind: taskStored, to: x.by.place, life: x.life, port: uint16(x.port), fact: fact, id: uint64(w.scope().act)}
	w.at(w.now+s.takes(site), t)
	w.goOn(was)
}

// countElsewhere notes that a client elsewhere opens or resumes a session at the member.
func (m *process) countElsewhere(fact any) {
	switch call := fact.(type) {
	case *session.Open:
		if call.Kind != session.Local {
			m.servesElsewhere = m.life
		}
	case *session.Resume:
		m.servesElsewhere = m.life
	}
}
