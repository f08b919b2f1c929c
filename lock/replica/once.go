package replica

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// MaxIntentRequests is the maximum number of concurrent requests for one intent. A further one is refused.
const MaxIntentRequests = 16

// intent is a lock that a client wants once, however often it requests it: by requests of different numbers, through
// different members, because it does not know the outcome of the previous one ([Op].Once). The table knows one of them,
// and its decisions about that one go to all.
//
// Each request is given up separately: the member that a client has left reports that when it notices, which may be
// long after another member has granted the intent. An intent ends when no request for it is left. If it was granted
// and has ended otherwise, it is remembered for Config.Remember.
type intent struct {
	intentKey
	content  uint64
	number   uint64          // of the request that the table knows
	arrived  Time            // when that came, by the table's time
	requests []intentRequest // that were not given up, in the order in which they came
	granted  bool
	given    bool // by its last request

	// The outcome of an intent that was granted and has ended otherwise: how and when; and whether its session has
	// ended, too.
	over  bool
	how   outcome
	since Time
	gone  bool
}

// intentKey identifies an intent of a session.
type intentKey struct{ name, once string }

// requestFor identifies a request of a session: numbers are per name, as in the table.
type requestFor struct {
	number uint64
	name   string
}

// intentRequest is a request for an intent.
type intentRequest struct {
	number  uint64
	arrived Time
}

// remembered is the ended intents, in the order in which they have ended.
type remembered struct {
	list  []*intent
	count int // without those whose session is gone
}

func (w *intent) find(number uint64) int {
	return slices.IndexFunc(w.requests, func(a intentRequest) bool { return a.number == number })
}

// wants adds an intent.
func (s *session) wants(w *intent) {
	if s.intents == nil {
		s.intents, s.open = map[intentKey]*intent{}, map[requestFor]*intent{}
	}
	s.intents[w.intentKey] = w
	if w.over {
		return
	}
	s.open[requestFor{w.number, w.name}] = w
	for _, a := range w.requests {
		s.open[requestFor{a.number, w.name}] = w
	}
}

// known returns the number by which the table knows a request.
func (s *session) known(number uint64, name string) uint64 {
	if w := s.open[requestFor{number, name}]; w != nil {
		return w.number
	}
	return number
}

// lives reports whether a request holds or waits.
func (r *Replica) lives(s *session, name string, number uint64) bool {
	if w := s.open[requestFor{number, name}]; w != nil {
		return w.find(number) >= 0
	}
	return r.table.Knows(s.ID, name, number)
}

// acquireOnce requests an intent, or joins an existing one.
func (r *Replica) acquireOnce(s *session, o *Op, out *Effects) {
	request := o.request(r.now)
	key := intentKey{o.Name, o.Once}
	r.table.Alter(o.Name)
	var err error
	switch w := s.intents[key]; {
	case w == nil && r.remembered.count >= r.config.Requests:
		err = &holdfast.LimitError{Limit: "requests", Value: int64(r.config.Requests)}
	case w == nil:
		from := len(out.Decisions)
		r.table.Acquire(r.now, &request, &out.Decisions)
		if r.table.Knows(s.ID, o.Name, o.Request) {
			s.wants(&intent{
				intentKey: key, content: o.Content, number: o.Request, arrived: request.Arrived,
				requests: []intentRequest{{o.Request, request.Arrived}}, granted: out.Decisions[from].Kind == lock.Granted,
			})
		}
		return
	case w.content != o.Content:
		err = fmt.Errorf("%w: request %q was sent before with another content", holdfast.ErrConflict, o.Once)
	case w.over:
		r.say(w.how.repeated(o), out)
		return
	case len(w.requests) >= MaxIntentRequests:
		err = &holdfast.LimitError{Limit: "requests", Value: MaxIntentRequests}
	default:
		w.requests = append(w.requests, intentRequest{o.Request, request.Arrived})
		s.open[requestFor{o.Request, o.Name}] = w
		r.repeatIntent(w, &request, out)
		return
	}
	r.say(refusal(o, err), out)
}

// repeatIntent answers one request for an intent with the current decision.
func (r *Replica) repeatIntent(w *intent, request *lock.Request, out *Effects) {
	number, from := request.ID, len(out.Decisions)
	request.ID = w.number
	r.table.Acquire(r.now, request, &out.Decisions)
	for i := from; i < len(out.Decisions); i++ {
		out.Decisions[i].Request = number
	}
	r.decided = len(out.Decisions)
}

// cancelIntentRequest gives up one request for an intent, and the intent with the last one.
func (r *Replica) cancelIntentRequest(s *session, w *intent, o *Op, out *Effects) {
	if len(w.requests) == 1 {
		w.given = true
		r.table.Cancel(r.now, o.Session, o.Name, w.number, &out.Decisions)
		return
	}
	r.table.Alter(o.Name)
	at := w.find(o.Request)
	w.requests = slices.Delete(w.requests, at, at+1)
	if o.Request != w.number {
		delete(s.open, requestFor{o.Request, o.Name})
	}
	r.say(lock.Decision{Kind: lock.Released, Session: o.Session, Request: o.Request, Name: o.Name}, out)
}

// share copies the decisions about an intent, from an index on, to all its requests.
func (r *Replica) share(from int, out *Effects) {
	for i := max(from, r.decided); i < len(out.Decisions); i++ {
		d := out.Decisions[i]
		s := r.sessions[d.Session]
		if s == nil || s.open == nil {
			continue
		}
		w := s.open[requestFor{d.Request, d.Name}]
		if w == nil || w.number != d.Request {
			continue
		}
		if len(w.requests) != 1 || w.requests[0].number != d.Request {
			decisions := make([]lock.Decision, 0, len(w.requests))
			for _, a := range w.requests {
				decisions = append(decisions, w.decisionFor(d, a))
			}
			out.Decisions = slices.Replace(out.Decisions, i, i+1, decisions...)
			i += len(decisions) - 1
		}
		switch d.Kind {
		case lock.Granted:
			w.granted = true
		case lock.Refused, lock.Lost, lock.Released:
			r.endIntent(s, w, &d)
		}
	}
	r.decided = 0
}

// decisionFor returns the decision for one request. A hold limit counts from the sending of that request rather than of
// the one that the table knows: a later one has less left.
func (w *intent) decisionFor(d lock.Decision, a intentRequest) lock.Decision {
	d.Request = a.number
	if d.Hold > 0 {
		d.Hold = max(1, d.Hold-max(0, a.arrived-w.arrived))
	}
	return d
}

// endIntent forgets an intent that was never granted or that was given up, and remembers any other.
func (r *Replica) endIntent(s *session, w *intent, d *lock.Decision) {
	delete(s.open, requestFor{w.number, w.name})
	for _, a := range w.requests {
		delete(s.open, requestFor{a.number, w.name})
	}
	w.requests = nil
	if !w.granted || w.given || s == r.leaves {
		delete(s.intents, w.intentKey)
		return
	}
	w.over, w.since = true, r.now
	w.how = outcome{request{s.ID, w.number}, d.Kind, classOf(d.Err), d.Token, d.Loss}
	r.remembered.add(w)
}

func (m *remembered) add(w *intent) {
	m.list = append(m.list, w)
	m.count++
}

// forgetIntents forgets the intents of a session that ends.
func (r *Replica) forgetIntents(s *session) {
	//tidy:unordered all are
	for _, w := range s.intents {
		if w.over {
			w.gone = true
			r.remembered.count--
		}
	}
	if len(r.remembered.list) > 2*r.remembered.count+64 {
		r.remembered.list = slices.DeleteFunc(r.remembered.list, func(w *intent) bool { return w.gone })
	}
}

// forgetOld forgets the intents that ended long ago.
func (r *Replica) forgetOld() {
	m := &r.remembered
	for len(m.list) > 0 && (m.list[0].gone || m.list[0].since+r.config.Remember <= r.now) {
		w := m.list[0]
		m.list[0] = nil
		m.list = m.list[1:]
		if !w.gone {
			m.count--
			delete(r.sessions[w.how.session].intents, w.intentKey)
		}
	}
}

// inOrder returns the intents of a session, ended ones in the order in which they have ended.
func (s *session) inOrder() []*intent {
	return slices.SortedFunc(maps.Values(s.intents), func(a, b *intent) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.name, b.name), cmp.Compare(a.once, b.once))
	})
}
