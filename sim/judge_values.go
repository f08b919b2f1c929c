package sim

import (
	"strconv"

	"github.com/holdfast-locks/holdfast/lock"
)

// values is the judge's knowledge of the values of grants (P11). Users number their values, of all grants together, in
// the order in which they ask for them.
type values struct {
	given []value // by number, from 1 on
}

// value is one value that a user has asked for.
type value struct {
	name   string
	of     requestKey
	answer bool // its user knows that the authority has it
}

// next returns the next value, for a request.
func (v *values) next(name string, of requestKey) (text string, number int) {
	v.given = append(v.given, value{name: name, of: of})
	return strconv.Itoa(len(v.given)), len(v.given)
}

// answered is called when a user learns that the authority has its value.
func (v *values) answered(number int) { v.given[number-1].answer = true }

// known is how much an operator's question must know of the values: those that were answered, and the requests that
// were released, before it was asked.
type known struct {
	answered map[requestKey]int // the latest number
	gone     map[requestKey]bool
}

// known returns what a question that is asked now must know.
func (j *judge) known() (k known) {
	k = known{map[requestKey]int{}, map[requestKey]bool{}}
	for i, v := range j.values.given {
		if v.answer {
			k.answered[v.of] = i + 1
		}
		if f := j.requests[v.of]; f != nil && f.gone {
			k.gone[v.of] = true
		}
	}
	return k
}

// checkValues checks P11 for a name that was shown after k: a value that its holder knows to be set is shown, or a later
// one, and none is shown of a lock that its holder knows to be released. In partition mode any there is no one view.
func (w *world) checkValues(shown *lock.Lock, k known) {
	j := w.judge
	if j.sides != nil {
		return
	}
	for i := range shown.Holders {
		g := &shown.Holders[i]
		number := 0
		if g.Value != "" {
			var err error
			if number, err = strconv.Atoi(g.Value); err != nil || number < 1 || number > len(j.values.given) {
				j.violate("P11", "%q is shown with the value %q, which no user has given", shown.Name, g.Value)
				return
			}
			if of := &j.values.given[number-1]; of.name != shown.Name || k.gone[of.of] {
				j.violate("P11", "%q is shown with value %d, of request %d of session %v for %q, which was released before", shown.Name, number, of.of.id, of.of.session, of.name)
				return
			}
		}
		for _, holder := range j.record(shown.Name).holders {
			latest := k.answered[requestKey{holder.session, holder.request}]
			if holder.session == g.Session && holder.token == g.Token && number < latest {
				j.violate("P11", "%v, and has set value %d, and %q is shown with value %d", &holder, latest, shown.Name, number)
				return
			}
		}
	}
}
