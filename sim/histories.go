package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/sim/history"
)

// histories records the users' view, as a log for each name. After the run each log is compared with a model of a lock.
// The sides of a partition that continue alone are not one lock: their runs have no histories.
type histories struct {
	judge *judge
	names map[string]*chronicle
	of    map[requestKey]*chronicled
}

// chronicle is the log of one name, and the users that believe they hold it.
type chronicle struct {
	*history.Log
	holders []*chronicled
	keys    []requestKey
	full    bool
}

// mostAcquisitions is the maximum number of recorded acquisitions of a name. A longer log is given up and counts as
// undecided, so that a run of a day needs no more memory than one of an hour.
const mostAcquisitions = 5_000

// chronicled is a request with a recorded event.
type chronicled struct {
	*history.Acquisition
	in     *chronicle
	holder believer
}

func newHistories(j *judge) *histories {
	return &histories{judge: j, names: map[string]*chronicle{}, of: map[requestKey]*chronicled{}}
}

// request is called when a request is sent for the first time. The record leaves out that a user does not wait: a
// repeated acquire that arrives long after its user has unlocked is granted, and released at once by the user's member,
// and meanwhile a try is refused.
func (h *histories) request(key requestKey, who fmt.Stringer, want wantedLock) {
	if h == nil {
		return
	}
	in := h.names[want.name]
	if in == nil {
		in = &chronicle{Log: history.NewLog(want.name)}
		h.names[want.name] = in
	}
	if in.full {
		return
	}
	if in.Len() == mostAcquisitions {
		h.giveUp(in)
		return
	}
	request := history.Request{Who: who.String(), Shape: holdfast.Shape{Mode: want.mode, Units: want.units, Capacity: want.capacity}}
	if want.owner != "" {
		request.Owner = fmt.Sprintf("%s of session %v", want.owner, key.session)
	}
	in.keys = append(in.keys, key)
	h.of[key] = &chronicled{Acquisition: in.Request(h.judge.clock(), request), in: in}
}

// repeat is called when another request is sent for an earlier call.
func (h *histories) repeat(key, first requestKey) {
	if h == nil {
		return
	}
	if c := h.of[first]; c != nil {
		c.in.keys = append(c.in.keys, key)
		h.of[key] = c
	}
}

// giveUp forgets a log.
func (h *histories) giveUp(in *chronicle) {
	for _, key := range in.keys {
		delete(h.of, key)
	}
	*in = chronicle{full: true}
}

// grant is called when a holder starts to believe in its grant. All other holders that have not stopped believe in
// theirs, too.
func (h *histories) grant(g *grant) {
	if h == nil {
		return
	}
	c := h.of[requestKey{g.session, g.request}]
	if c == nil || c.Outcome != history.Open {
		return
	}
	now := h.judge.clock()
	c.holder = g.holder
	c.in.Grant(c.Acquisition, now, g.token)
	c.in.look(now)
	c.in.holders = append(c.in.holders, c)
}

// look finds the holders that still believe in their grants.
func (c *chronicle) look(now instant) {
	kept := c.holders[:0]
	for _, h := range c.holders {
		if h.holder.believesAt(now) {
			c.See(h.Acquisition)
			kept = append(kept, h)
		} else {
			c.End(h.Acquisition, now, "by the clock")
		}
	}
	clear(c.holders[len(kept):])
	c.holders = kept
}

// ended is called when a holder stops believing for any reason except the clock.
func (h *histories) ended(g *grant, why holdfast.Loss) {
	if h == nil {
		return
	}
	if c := h.of[requestKey{g.session, g.request}]; c != nil {
		text := string(why)
		if why == "" {
			text = "unlock"
		}
		c.in.End(c.Acquisition, h.judge.clock(), text)
	}
}

// refused is called when a user's request is refused.
func (h *histories) refused(key requestKey, err error) {
	if h == nil || !errors.Is(err, holdfast.ErrHeld) {
		return
	}
	if c := h.of[key]; c != nil && c.Outcome == history.Open {
		c.in.Refuse(c.Acquisition, h.judge.clock())
	}
}

// taken is called when an authority has taken back a lock that its user has unlocked.
func (h *histories) taken(key requestKey) {
	if h == nil {
		return
	}
	if c := h.of[key]; c != nil {
		c.in.Take(c.Acquisition, h.judge.clock())
	}
}

// modelOf returns the model of a name with this use, under a protocol.
func modelOf(n *lockName, p *Protocol) history.Model {
	model := history.ReentrantFencedMutex()
	switch n.use {
	case holdfast.ModeShared:
		model = history.SharedExclusive()
	case holdfast.ModeSlots:
		model = history.Permits()
	}
	if p.Peers {
		model = model.Loose()
	}
	return model
}

// slice is the share of seeds, one in so many, whose histories are compared by default: this takes a tenth of a run's
// time.
const slice = 16

// checkHistories compares the users' history of each name with a model. The page shows the violated history, or the
// longest.
func (w *world) checkHistories() error {
	h := w.judge.histories
	if h == nil {
		return nil
	}
	var shown *chronicle
	var as history.Model
	for i := range w.settings.names {
		n := &w.settings.names[i]
		log := h.names[n.name]
		if log == nil {
			continue
		}
		w.count.histories++
		if log.full {
			w.count.undecided++
			continue
		}
		log.look(w.now)
		model := modelOf(n, w.protocol)
		if shown == nil || log.Len() > shown.Len() {
			shown, as = log, model
		}
		result := log.Check(model, 0)
		if result == history.Unknown {
			w.count.undecided++
		}
		if result == history.Violated {
			shown, as = log, model
			w.blame(log, model)
			break
		}
	}
	if w.page == nil || shown == nil {
		return nil
	}
	_, err := shown.WriteHTML(w.page, as, 0)
	return err
}

// blame ends the trace with a history that no lock can have, and names the broken promise.
func (w *world) blame(log *chronicle, model history.Model) {
	for line := range strings.Lines(log.String()) {
		w.trace("%s", strings.TrimSuffix(line, "\n"))
	}
	w.judge.violate(log.Blame(model, 0), "what users saw of %q is not what a lock does (%v, %d acquisitions; the trace ends with them)", log.Name, model, log.Len())
}
