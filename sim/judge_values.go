package sim

import (
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// values is the judge's knowledge of the values of grants (P11). Users number their values, of all grants together, in
// the order in which they ask for them.
type values struct {
	given []value // by number, from 1 on
}

// value is one value that a user has asked for.
type value struct {
	of     grant // its token is 0 while its user does not know that the request is granted
	answer bool  // its user knows that the authority has it
}

// next returns the next value, for a grant.
func (v *values) next(of grant) (text string, number int) {
	v.given = append(v.given, value{of: of})
	return strconv.Itoa(len(v.given)), len(v.given)
}

// answered is called when a user learns that the authority has its value.
func (v *values) answered(number int) { v.given[number-1].answer = true }

// answers returns the latest value of each request that its user knows to be set.
func (v *values) answers() map[requestKey]int {
	latest := map[requestKey]int{}
	for i := range v.given {
		if of := &v.given[i].of; v.given[i].answer {
			latest[requestKey{of.session, of.request}] = i + 1
		}
	}
	return latest
}

// askedAgain reports whether the request of a grant was sent in several sessions. An earlier one may live on at its member
// and be granted the name as well, with the request's value.
func (g *grant) askedAgain() bool {
	r, known := g.holder.(*request)
	return known && r.again
}

// checkValues checks P11 for a name that was shown by a question that was asked when users knew of these answers: a value
// that its holder knew to be set is shown, or a later one, and no grant is shown with the value of an earlier one. A
// grant that its member has lent to another client is shown as it was given, and has the value of that client. In
// partition mode any there is no one view.
func (w *world) checkValues(shown *lock.Lock, answered map[requestKey]int) {
	j := w.judge
	if j.sides != nil {
		return
	}
	for i := range shown.Holders {
		g := &shown.Holders[i]
		if g.Grace {
			continue // its limit has ended it, and its value
		}
		number := 0
		if g.Value != "" {
			var err error
			if number, err = strconv.Atoi(g.Value); err != nil || number < 1 || number > len(j.values.given) {
				j.violate("P11", "%q is shown with the value %q, which no user has given", shown.Name, g.Value)
				return
			}
			of := &j.values.given[number-1].of
			another := of.token != 0 && of.token < g.Token || of.token > g.Token && of.session.Member != g.Session.Member
			if of.name != shown.Name || another && !of.askedAgain() {
				j.violate("P11", "token %d of %q is shown with value %d, and that is of another lock: %v", g.Token, shown.Name, number, of)
				return
			}
		}
		for _, holder := range j.record(shown.Name).holders {
			latest := answered[requestKey{holder.session, holder.request}]
			if holder.session == g.Session && holder.token == g.Token && number < latest {
				j.violate("P11", "%v, and has set value %d, and %q is shown with value %d", &holder, latest, shown.Name, number)
				return
			}
		}
	}
}

// readBack lets an operator read a name whose value was just set: at once or, in most cases, a while later, through any
// member.
func (w *world) readBack(client *client, name string) {
	was := w.scope()
	w.tape.begin(client.name, "reads-back")
	s := w.scope()
	w.do(w.now+w.below("reads-after", 3*time.Second), func() {
		w.goOn(s)
		if m := pick(w, "reads-through", w.members); m.up && !m.paused {
			m.read(&protocol.Show{Name: name})
		}
	})
	w.goOn(was)
}
