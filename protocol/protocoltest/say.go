package protocoltest

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Decision renders what becomes of a request: "call" is the immediate answer, "told" what
// its session is told unasked.
func Decision(reply protocol.Reply) string {
	d := reply.Decision
	var b strings.Builder
	to := "call"
	if reply.To.Sink == 0 {
		to = "told"
	}
	name := d.Name
	if name == lock.SpaceLock {
		name = `""`
	}
	fmt.Fprintf(&b, "%s s%d #%d %v %s", to, uint32(d.Session.Number), d.Request, d.Kind, name)
	if d.Token != 0 {
		fmt.Fprintf(&b, " token=%d:%d", d.Token>>32, d.Token&(1<<32-1))
	}
	if d.Hold != 0 {
		fmt.Fprintf(&b, " hold=%v", d.Hold)
	}
	if d.Kind == lock.Queued {
		fmt.Fprintf(&b, " position=%d", d.Position)
	}
	if d.Loss != "" {
		fmt.Fprintf(&b, " why=%s", string(d.Loss))
	}
	if d.Err != nil {
		fmt.Fprintf(&b, " (%v)", d.Err)
	}
	return b.String()
}

// Result renders any other answer.
func Result(r any) string {
	switch r := r.(type) {
	case *protocol.Broken:
		return fmt.Sprintf("broken %d (%v)", len(r.Grants), r.Err)
	case *protocol.Requests:
		text := "has"
		for _, request := range r.List {
			text += fmt.Sprintf(" #%d %s", request.ID, request.Name)
		}
		return text
	case *protocol.Condition:
		return fmt.Sprintf("%v until=%s reign=%d locks=%d waiters=%d sessions=%d %s", r.State, protocol.FormatTime(r.Until), r.Reign, r.Locks, r.Waiters, r.Sessions, r.Why)
	case *lock.Lock:
		return shown(r, func(s lock.SessionID) string { return fmt.Sprintf("s%d", s.Number) })
	}
	return fmt.Sprintf("%T", r)
}

func shown(l *lock.Lock, client func(lock.SessionID) string) string {
	var b strings.Builder
	name := l.Name
	if name == lock.SpaceLock {
		name = `""`
	}
	fmt.Fprintf(&b, "%s %v", name, l.Mode)
	for _, h := range l.Holders {
		fmt.Fprintf(&b, " holder=%s", client(h.Session))
		if h.Revoked {
			b.WriteString("(revoked)")
		}
		if h.Grace {
			fmt.Fprintf(&b, "(grace token=%d:%d until=%v)", h.Token>>32, h.Token&(1<<32-1), h.Until)
		}
	}
	for _, w := range l.Waiters {
		fmt.Fprintf(&b, " waiter=%s#%d", client(w.Session), w.Request)
	}
	return b.String()
}

// result renders an answer to an operator of a cluster, where members have names.
func (s *Stage) result(r any) string {
	switch r := r.(type) {
	case *protocol.Transferred:
		return "transferred, authority=" + s.names(r.Authority) + reason(r.Err)
	case *protocol.SpaceOpen:
		if r.Open {
			return "space open" + reason(r.Err)
		}
		return "space closed" + reason(r.Err)
	case *protocol.SteppedDown:
		if r.Pending {
			return "stepping down"
		}
		return "stepped down"
	case *protocol.Unanswered:
		return "unanswered" + reason(r.Err)
	case *protocol.Scanned:
		return s.page(r)
	case *lock.Lock:
		if s.named {
			return shown(r, s.client)
		}
	case *protocol.Condition:
		text := strings.TrimSpace(Result(r))
		for _, a := range r.Awaited {
			text += fmt.Sprintf(" %s waits for %s: %d", s.names([]protocol.ID{a.Member}), s.names([]protocol.ID{a.Reply}), a.Requests)
		}
		if len(r.Candidates) > 0 {
			return text + s.leaders(r)
		}
		if r.Elder == 0 {
			return text
		}
		text += fmt.Sprintf(" elder=%s authority=%s version=%d", s.names([]protocol.ID{r.Elder}), s.names(r.Authority), r.Version)
		for _, h := range r.Transfers {
			text += fmt.Sprintf(" transfer=%s>%s", s.names([]protocol.ID{h.From}), s.names([]protocol.ID{h.To}))
		}
		return text
	}
	return Result(r)
}

// leaders renders who leads, and who could.
func (s *Stage) leaders(r *protocol.Condition) string {
	text := " leaders=" + s.names(r.Authority)
	for _, c := range r.Candidates {
		text += fmt.Sprintf("\n    %s priority=%d: %s", s.names([]protocol.ID{c.Member}), c.Priority, c.Why)
	}
	return text
}

// page renders a part of a listing.
func (s *Stage) page(page *protocol.Scanned) string {
	text := "scanned"
	for i := range page.Locks {
		text += " [" + s.result(&page.Locks[i]) + "]"
	}
	if page.Next != "" {
		text += fmt.Sprintf(" next=%s", page.Next)
	}
	return text
}

// client names a session by its member.
func (s *Stage) client(session lock.SessionID) string {
	return fmt.Sprintf("%s%d", s.byID(protocol.ID(session.Member)).name, uint32(session.Number))
}

func (s *Stage) names(ids []protocol.ID) string {
	var names []string
	for _, id := range ids {
		if id > 0 && int(id) <= len(s.members) {
			names = append(names, s.byID(id).name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", err)
}
