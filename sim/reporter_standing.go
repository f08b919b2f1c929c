package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// A state that ends by a clock ends without a step of any process. So the reporter checks, before and after each step,
// which members have a lease, which may grant, and which holders believe. Between two steps only time changes these, so
// the instant of a change can be found by bisection.

// change is a change that look reports, ordered by time.
type change struct {
	at   instant
	emit func(instant)
}

// look reports the changes since the last look: leases, reigns and holders' beliefs.
func (t *reporter) look() {
	now := t.world.now
	var found []change
	for place, m := range t.world.members {
		t.turned(&found, &t.leased[place], m.leasedAt, m, timeline.Leased, timeline.Lapsed)
		t.turned(&found, &t.reigns[place], m.powerfulAt, m, timeline.Reigned, timeline.Abdicated)
	}
	for i := range t.open {
		h := &t.open[i]
		if !h.holder.believesAt(now) {
			id := h.id
			found = append(found, change{t.turn(h.holder.believesAt), func(at instant) { t.expired(id, at) }})
		}
	}
	slices.SortStableFunc(found, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range found {
		c.emit(c.at)
	}
	t.looked = now
}

// turned records a change of a boolean state of a member.
func (t *reporter) turned(found *[]change, had *bool, has func(instant) bool, m *process, begins, ends timeline.Kind) {
	if has(t.world.now) == *had {
		return
	}
	*had = !*had
	kind := ends
	if *had {
		kind = begins
	}
	emit := func(at instant) { t.hear(timeline.Event{At: at, Kind: kind, Who: m.name}) }
	*found = append(*found, change{t.turn(has), emit})
}

// turn finds the instant since the last look at which a condition changed to its present value.
func (t *reporter) turn(holds func(instant) bool) instant {
	before, after := t.looked, t.world.now
	is := holds(after)
	if before >= after || holds(before) == is {
		return after
	}
	for after-before > 1 {
		if middle := before + (after-before)/2; holds(middle) == is {
			after = middle
		} else {
			before = middle
		}
	}
	return after
}

// expired ends a grant that its holder's clock has ended.
func (t *reporter) expired(id uint64, at instant) {
	i := slices.IndexFunc(t.open, func(h holding) bool { return h.id == id })
	t.close(i, at, "expired")
}

// viewed reports that a member follows another view.
func (t *reporter) viewed(m *process, v *protocol.View) {
	if t == nil || m.view != nil && m.view.Epoch == v.Epoch && m.view.Number == v.Number && m.view.Installed == v.Installed {
		return
	}
	names, letters := "", ""
	for _, one := range v.Members {
		names += " " + one.Name
		letters += one.Name
	}
	if len(letters) == len(v.Members) {
		letters = " " + letters // as members of a simulation are called
	} else {
		letters = names
	}
	state := "accepted"
	if v.Installed {
		state = "installed"
	}
	t.emit(timeline.Event{
		Kind: timeline.Viewed, Who: m.name, Short: fmt.Sprintf("view %d:%d%s", v.Epoch.Counter, v.Number, letters),
		Text: fmt.Sprintf("view %d of epoch %d, %s: coordinator %s, members%s", v.Number, v.Epoch.Counter, state, t.world.called(v.Coordinator), names),
		Why:  state,
	})
}

// violated reports a broken promise. The lanes concerned are derived from the arguments of its text.
func (t *reporter) violated(promise, text string, about []any) {
	if t == nil {
		return
	}
	h := timeline.Event{Kind: timeline.Violated, Promise: promise, Text: text}
	for _, one := range about {
		switch one := one.(type) {
		case *grant:
			lane, _ := laneOf(one.who)
			h.Lanes = append(h.Lanes, lane)
			h.Name = one.name
			if id := t.known[one.holder]; id != 0 && one.holder != nil {
				h.Grants = append(h.Grants, id)
			}
		case lock.SessionID:
			h.Lanes = append(h.Lanes, t.parties(one)...)
		case *process:
			h.Lanes = append(h.Lanes, one.name)
		case *client:
			h.Lanes = append(h.Lanes, one.name)
		case string:
			if slices.ContainsFunc(t.world.settings.names, func(n lockName) bool { return n.name == one }) {
				h.Name = one
			}
		}
	}
	slices.Sort(h.Lanes)
	h.Lanes = slices.Compact(h.Lanes)
	t.finish()
	t.emit(h)
}

// parties are the lanes of a session: that of its client, if it has one, and that of its member.
func (t *reporter) parties(id lock.SessionID) (lanes []string) {
	for _, c := range t.world.clients {
		if s := c.stream.session; s != nil && s.id == id {
			lanes = append(lanes, c.name)
		}
	}
	if m := t.world.network.of[protocol.ID(id.Member)]; m != nil {
		lanes = append(lanes, m.name)
	}
	return lanes
}

// longestBelief limits the search for the end of a holder's belief.
const longestBelief = time.Hour

// finish reports, for every current grant, the end of its holder's belief. It does so once.
func (t *reporter) finish() {
	if t == nil || t.ended {
		return
	}
	t.ended = true
	t.look()
	for i := range t.open {
		h := &t.open[i]
		until := t.world.now + longestBelief
		if !h.holder.believesAt(until) {
			before := t.world.now
			for until-before > 1 {
				if middle := before + (until-before)/2; h.holder.believesAt(middle) {
					before = middle
				} else {
					until = middle
				}
			}
		}
		lane, by := laneOf(h.who)
		t.emit(timeline.Event{Kind: timeline.Held, Who: lane, By: by, ID: h.id, Name: h.name, Until: until})
	}
}
