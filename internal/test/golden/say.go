package golden

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Names are the names of members and sessions in the output.
type Names struct {
	Member func(protocol.ID) string // "" is left out
	Client func(lock.SessionID) string
}

// Session names a session by its number alone.
func Session(s lock.SessionID) string { return fmt.Sprintf("s%d", s.Number) }

// Token formats a token.
func Token(token holdfast.Token) string { return fmt.Sprintf("%d:%d", token>>32, token&(1<<32-1)) }

// Name formats the name of a lock.
func Name(name string) string {
	if name == lock.SpaceLock {
		return whole
	}
	return name
}

// Decided describes a decision on a request: "call" is the immediate answer, "told" a later report to its session.
func Decided(reply *protocol.Reply, client string) string {
	if reply.To.Sink == 0 {
		return "told " + client + Decision(&reply.Decision)
	}
	return "call " + client + Decision(&reply.Decision)
}

// Decision describes a decision, after the name of its session.
func Decision(d *lock.Decision) string {
	text := fmt.Sprintf(" #%d %v %s", d.Request, d.Kind, Name(d.Name))
	if d.Token != 0 {
		text += " token=" + Token(d.Token)
	}
	if d.Hold != 0 {
		text += fmt.Sprintf(" hold=%v", d.Hold)
	}
	if d.Kind == lock.Queued {
		text += fmt.Sprintf(" position=%d", d.Position)
	}
	if d.Value != "" {
		text += " value=" + d.Value
	}
	if d.Revision != 0 {
		text += fmt.Sprintf(" revision=%d", d.Revision)
	}
	if d.Loss != "" {
		text += " why=" + string(d.Loss)
	}
	return text + Reason(d.Err)
}

// Result describes any other answer.
func (n Names) Result(r any) string {
	switch r := r.(type) {
	case *protocol.Broken:
		text := fmt.Sprintf("broken %d", len(r.Grants))
		for _, g := range r.Grants {
			text += " " + n.Client(g.Session) + " token=" + Token(g.Token)
		}
		return text + Reason(r.Err)
	case *protocol.Requests:
		text := "has"
		for _, request := range r.List {
			text += fmt.Sprintf(" #%d %s", request.ID, Name(request.Name))
			if request.Inherited {
				text += " inherited"
			}
		}
		return text
	case *lock.Lock:
		return n.lock(r)
	case *protocol.Condition:
		return n.condition(r)
	case *protocol.Transferred:
		return "transferred, authority=" + n.Members(r.Authority) + Reason(r.Err)
	case *protocol.SpaceOpen:
		return map[bool]string{true: "space open", false: "space closed"}[r.Open] + Reason(r.Err)
	case *protocol.SteppedDown:
		return map[bool]string{true: "stepping down", false: "stepped down"}[r.Pending]
	case *protocol.Unanswered:
		return "unanswered" + Reason(r.Err)
	case *protocol.Scanned:
		text := "scanned"
		for i := range r.Locks {
			text += " [" + n.lock(&r.Locks[i]) + "]"
		}
		if r.Next != "" {
			text += " next=" + r.Next
		}
		return text
	}
	return fmt.Sprintf("%T", r)
}

func (n Names) lock(l *lock.Lock) string {
	text := fmt.Sprintf("%s %v", Name(l.Name), l.Mode)
	for _, h := range l.Holders {
		text += " holder=" + n.Client(h.Session) + " token=" + Token(h.Token)
		if h.Revoked {
			text += "(revoked)"
		}
		if h.Value != "" || h.Revision != 0 {
			text += fmt.Sprintf(" value=%s revision=%d", h.Value, h.Revision)
		}
		if h.Grace {
			text += fmt.Sprintf("(grace until=%v)", h.Until)
		}
	}
	for _, w := range l.Waiters {
		text += fmt.Sprintf(" waiter=%s#%d", n.Client(w.Session), w.Request)
	}
	return text
}

// condition describes a space: which member waits for which answer, and which leads it or could.
func (n Names) condition(r *protocol.Condition) string {
	text := fmt.Sprintf("%v %v until=%s reign=%d locks=%d waiters=%d sessions=%d", r.State, r.Class, protocol.FormatTime(r.Until), r.Reign, r.Locks, r.Waiters, r.Sessions)
	if r.Why != "" {
		text += " " + r.Why
	}
	for _, a := range r.Awaited {
		text += fmt.Sprintf(" %s waits for %s: %d", n.Members([]protocol.ID{a.Member}), n.Members([]protocol.ID{a.Reply}), a.Requests)
	}
	if len(r.Candidates) > 0 {
		text += " leaders=" + n.Members(r.Authority)
		for _, c := range r.Candidates {
			text += fmt.Sprintf("\n    %s priority=%d: %s", n.Members([]protocol.ID{c.Member}), c.Priority, c.Why)
		}
		return text
	}
	text += " authority=" + n.Members(r.Authority)
	if r.Elder != 0 {
		text += fmt.Sprintf(" elder=%s version=%d", n.Members([]protocol.ID{r.Elder}), r.Version)
	}
	for _, h := range r.Transfers {
		text += fmt.Sprintf(" transfer=%s>%s", n.Members([]protocol.ID{h.From}), n.Members([]protocol.ID{h.To}))
	}
	return text
}

// Members lists the names of members, separated by commas.
func (n Names) Members(ids []protocol.ID) string {
	var names []string
	for _, id := range ids {
		if name := n.Member(id); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// Reason is the text of an error, if there is one.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", err)
}
