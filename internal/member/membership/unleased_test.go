package membership

import (
	"testing"
	"time"
)

// unleased makes five founders, of which two get places and no lease. The others go on without them; the two know of no view
// without them.
func unleased(t testing.TB) (n *net, d, e *process) {
	n = bereft(t, 5, "d", "e")
	n.filter = func(_, to *site, msg any) bool { // d and e hear of their places, and nothing else of the coordinator
		_, polls := msg.(Poll)
		view, isView := msg.(NewView)
		late := to.name == "d" || to.name == "e"
		return !late || !polls && (!isView || len(view.View.Members) == 5 && !view.View.Same(to.live.cell.Accepted))
	}
	n.start("d", "e")
	d, e = n.site("d").live, n.site("e").live
	acts := func(members int) func() bool {
		return func() bool { return len(n.viewed[len(n.viewed)-1].Members) == members }
	}
	n.until(20*second, "an authority with d and e", func() bool { return acts(5)() && d.cell.Accepted.Same(e.cell.Accepted) })
	n.split(time.Hour, "a", "b", "c")
	before := d.cell.Accepted
	n.until(20*second, "an authority without them", acts(3))
	if d.leased || e.leased || !d.cell.Accepted.Same(before) || !e.cell.Accepted.Same(before) {
		t.Fatalf("d has accepted %v, and e %v, with leases: %v, %v", d.cell.Accepted, e.cell.Accepted, d.leased, e.leased)
	}
	return n, d, e
}

// unleasedAndForced: the others are lost for good, and an operator forces a view of those two.
func unleasedAndForced(t testing.TB) string {
	n, d, _ := unleased(t)
	for _, name := range []string{"a", "b", "c"} {
		n.site(name).crash()
	}
	n.filter = nil
	if got := d.force("d", "e"); got.Err != nil {
		t.Fatal(got.Err)
	}
	n.gather(10*second, "d", "e")
	return n.found
}

// unleasedAndAttended: the others lose their cells, and attend with those two in the place of a quorum.
func unleasedAndAttended(t testing.TB) string {
	n, _, _ := unleased(t)
	for _, name := range []string{"a", "b", "c"} {
		n.site(name).crash()
		n.site(name).lose()
	}
	n.filter = nil
	n.heal()
	n.start("a", "b", "c")
	n.gather(20*second, n.names()...)
	return n.found
}
