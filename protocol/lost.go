package protocol

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
)

// Lost is the set of members that views have dropped while their promises must be waited for. The zero Lost is empty.
type Lost struct{ members []Member }

// Take applies the view that follows before, which may be nil. The next view need not wait for members that were lost
// before an open view.
func (l *Lost) Take(before, view *View) {
	if before == nil || before.Number == view.Number && before.Epoch == view.Epoch {
		return
	}
	if before.Open {
		l.members = nil
	}
	l.members = slices.DeleteFunc(l.members, func(member Member) bool {
		_, back := view.Of(member.ID)
		return back
	})
	for _, member := range before.Members {
		if _, listed := view.Of(member.ID); !listed {
			l.members = append(l.members, member)
		}
	}
}

// Why describes what the space waits for: "m1 was lost, and what was promised there has not run out yet".
func (l *Lost) Why() string {
	names := make([]string, 0, len(l.members))
	for _, member := range l.members {
		names = append(names, member.Name)
	}
	switch len(names) {
	case 0:
		return "waiting until what was promised before has run out"
	case 1:
		return names[0] + " was lost, and what was promised there has not run out yet"
	}
	return JoinNames(names) + " were lost, and what was promised there has not run out yet"
}

// Unavailable returns the ErrUnavailable of a request that was not granted because of the space's condition; otherwise
// is the reason if the condition has none.
func (c *Condition) Unavailable(now Time, otherwise string) error {
	err := &lock.Unavailable{Why: cmp.Or(c.Why, otherwise)}
	if c.State != Ready && c.Until != Never {
		err.Left = max(0, c.Until-now)
	}
	return err
}
