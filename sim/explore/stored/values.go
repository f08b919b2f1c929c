package stored

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The values of a lock: that of the request, and the one that its user sets.
const (
	first = iota + 1
	second
)

// value names a value of the user's present request.
func (m *member) value(which int) string {
	return fmt.Sprintf("%d.%d.%d", m.number+1, m.request, which)
}

// amend sets the second value.
func (w *world) amend(m *member) {
	a := lock.Amendment{Revision: m.request, Value: m.value(second)}
	w.call(m, &protocol.Amend{Session: m.session(), Request: m.request, Name: "x", Token: m.token, Amendment: a})
}

// checkValue checks what the row shows of a lock that a user believes in, and of one that a user knows to be released.
func (w *world) checkValue() {
	if !w.config.Values {
		return
	}
	at := wall + w.now.Microseconds()
	row, err := w.store.Slice(context.Background(), w.stored.Slice("x", at))
	if err != nil {
		w.violate("P11", "the row cannot be read: %v", err)
		return
	}
	process, value := w.stored.Shown(row, at)
	for _, m := range w.members {
		var number, request, which int
		// A text of another form leaves zeros, and is no value of any user's.
		_, _ = fmt.Sscanf(value, "%d.%d.%d", &number, &request, &which)
		mine := process == m.rid && number == m.number+1
		switch {
		case process != m.rid || m.dead:
		case m.believes && (!mine || uint64(request) != m.request || which < m.set):
			w.violate("P11", "user %d holds the lock with value %s, and the store shows %q", m.number+1, m.value(m.set), value)
		case mine && !w.unsure && (!m.underWay || uint64(request) != m.request):
			w.violate("P11", "user %d has given the lock back, and the store shows %q", m.number+1, value)
		}
	}
}
