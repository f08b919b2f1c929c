package server

import (
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// lockEntries are the events of the audit log for events of locks. A lock that is broken ends as any other loss; the
// operator's call has an entry of its own.
var lockEntries = map[string]string{
	events.Granted: audit.Granted, events.Released: audit.Released, events.Lost: audit.Lost, events.Broken: audit.Lost,
}

// auditLocks adds every grant, release and loss of this member's clients to the audit log, until the server is shut
// down. It reads the source of events as another member does, so it delays no lock; what it could not read in time is
// counted in an entry.
func (s *service) auditLocks() {
	subjects := map[string]string{}
	counted, first := uint64(0), true
	for s.life.Err() == nil {
		lapse := !first
		err := s.observer.source.Stream(s.life, &schema.MemberInterest{}, func(m *schema.MemberEvents) error {
			if now := m.GetCount(); lapse && m.GetAt() != 0 {
				lapse = false
				if missing := now - counted - uint64(len(m.GetEvents())); missing > 0 {
					s.guard.Audit().Add(audit.Entry{Event: audit.Gap, Detail: fmt.Sprintf("%d events of locks are missing: more came than were written", missing)})
				}
			}
			for _, e := range m.GetEvents() {
				s.auditLock(e, subjects)
			}
			if m.GetAt() != 0 {
				counted, first = m.GetCount(), false
			}
			return nil
		})
		if err == nil || !errors.Is(err, events.ErrSlow) {
			return // it is shut down
		}
	}
}

// auditLock adds the entry of one event. Subjects has the subjects of sessions that were asked for.
func (s *service) auditLock(e *schema.MemberEvent, subjects map[string]string) {
	event, is := lockEntries[e.GetEvent()]
	if !is {
		return
	}
	s.guard.Audit().Add(audit.Entry{
		Event: event, Subject: s.subjectOf(e.GetSession(), subjects), Verb: access.Lock.String(), Space: e.GetSpace(), Name: e.GetName(),
		Token: e.GetToken(), Reason: e.GetReason(), Result: resultOK, Detail: e.GetWhy(), Request: e.GetSession(),
	})
}

// mostSubjects bounds the sessions whose subjects are remembered.
const mostSubjects = 100_000

// subjectOf returns the subject that opened a session, or "" if the session has ended before it was asked for.
func (s *service) subjectOf(id string, subjects map[string]string) string {
	if subject, known := subjects[id]; known {
		return subject
	}
	parsed, is := lock.ParseSessionID(id)
	if !is {
		return ""
	}
	known, err := query[*session.Known](s, protocol.Below, &session.Who{ID: parsed})
	if err != nil || known.Client == "" && known.Until == 0 {
		return ""
	}
	subject := known.Identity
	if subject == "" {
		subject = access.Anonymous
	}
	if len(subjects) >= mostSubjects {
		clear(subjects)
	}
	subjects[id] = subject
	return subject
}
