package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Config configures a replica. All copies have the same, because all must refuse the same requests.
type Config struct {
	// Table is the configuration of the lock table.
	Table lock.Config
	// Sessions is the maximum number of sessions. Zero means 100,000.
	Sessions int
	// Outcomes is the number of ended requests, of all sessions together, whose outcome is remembered. Zero means
	// 16,384.
	Outcomes int
	// Requests is the maximum number of remembered intents (Op.Once) that were granted and have ended. At the limit no
	// further intent is accepted: a repetition of a forgotten one would act again. Zero means 100,000.
	Requests int
	// Remember is how long they are remembered. Zero means 5 min.
	Remember Time
	// Part is the size to which a part of a snapshot grows, in bytes; it may exceed that by one record. Zero means 128
	// KiB, the maximum.
	Part int
}

// The defaults of Config.
const (
	DefaultSessions = 100_000
	DefaultOutcomes = 16_384
	DefaultRequests = 100_000
	DefaultRemember = 5 * time.Minute
)

// Replica is one copy. It is not safe for concurrent use.
type Replica struct {
	config   Config
	table    *lock.Table
	now      Time
	reign    uint64
	sessions map[lock.SessionID]*session
	outcomes outcomes
	gone     roll // sessions
	done     roll // operations

	remembered remembered
	// During an operation: the session that it ends, and the index up to which all decisions are for the requests that
	// they name.
	leaves  *session
	decided int
}

// Session is a client's session, as known to all copies.
type Session struct {
	ID       lock.SessionID
	TTL      Time
	Secret   Secret
	Client   string // for display
	Identity string
	Opened   Time // by the table's time
	Attached lock.Attachments
	// Tied is the only member through which the client may use spaces that end with it: the first one that has asked
	// for that. The session ends with that member. 0 is none.
	Tied uint64
	// Inherited is the highest token given before its client took the session over: a hold under that or a lower one
	// was granted to an earlier client. 0 if no client has taken it over.
	Inherited holdfast.Token
}

type session struct {
	Session
	ended   ended
	intents map[intentKey]*intent
	open    map[requestFor]*intent // those that are not over
	by      map[requestFor]uint64  // of its requests that hold or wait: the member that has asked for them, or several
}

// several represents the members of a request that came through more than one.
const several = 0

// Effects are the effects of an entry.
type Effects struct {
	// Decisions are the outcomes of requests, in the order in which the caller must pass them on.
	Decisions []lock.Decision
	// Failures are the operations that did nothing, in order. An Acquire has none: it has a decision.
	Failures []Failure
	// Breaks are the holds whose holders a Break has notified to stop, in order. A Break that failed has none.
	Breaks []Broken
	// Repeated are the indices of operations that were done before: they did nothing, and the first decisions are not
	// repeated.
	Repeated []int
	// Attached are the sessions that another client uses from now on: they were opened, or taken over.
	Attached []lock.SessionID
}

// Broken is the effect of a Break.
type Broken struct {
	Op     int // its place in the entry
	Grants []lock.Grant
}

// Failure is the reason why an operation did nothing.
type Failure struct {
	Op  int // its place in the entry
	Err error
}

// Reset empties e for the next entry.
func (e *Effects) Reset() {
	e.Decisions, e.Failures, e.Breaks, e.Repeated = e.Decisions[:0], e.Failures[:0], e.Breaks[:0], e.Repeated[:0]
	e.Attached = e.Attached[:0]
}

// New returns a copy that has applied nothing. The error names the field of c that is wrong.
func New(c Config) (*Replica, error) {
	if c.Sessions == 0 {
		c.Sessions = DefaultSessions
	}
	if c.Outcomes == 0 {
		c.Outcomes = DefaultOutcomes
	}
	if c.Requests == 0 {
		c.Requests = DefaultRequests
	}
	if c.Remember == 0 {
		c.Remember = DefaultRemember
	}
	if c.Part == 0 {
		c.Part = DefaultPart
	}
	if c.Part < 0 || c.Part > DefaultPart {
		return nil, fmt.Errorf("replica: Part is %d; 1 to %d is allowed, and 0 for the default", c.Part, DefaultPart)
	}
	if c.Sessions < 0 || c.Outcomes < 0 || c.Requests < 0 || c.Remember < 0 {
		return nil, fmt.Errorf("replica: Sessions is %d, Outcomes is %d, Requests is %d and Remember is %v; positive numbers are allowed, and 0 for the defaults",
			c.Sessions, c.Outcomes, c.Requests, c.Remember)
	}
	table, err := lock.New(c.Table)
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return &Replica{config: c, table: table, sessions: map[lock.SessionID]*session{}, outcomes: newOutcomes(c.Outcomes), gone: newRoll(), done: newRoll()}, nil
}

// Table returns the lock table, for reading: only entries may change it.
func (r *Replica) Table() *lock.Table { return r.table }

// Now returns the table's time: that of the latest entry.
func (r *Replica) Now() Time { return r.now }

// Reign returns the reign of new tokens; 0 before the first.
func (r *Replica) Reign() uint64 { return r.reign }

// Len returns the number of sessions.
func (r *Replica) Len() int { return len(r.sessions) }

// Session returns a live session.
func (r *Replica) Session(id lock.SessionID) (Session, bool) {
	s := r.sessions[id]
	if s == nil {
		return Session{}, false
	}
	return s.Session, true
}

// Ended returns how a request of a live session has ended, and whether it has. If it ended too long ago the decision
// has kind 0.
func (r *Replica) Ended(id lock.SessionID, number uint64) (d lock.Decision, ended bool) {
	s := r.sessions[id]
	if s == nil || !s.ended.has(number) {
		return d, false
	}
	d = lock.Decision{Session: id, Request: number}
	if at, known := r.outcomes.at[request{id, number}]; known {
		d = r.outcomes.list[at].decision()
	}
	return d, true
}

// Requests visits the holding and waiting requests of a live session, those for one name in order of arrival.
func (r *Replica) Requests(id lock.SessionID, visit func(number uint64, name string)) {
	s := r.sessions[id]
	if s == nil {
		return
	}
	r.table.Requests(id, func(number uint64, name string, _ holdfast.Token) {
		w := s.open[requestFor{number, name}]
		if w == nil {
			visit(number, name)
			return
		}
		for _, a := range w.requests {
			visit(a.number, name)
		}
	})
}

// Standing returns the answer to a request that holds or waits (lock.Table.Standing).
func (r *Replica) Standing(id lock.SessionID, name string, number uint64) (d lock.Decision, known bool) {
	s := r.sessions[id]
	if s == nil || !r.lives(s, name, number) {
		return d, false
	}
	d, known = r.table.Standing(id, name, s.known(number, name))
	d.Request = number
	return d, known
}

// Sessions visits all live sessions, in no order.
func (r *Replica) Sessions(visit func(Session)) {
	//tidy:unordered the caller wants all
	for _, s := range r.sessions {
		visit(s.Session)
	}
}

// Due returns the table's time at which something ends by itself: an entry must then record the time. It is
// [lock.Never] if there is no such time.
func (r *Replica) Due() Time { return r.table.Wake() }

// Exhausted reports whether the reign has given all its tokens: an entry must begin another one.
func (r *Replica) Exhausted() bool { return r.table.Exhausted() }

// AdvancePast makes the next reign higher than reign, for example after a restore of a state whose log may have
// continued: its tokens are then above all that the log has given.
func (r *Replica) AdvancePast(reign uint64) { r.reign = max(r.reign, reign) }

// Apply applies an entry.
func (r *Replica) Apply(e *Entry, out *Effects) {
	r.now = max(r.now, e.At)
	r.forgetOld()
	from := len(out.Decisions)
	r.table.Tick(r.now, &out.Decisions)
	if e.Begin {
		r.reign = max(r.reign, e.Above) + 1
		r.table.BeginReign(r.reign, 0)
		r.table.Resume(r.now, &out.Decisions)
	}
	r.settle(from, out)
	for i := range e.Ops {
		if id := e.Ops[i].ID; id != (OpID{}) {
			if r.done.has(id.Member, id.Number) {
				out.Repeated = append(out.Repeated, i)
				continue
			}
			r.done.of(id.Member).add(id.Number)
		}
		from = len(out.Decisions)
		if err := r.do(i, &e.Ops[i], out); err != nil {
			out.Failures = append(out.Failures, Failure{i, err})
		}
		r.settle(from, out)
	}
}

// settle records which requests have ended, and how.
func (r *Replica) settle(from int, out *Effects) {
	r.share(from, out)
	if s := r.leaves; s != nil {
		r.leaves = nil
		r.forgetIntents(s)
		delete(r.sessions, s.ID)
		r.gone.of(s.ID.Member).add(s.ID.Number)
	}
	for i := from; i < len(out.Decisions); i++ {
		d := &out.Decisions[i]
		switch d.Kind {
		case lock.Refused, lock.Lost, lock.Released:
		default:
			continue
		}
		s := r.sessions[d.Session]
		if s != nil && !r.lives(s, d.Name, d.Request) {
			delete(s.by, requestFor{d.Request, d.Name})
		}
		if s == nil || s.ended.has(d.Request) {
			continue
		}
		if w := s.open[requestFor{d.Request, d.Name}]; w == nil || w.find(d.Request) < 0 {
			s.ended.add(d.Request)
			r.outcomes.add(d)
		}
	}
}

// do does the operation at an index of its entry.
func (r *Replica) do(at int, o *Op, out *Effects) error {
	if o.Kind == Break {
		grants, err := r.table.Break(r.now, o.Name, o.Token, &out.Decisions)
		if err == nil {
			out.Breaks = append(out.Breaks, Broken{at, grants})
		}
		return err
	}
	s := r.sessions[o.Session]
	switch {
	case o.Kind == Open:
		return r.open(s, o, out)
	case s == nil && o.Kind == Acquire:
		r.say(refusal(o, holdfast.SessionExpired), out)
		return nil
	case s == nil:
		return holdfast.SessionExpired
	}
	switch o.Kind {
	case End:
		if o.Attached != nil && o.Attached.Before(s.Attached.Attachment) {
			return nil // another client has the session by now
		}
		r.end(s, "", out)
	case Attach:
		r.attach(s, o, out)
	case EndIdle:
		if !r.table.Has(s.ID) {
			r.end(s, "", out)
		}
	case Expire:
		r.end(s, holdfast.SessionExpired, out)
	case Acquire:
		r.acquire(s, o, out)
	case Release:
		return r.release(s, o, out)
	case Recall:
		return r.recall(s, o, out)
	case Cancel:
		r.cancel(s, o, out)
	case Extend:
		return r.table.Extend(r.now, o.Session, o.Name, o.Token, o.Hold)
	case Amend:
		return r.amend(s, o, out)
	case LetIn:
		request := o.request(r.now)
		r.table.LetIn(r.now, &request, o.Other, o.Owner, &out.Decisions)
	default:
		return fmt.Errorf("%w: an operation of kind %d, which this version does not know", holdfast.ErrUnsupported, o.Kind)
	}
	return nil
}

// open opens a session. Repeated, it only records which client uses it.
func (r *Replica) open(s *session, o *Op, out *Effects) error {
	switch {
	case s != nil && s.Secret == o.Secret:
		r.attach(s, o, out)
		return nil
	case s != nil:
		return fmt.Errorf("%w: session %v is another client's", holdfast.ErrConflict, o.Session)
	case o.Session == (lock.SessionID{}) || o.TTL <= 0:
		return fmt.Errorf("%w: session %v with a ttl of %v; it needs an id, and a ttl above 0s", holdfast.ErrConflict, o.Session, o.TTL)
	case r.gone.has(o.Session.Member, o.Session.Number):
		return fmt.Errorf("%w: session %v has ended, and its id cannot be used again", holdfast.ErrLost, o.Session)
	case len(r.sessions) >= r.config.Sessions:
		return &holdfast.LimitError{Limit: "sessions", Value: int64(r.config.Sessions)}
	}
	opened := &session{Session: Session{ID: o.Session, TTL: o.TTL, Secret: o.Secret, Client: o.Client, Identity: o.Identity, Opened: r.now}}
	r.sessions[o.Session] = opened
	r.attach(opened, o, out)
	return nil
}

// end ends a session, which settle forgets after the resulting decisions.
func (r *Replica) end(s *session, why holdfast.Loss, out *Effects) {
	r.leaves = s
	r.table.EndSession(r.now, s.ID, why, &out.Decisions)
}

// acquire requests a name, unless the request has ended, or was made by a client that another one has taken the session
// over from: the later client would be granted a lock that it does not know.
func (r *Replica) acquire(s *session, o *Op, out *Effects) {
	if o.By.Client != 0 && s.Attached.Before(o.By) {
		r.attach(s, &Op{Attached: &lock.Attachments{Attachment: o.By}}, out)
	}
	w, lives := s.open[requestFor{o.Request, o.Name}], r.lives(s, o.Name, o.Request)
	switch {
	case s.ended.has(o.Request) && !lives:
		r.say(r.outcomes.again(o), out)
	case !lives && o.By.Client != 0 && o.By.Before(s.Attached.Attachment):
		r.say(refusal(o, holdfast.EndedByAnother), out)
	case w != nil:
		request := o.request(r.now)
		r.repeatIntent(w, &request, out)
	case o.Once != "":
		r.acquireOnce(s, o, out)
	default:
		request := o.request(r.now)
		r.table.Acquire(r.now, &request, &out.Decisions)
	}
	if r.lives(s, o.Name, o.Request) {
		r.table.Alter(o.Name)
		s.noteRequester(requestFor{o.Request, o.Name}, o.ID.Member)
	}
}

// noteRequester records the member through which a request has come.
func (s *session) noteRequester(is requestFor, member uint64) {
	if by, known := s.by[is]; known && by != member {
		member = several
	} else if s.by == nil {
		s.by = map[requestFor]uint64{}
	}
	s.by[is] = member
}

// RequestedBy returns the member through which a holding or waiting request has come; 0 if there are several. For any
// other request it is unknown.
func (r *Replica) RequestedBy(id lock.SessionID, name string, number uint64) (member uint64, known bool) {
	if s := r.sessions[id]; s != nil {
		member, known = s.by[requestFor{number, name}]
	}
	return member, known
}

// RequestedTogether reports whether a request is one of several for the same intent, through one or more members: the
// client of the others may release its grant.
func (r *Replica) RequestedTogether(id lock.SessionID, name string, number uint64) bool {
	s := r.sessions[id]
	if s == nil {
		return false
	}
	w := s.open[requestFor{number, name}]
	return w != nil && len(w.requests) > 1
}

// release releases a hold. For an ended one the answer says how it ended.
func (r *Replica) release(s *session, o *Op, out *Effects) error {
	number := o.Request
	if w := s.open[requestFor{number, o.Name}]; w != nil {
		if w.find(number) < 0 {
			r.say(r.outcomes.again(o), out) // it was given up, and others ask for the same still
			return nil
		}
		number = w.number
	}
	err := r.table.Release(r.now, o.Session, o.Name, o.Token, number, &out.Decisions)
	if errors.Is(err, holdfast.ErrNotHeld) && o.Request != 0 && s.ended.has(o.Request) {
		r.say(r.outcomes.again(o), out)
		return nil
	}
	return err
}

// amend amends a grant. There is a decision if that has changed it.
func (r *Replica) amend(s *session, o *Op, out *Effects) error {
	d, changed := r.table.Amend(r.now, o.Session, o.Name, o.Token, s.known(o.Request, o.Name), &lock.Amendment{Revision: o.Revision, Value: o.Value})
	if o.Request != 0 {
		d.Request = o.Request
	}
	if changed {
		r.say(d, out)
	}
	return d.Err
}

// recall notifies the holder of a hold that was requested over a stream to stop, and ends anything else.
func (r *Replica) recall(s *session, o *Op, out *Effects) error {
	if r.table.Recall(o.Session, o.Name, o.Token, o.Request, holdfast.EndedByAnother, &out.Decisions) {
		return nil
	}
	if o.Token == 0 && o.Request != 0 {
		r.cancel(s, o, out)
		return nil
	}
	return r.release(s, o, out)
}

// cancel ends a request, even one that has not arrived yet.
func (r *Replica) cancel(s *session, o *Op, out *Effects) {
	if o.GivenUp && s.by[requestFor{o.Request, o.Name}] != o.ID.Member && r.lives(s, o.Name, o.Request) {
		return // its client may have gone to that other member, which has told it that it holds
	}
	if w := s.open[requestFor{o.Request, o.Name}]; w == nil && r.table.Cancel(r.now, o.Session, o.Name, o.Request, &out.Decisions) {
		return
	} else if w != nil && r.lives(s, o.Name, o.Request) {
		r.cancelIntentRequest(s, w, o, out)
		return
	}
	if s.ended.has(o.Request) {
		r.say(r.outcomes.again(o), out)
		return
	}
	r.say(lock.Decision{Kind: lock.Released, Session: o.Session, Request: o.Request, Name: o.Name}, out)
}

// say adds a decision about one request that the table has not made.
func (r *Replica) say(d lock.Decision, out *Effects) {
	out.Decisions = append(out.Decisions, d)
	r.decided = len(out.Decisions)
}

// refusal returns the decision about a request that does not reach the table.
func refusal(o *Op, err error) lock.Decision {
	asked := o.request(0)
	d := asked.Decision(lock.Refused)
	d.Err = err
	return d
}
