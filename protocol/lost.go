package protocol

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
)

// Lost are the members that views have left out while what they were promised has to be waited
// for. The zero Lost has none.
type Lost struct{ members []Member }

// Take takes the next view after one, which may be nil. Of those who were lost before a view was
// open nothing is waited for under the next one.
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

// Why says what is waited for: "m1 was lost, and what was promised there has not run out yet".
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

// Unavailable is the ErrUnavailable of a request that was not granted because the space stands as
// the condition says; otherwise is why where the condition does not say it.
func (c *Condition) Unavailable(now Time, otherwise string) error {
	err := &lock.Unavailable{Why: cmp.Or(c.Why, otherwise)}
	if c.State != Ready && c.Until != Never {
		err.Left = max(0, c.Until-now)
	}
	return err
}
