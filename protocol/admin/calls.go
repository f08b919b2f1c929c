package admin

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is the limits of one member's calls.
type Config struct {
	// Operators is the maximum number of waiting calls. Required.
	Operators int
	// Chunk is the maximum number of holders and waiters in one Answer. Required.
	Chunk int
	// Patience is how long to wait for an answer before the first repetition of a query. Zero if the protocol repeats
	// it, and ends calls by [Calls.Fail].
	Patience time.Duration
}

// Protocol is a protocol's part in operators' calls. T is a target that answers: a member, or a shard.
type Protocol[T any] interface {
	Source
	// Ready reports whether a call can be taken now.
	Ready(*Call[T]) bool
	// Targets returns the targets of a call, and whether this member also answers for itself.
	Targets(*Call[T]) (targets []T, own bool)
	// Send sends a query to a target, and reports whether to repeat it; if not, [Calls.Ask] sends it again.
	Send(now protocol.Time, call *Call[T], target T, query Query, out *protocol.Effects) bool
	// Unanswered is why a call has no answer.
	Unanswered(now protocol.Time, call *Call[T]) error
	// Condition answers an Inspect with the combined answers, call.Condition, or with this member's knowledge if not
	// all targets have answered.
	Condition(now protocol.Time, call *Call[T], answered bool) *protocol.Condition
}

// Calls are the operators' calls at one member that wait for an answer. Its methods are called within the steps of one
// machine.
type Calls[T any] struct {
	// Others is the number of waiting calls that the protocol answers by itself: they count towards the limit.
	Others int

	config   Config
	protocol Protocol[T]
	waiting  []*Call[T]
	last     uint64 // number
}

// New returns the calls of a member.
func New[T any](c Config, p Protocol[T]) *Calls[T] { return &Calls[T]{config: c, protocol: p} }

// Call is an operator's call that waits for an answer.
type Call[T any] struct {
	ID       protocol.CallID
	Query    Query
	Stale    bool          // of a Show or a Scan
	Since    protocol.Time // when the operator asked
	Deadline protocol.Time // when to say that no answer has come
	Due      protocol.Time // when to ask again; Never if that has to wait for something else
	Pause    protocol.Time
	// Of is for the protocol: the target that was last asked, or the only one to ask.
	Of T

	asked []question[T] // that have not answered
	gathered
}

// How long an operator waits for an answer, in units of patience. A listing can wait for a change of view; an Inspect
// cannot, because it asks about that state.
const (
	PatienceOfQuery   = 20
	patienceOfInspect = 4
)

// newCall returns the call for an operator's request, of which it keeps nothing; nil for any other request.
func newCall[T any](id protocol.CallID, fact any) *Call[T] {
	c := &Call[T]{ID: id}
	switch fact := fact.(type) {
	case *protocol.Show:
		c.Query, c.Stale = Query{Kind: Show, Name: fact.Name}, fact.Stale
	case *protocol.Scan:
		c.Query, c.Stale = Query{Kind: Scan, Name: fact.After, Prefix: fact.Prefix, Limit: fact.Limit}, fact.Stale
	case *protocol.Break:
		c.Query = Query{Kind: Break, Name: fact.Name, Token: fact.Token, Reason: fact.Reason}
	case *protocol.Inspect:
		c.Query = Query{Kind: Inspect}
	default:
		return nil
	}
	return c
}

// Wake returns when to ask again, or to give up.
func (c *Calls[T]) Wake() protocol.Time {
	at := protocol.Never
	for _, call := range c.waiting {
		at = min(at, call.Deadline, call.Due)
	}
	return at
}

// Empty reports whether no call waits.
func (c *Calls[T]) Empty() bool { return len(c.waiting)+c.Others == 0 }

// Waiting lists the calls that wait, in the order of their numbers.
func (c *Calls[T]) Waiting() []*Call[T] { return slices.Clone(c.waiting) }

// Full is why no more calls are taken, or nil.
func (c *Calls[T]) Full() error {
	if len(c.waiting)+c.Others < c.config.Operators {
		return nil
	}
	return &holdfast.LimitError{Limit: "operators", Value: int64(c.config.Operators)}
}

// OnCall handles an operator's call, and reports whether it was one.
func (c *Calls[T]) OnCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	call := newCall[T](ev.Call, ev.Fact)
	if call != nil {
		c.Begin(now, call, out)
	}
	return call != nil
}

// Begin asks for the answer to a call. One that no other has to answer is answered at once, however many wait.
func (c *Calls[T]) Begin(now protocol.Time, call *Call[T], out *protocol.Effects) {
	call.Since = now
	if !c.protocol.Ready(call) {
		c.refuse(now, call, c.protocol.Unanswered(now, call), out)
		return
	}
	if targets, _ := c.protocol.Targets(call); len(targets) > 0 {
		if err := c.Full(); err != nil {
			c.refuse(now, call, err, out)
			return
		}
		c.last++
		call.Query.Number, call.Query.Limit = c.last, min(call.Query.Limit, c.config.Chunk)
	}
	patience := protocol.Time(PatienceOfQuery)
	if call.Query.Kind == Inspect {
		patience = patienceOfInspect
	}
	call.Deadline = now + patience*c.config.Patience
	c.waiting = append(c.waiting, call)
	c.Restart(now, call, out)
}

// Restart repeats the queries to new targets. Broken holds stay recorded.
func (c *Calls[T]) Restart(now protocol.Time, call *Call[T], out *protocol.Effects) {
	targets, own := c.protocol.Targets(call)
	c.start(now, call, targets, own, out)
}

// Here answers a call from this member's own knowledge.
func (c *Calls[T]) Here(now protocol.Time, call *Call[T], out *protocol.Effects) {
	c.start(now, call, nil, true, out)
}

func (c *Calls[T]) start(now protocol.Time, call *Call[T], targets []T, own bool, out *protocol.Effects) {
	call.asked, call.Pause, call.gathered = nil, 0, gathered{Grants: call.Grants}
	for _, target := range targets {
		call.asked = append(call.asked, question[T]{target: target})
	}
	if own {
		answer := Read(now, c.protocol, &call.Query, math.MaxInt, out)
		call.gather(&answer)
	}
	c.Ask(now, call, out)
	c.advance(now, call, out)
}

// Ask sends the query to the targets that have not answered.
func (c *Calls[T]) Ask(now protocol.Time, call *Call[T], out *protocol.Effects) {
	c.ask(now, call, call.asked, out)
}

func (c *Calls[T]) ask(now protocol.Time, call *Call[T], asked []question[T], out *protocol.Effects) {
	repeats := false
	for i := range asked {
		query := asked[i].of(&call.Query)
		query.Low = c.waiting[0].Query.Number
		repeats = c.protocol.Send(now, call, asked[i].target, query, out) || repeats
	}
	call.Due = protocol.Never
	if repeats {
		call.Pause = protocol.Longer(call.Pause, c.config.Patience)
		call.Due = now + call.Pause
	}
}

// Take handles an answer, or a part of one, from a target. It reports false if no call waits for it.
func (c *Calls[T]) Take(now protocol.Time, a *Answer, sender func(*Call[T], T) bool, out *protocol.Effects) bool {
	for _, call := range c.waiting {
		if call.Query.Number != a.Number {
			continue
		}
		i := slices.IndexFunc(call.asked, func(q question[T]) bool { return q.skip == a.Skip && sender(call, q.target) })
		if i < 0 {
			return false // a copy
		}
		timed := a.after(now, call.Query.Kind)
		if call.asked[i].take(&call.Query, &timed) {
			call.Pause = 0
			c.ask(now, call, call.asked[i:i+1], out)
			return true
		}
		timed.Locks, timed.Next = call.asked[i].locks, call.asked[i].next
		call.asked = slices.Delete(call.asked, i, i+1)
		call.gather(&timed)
		c.advance(now, call, out)
		return true
	}
	return false
}

// Heard records targets that answered without contents, and reports whether these were the last ones.
func (c *Call[T]) Heard(is func(T) bool) (last bool) {
	before := len(c.asked)
	c.asked = slices.DeleteFunc(c.asked, func(q question[T]) bool { return is(q.target) })
	return before > 0 && len(c.asked) == 0
}

// Missing lists the targets that have not answered.
func (c *Call[T]) Missing() (targets []T) {
	for _, q := range c.asked {
		targets = append(targets, q.target)
	}
	return targets
}

// Tick repeats queries, and fails calls that have waited for too long.
func (c *Calls[T]) Tick(now protocol.Time, out *protocol.Effects) {
	for _, call := range c.Waiting() {
		switch {
		case call.Deadline <= now:
			c.Fail(now, call, c.protocol.Unanswered(now, call), out)
		case call.Due <= now:
			c.Ask(now, call, out)
		}
	}
}

// End answers all calls that they have no answer.
func (c *Calls[T]) End(now protocol.Time, out *protocol.Effects) {
	for _, call := range c.Waiting() {
		c.Fail(now, call, c.protocol.Unanswered(now, call), out)
	}
}

// Remove forgets a call, and reports whether it has waited.
func (c *Calls[T]) Remove(call *Call[T]) bool {
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(other *Call[T]) bool { return other == call })
	return len(c.waiting) < before
}

// Fail answers a call, if it waits, that it has no answer. A Break may have been executed nevertheless.
func (c *Calls[T]) Fail(now protocol.Time, call *Call[T], err error, out *protocol.Effects) {
	if c.Remove(call) {
		c.refuse(now, call, err, out)
	}
}

func (c *Calls[T]) refuse(now protocol.Time, call *Call[T], err error, out *protocol.Effects) {
	switch call.Query.Kind {
	case Break:
		out.Reply(call.ID, &protocol.Broken{Grants: call.Grants, Err: err})
	case Inspect:
		out.Reply(call.ID, c.protocol.Condition(now, call, false))
	default:
		out.Reply(call.ID, &protocol.Unanswered{Err: err})
	}
}

// advance answers a call to which all have answered.
func (c *Calls[T]) advance(now protocol.Time, call *Call[T], out *protocol.Effects) {
	if len(call.asked) > 0 {
		return
	}
	c.Remove(call)
	switch call.Query.Kind {
	case Show:
		shown := merge(call.Query.Name, call.parts)
		out.Reply(call.ID, &shown)
	case Scan:
		out.Reply(call.ID, call.page(&call.Query))
	case Break:
		out.Reply(call.ID, call.broken())
	case Inspect:
		out.Reply(call.ID, c.protocol.Condition(now, call, true))
	}
}

// Decline answers calls about the deciding member, in a protocol in which operators cannot choose it, with the reason
// and the deciding members. It reports whether the call was one of these.
func Decline(ev *protocol.Event, deciding []protocol.ID, why error, out *protocol.Effects) bool {
	switch ev.Fact.(type) {
	case *protocol.StepDown:
		out.Reply(ev.Call, &protocol.SteppedDown{}) // there is nothing to hand over: what decides next goes with the view
	case *protocol.Transfer:
		out.Reply(ev.Call, &protocol.Transferred{Authority: deciding, Err: why})
	case *protocol.ListShards:
		out.Reply(ev.Call, &protocol.Shards{})
	case *protocol.Reform:
		out.Reply(ev.Call, &protocol.Reformed{Err: holdfast.ErrUnsupported})
	default:
		return false
	}
	return true
}
