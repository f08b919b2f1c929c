package events

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The names of events.
const (
	Waiting   = "waiting"
	Granted   = "granted"
	Released  = "released"
	Cancelled = "cancelled"
	Lost      = "lost"
	Broken    = "broken"
	Value     = "value"
	View      = "view"
	Space     = "space"
)

// aboutLocks reports whether an event is about a lock: those are sent to other members.
func aboutLocks(event string) bool {
	switch event {
	case Waiting, Granted, Released, Cancelled, Lost, Broken, Value:
		return true
	}
	return false
}

// Source makes events from the decisions of one member's machines for its own clients. It is safe for concurrent use,
// except for Observe, which one goroutine calls at a time.
type Source struct {
	spaces []string // by port, from port 1 on

	// waiting are the requests that were queued and are not decided yet, as many as the spaces have waiters. Only
	// Observe uses it.
	waiting map[request]struct{}
	latest  releases // Observe's, too

	count  atomic.Uint64 // number of events about locks
	open   atomic.Int32  // number of feeds, so that without a reader no events are made
	view   atomic.Pointer[protocol.View]
	viewed chan struct{} // holds one when the view may have changed

	order   sync.Mutex // locked last except for those of feeds: events for watchers here are numbered and delivered in one step
	number  uint64     // of the latest of these events
	process uint64     // random: numbers are those of this life of the member

	mu       sync.Mutex
	feeds    map[*Feed]struct{}
	watchers int     // number of feeds of watchers here
	keepers  int     // number of keepers, and of feeds that this member reads itself
	member   string  // this member's name, for them
	gathered []*Item // not yet delivered to them
	handing  bool    // the timer will deliver them
	timer    *time.Timer
	ended    bool          // nothing more is sent to other members
	quiet    chan struct{} // closed when ended and nothing is being sent to another member
}

// request identifies a request of a session.
type request struct {
	session lock.SessionID
	id      uint64
}

// NewSource returns a Source of the spaces with these names, the first of which is at
// port 1 of the stack.
func NewSource(spaces []string) *Source {
	return &Source{
		spaces: spaces, waiting: map[request]struct{}{}, viewed: make(chan struct{}, 1),
		process: rand.Uint64(), feeds: map[*Feed]struct{}{}, quiet: make(chan struct{}),
	}
}

// Observe is for run.Config.Observe: it sees the effects of one step, keeps none of
// them, and neither blocks nor calls back.
func (s *Source) Observe(effects *protocol.Effects) {
	for i := range effects.Replies {
		if reply := &effects.Replies[i]; reply.Decision.Kind != 0 && reply.Port != protocol.Below && int(reply.Port) <= len(s.spaces) {
			s.decided(s.spaces[reply.Port-1], &reply.Decision)
		}
	}
	for _, fact := range effects.Raises {
		view, ok := fact.(*protocol.View)
		if !ok {
			continue
		}
		if before := s.view.Swap(view); before == nil || before.Number != view.Number {
			s.Publish(&schema.WatchEvent{Event: View, Why: viewText(view)})
		}
		select {
		case s.viewed <- struct{}{}: // its consequences come after it
		default: // the view will be checked anyway
		}
	}
}

// decided counts and reports one decision. A suspension is a lock without a name: watchers see it as a new state of the
// space.
func (s *Source) decided(space string, d *lock.Decision) {
	if d.Name == lock.SpaceLock {
		return
	}
	event := eventOf(d, s.account(d))
	if event == "" || event == Released && d.Since == 0 && s.latest.again(space, d) {
		return
	}
	count := s.count.Add(1)
	if s.open.Load() > 0 {
		s.emit(count, describe(event, space, d))
	}
}

// Of returns the event of a decision, without its time and member; nil if it makes none. Waited means that its request
// was queued before.
func Of(space string, d *lock.Decision, waited bool) *schema.WatchEvent {
	if event := eventOf(d, waited); event != "" {
		return describe(event, space, d)
	}
	return nil
}

// describe returns the event of a decision.
func describe(event, space string, d *lock.Decision) *schema.WatchEvent {
	e := &schema.WatchEvent{
		Event: event, Space: space, Name: d.Name, Owner: d.Owner, Token: uint64(d.Token), Why: why(event, d), Session: d.Session.String(),
		Client: d.Client, Reason: d.Reason, Holder: holder(event, d), Request: d.Request,
	}
	if event == Granted || event == Waiting {
		e.Mode, e.Units, e.Capacity = api.ToMode(d.Mode), int32(d.Units), int32(d.Capacity)
	}
	if event == Granted || event == Value {
		e.Value, e.Revision = d.Value, d.Revision
	}
	return e
}

// releases are the latest ones of protocols that answer a repeated release like the first one, as at the end of a session.
type releases struct {
	all  [64]release
	next int
}

type release struct {
	space, name string
	token       holdfast.Token
}

// again reports whether a release was among the latest ones, and otherwise adds it.
func (r *releases) again(space string, d *lock.Decision) bool {
	one := release{space, d.Name, d.Token}
	for i := range r.all {
		if r.all[i].token == one.token && r.all[i] == one {
			return true
		}
	}
	r.all[r.next] = one
	r.next = (r.next + 1) % len(r.all)
	return false
}

// account tracks the waiting requests, and reports whether d is about one of them.
func (s *Source) account(d *lock.Decision) (waited bool) {
	if d.Kind != lock.Queued && len(s.waiting) == 0 {
		return false
	}
	key := request{d.Session, d.Request}
	_, waited = s.waiting[key]
	if d.Kind == lock.Queued {
		if d.Position >= 0 { // otherwise another member decides, and has not answered yet
			s.waiting[key] = struct{}{}
		}
	} else {
		delete(s.waiting, key)
	}
	return waited
}

// Publish passes an event that is not about a lock to the watchers at this member, without waiting for any of them.
func (s *Source) Publish(e *schema.WatchEvent) {
	if s.open.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = api.Stamp(time.Now())
	s.gather(e)
}

// emit passes an event about a lock to all feeds; count is its number.
func (s *Source) emit(count uint64, e *schema.WatchEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = api.Stamp(time.Now())
	s.gather(e)
	if len(s.feeds) == s.watchers+s.keepers {
		return
	}
	item := &Item{WatchEvent: e}
	//tidy:unordered every other member gets it
	for one := range s.feeds {
		if one.other {
			one.put(item, count)
		}
	}
}

// eventOf returns the event of a decision; waited means that its request was queued before. It is "" for decisions that
// do not affect others: an immediate refusal, a new hold limit, a position in the queue.
func eventOf(d *lock.Decision, waited bool) string {
	switch {
	case d.Kind == lock.Queued && !waited && d.Position >= 0:
		return Waiting
	case d.Kind == lock.Queued, d.Kind == lock.Granted && d.Since == 0: // a new hold limit: it names the grant, and is none
		return ""
	case d.Kind == lock.Granted:
		return Granted
	case d.Kind == lock.Amended && d.Since != 0: // otherwise it was overtaken, or is known
		return Value
	case d.Kind == lock.Amended, d.Kind == lock.Refused && d.Revision != 0:
		return ""
	case d.Token == 0 && waited:
		return Cancelled
	case d.Token == 0:
		return ""
	case d.Kind == lock.Released:
		return Released
	case d.Kind == lock.Revoked && d.Loss == holdfast.Broken:
		return Broken
	case d.Kind == lock.Lost, d.Kind == lock.Revoked:
		return Lost
	}
	return ""
}

// why describes the cause of an event in one line.
func why(event string, d *lock.Decision) string {
	switch {
	case event == Waiting:
		return fmt.Sprintf("%d before it", d.Position)
	case event == Cancelled && d.Err != nil:
		return d.Err.Error()
	case event == Granted || event == Released || event == Value:
		return ""
	}
	return string(d.Loss)
}

// holder returns the holder, or former holder, of an event's name; "" if unknown here.
func holder(event string, d *lock.Decision) string {
	switch event {
	case Waiting:
		return ""
	case Cancelled:
		if by := (*lock.HeldBy)(nil); errors.As(d.Err, &by) {
			return by.Owner
		}
		return ""
	}
	return cmp.Or(d.Owner, d.Client)
}

// viewText describes the members of a view in one line.
func viewText(view *protocol.View) string {
	var names []string
	coordinator := ""
	for _, member := range view.Members {
		names = append(names, member.Name)
		if member.ID == view.Coordinator {
			coordinator = member.Name
		}
	}
	return fmt.Sprintf("view %d: %s; coordinator %s", view.Number, strings.Join(names, ", "), coordinator)
}
