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

// What ends by a clock ends without a step of any process. So the reporter looks, before each
// step and after it, who has a lease, who may grant and who believes in a lock: between
// two steps nothing but time changes that, so that the instant can be found by halving.

// change is one that look reports, in the order of time.
type change struct {
	at   instant
	emit func(instant)
}

// look reports what has changed since the last look: leases, reigns and holders' beliefs.
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

// turned notes a change of something that a member has or has not.
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

// turn finds the instant since the last look at which something became what it is now.
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

// viewed tells that a member follows another view.
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

// violated tells which promise was not kept. The lanes that it concerns are read off what the
// sentence about it was made of.
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

// parties are the lanes of a session: its client's, if it has one, and its member's.
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

// longestBelief bounds the search for the end of what a holder believes.
const longestBelief = time.Hour

// finish tells of every grant that goes on until when its holder believes in it. It does
// so once.
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
