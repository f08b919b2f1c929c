package sim

import (
	"strconv"

	"github.com/holdfast-locks/holdfast/protocol"
)

// wanted returns the next value, for a request; granted is called when that is.
func (v *values) wanted(name string) string {
	text, _ := v.next(grant{name: name})
	return text
}

// granted is called when a request that came with a value is granted. One of an owner may have entered a grant with
// another value.
func (v *values) granted(g grant, text, owner string) {
	if number, err := strconv.Atoi(text); err == nil {
		v.given[number-1] = value{of: g, answer: owner == ""}
	}
}

// valued lets a request over a store come with a value, in runs in which holders set some.
func (w *world) valued(want *wantedLock) {
	if w.store != nil && w.settings.stored.Slice != nil && w.odds("publishes", w.settings.amend) {
		want.value = w.judge.values.wanted(want.name)
	}
}

// checkRow checks P11 for the name of a row that was written.
func (w *world) checkRow(key string) {
	if len(w.judge.values.given) == 0 || w.settings.stored.Slice == nil {
		return
	}
	for _, n := range w.settings.names {
		if w.settings.stored.Slice(n.name, 0).Key == key {
			w.checkStored(n.name)
		}
	}
}

// checkStored checks P11 for a name in the store, as any process can read it now: a value that its holder knows to be set
// is there, or a later one, and no value of a lock that its holder knows to be released.
func (w *world) checkStored(name string) {
	read, j := w.settings.stored, w.judge
	if w.store == nil || read.Slice == nil || len(j.values.given) == 0 {
		return
	}
	wall := w.trueWall().Microseconds()
	process, text := read.Shown(w.store.now(read.Slice(name, wall)), wall)
	number := 0
	if text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil || number < 1 || number > len(j.values.given) || j.values.given[number-1].of.name != name {
			j.violate("P11", "the store has the value %q of %q, which no user has given it", text, name)
			return
		}
		// What a failed write or deletion has left stays until it expires. The request may have waited in other processes, too.
		if of := &j.values.given[number-1].of; j.over(of) && w.processOf(of) == process && !w.store.failed {
			j.violate("P11", "%v, and has released it, and the store still has its value %d", of, number)
			return
		}
	}
	answered := j.values.answers()
	for _, h := range j.record(name).holders {
		if w.processOf(&h) != process || !h.holder.believesAt(w.now) {
			continue
		}
		if latest := answered[requestKey{h.session, h.request}]; number < latest {
			j.violate("P11", "%v, and has set value %d, and the store has value %d", &h, latest, number)
		}
		if number > 0 && j.values.given[number-1].of.token != h.token {
			j.violate("P11", "%v, and the store has value %d, of another request", &h, number)
		}
	}
}

// processOf names the present life of the member through which a grant was had.
func (w *world) processOf(g *grant) string {
	return w.network.of[protocol.ID(g.session.Member)].process()
}

// over reports whether the holder of a grant knows that it has released it, and with it all that its process has written
// for it. An owner may hold it by another request; a request that was sent in an earlier session, too, was written for
// that one as well, and its process takes that back as soon as the store has answered.
func (j *judge) over(g *grant) bool {
	r, known := g.holder.(*request)
	f := j.requests[requestKey{g.session, g.request}]
	return known && r.want.owner == "" && !g.askedAgain() && f != nil && f.gone
}
