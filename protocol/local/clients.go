package local

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is the configuration for a member's clients and operators.
type Config struct {
	// Protocol is the protocol's name, for display. Required.
	Protocol string
	// Table limits the requests of this member's own clients; the zero value has the table's defaults.
	Table lock.Config
	// Patience is how long an answer is waited for before a message is repeated. Required.
	Patience time.Duration
	// Answers is how many patiences a request that does not wait waits for answers. Zero means 2.
	Answers int
	// Operators is the maximum number of operators' calls that wait for others' answers. Required.
	Operators int
}

// Protocol is a protocol's handling of this member's clients' requests, each kept as an R. It is called within a step,
// and its changes to Clients take effect at once.
type Protocol[R Own] interface {
	// Ready reports whether the members can be asked for anything now. While they cannot, a request that does not wait
	// is refused at once for that reason.
	Ready() bool
	// Refusal returns the reason to refuse a request outright, or nil. Clients itself checks for another member's
	// session, a closed space, and a request for the whole space.
	Refusal(*lock.Request) error
	// Keep returns the record of a request that the table has queued.
	Keep(Request) R
	// Enroll begins that request.
	Enroll(protocol.Time, R, *protocol.Effects)
	// Ended forgets a request, whether it has waited or held; it is Dropped already.
	Ended(R)
	// Named lists at least those requests for a name that hold.
	Named(name string) []R
	// Explain returns why a request was not granted before its wait limit: err, or a more detailed error than the
	// table's. It is called only if the table knows of no holder.
	Explain(now protocol.Time, r R, err error) error
	// Knows reports whether it is known of a request that waits that it has to, and
	// behind which others here: then its client gets its place. Else the client gets that
	// when it is known ([Clients.LetWait]).
	Knows(R) bool
	// Awaits reports whether a request waits for a peer's answer, for display.
	Awaits(r R, peer protocol.ID) bool
	// Withhold reports whether others still know of a hold that its client has just released, and is Ended. Then
	// [Clients.NotifyReleased] answers its client when they no longer do: any client can take a name that is reported
	// free.
	Withhold(R) bool
	// WithholdAmendment is called when the grant that a request holds was amended, or the amendment in force was repeated.
	// It reports whether others do not have that yet: then [Clients.NotifyAmended] answers the client when they have.
	WithholdAmendment(R, *lock.Decision) bool
	// Settled reports whether all that this member's clients have given up was
	// sent to others: then a space that is closed here is (protocol.CloseSpace).
	Settled() bool
	// Graces returns the ended holds whose names stay taken for a while, of this member's clients and of those that no
	// other member represents.
	Graces(protocol.Time) []Grace
	// Condition returns the space's condition, counting this member's clients ([Clients.Counts]). [Clients.Describe]
	// begins it.
	Condition(now protocol.Time, counts *protocol.Condition) *protocol.Condition
}

// Clients is the set of one member's clients, with the table of their holds and waits only. Its methods are called
// within the steps of one machine, which ends each step by Conclude.
type Clients[R Own] struct {
	config   Config
	protocol Protocol[R]
	standing *Standing
	table    *lock.Table

	requests map[Key]R
	withheld map[Key]*withheld // releases that others have not heard of
	tries    int               // of requests
	arrivals uint64

	news      []R // whose clients may have to hear that they wait
	scratch   []lock.Decision
	answering answering
	instance  protocol.Instance
}

// New returns the clients of a member without a view, so nothing is granted: see Resume. The error names the invalid
// field of the table's configuration.
func New[R Own](c Config, standing *Standing, p Protocol[R]) (*Clients[R], error) {
	c.Table.Permitted = true
	table, err := lock.New(c.Table)
	if err != nil {
		return nil, err
	}
	table.Pause()
	return &Clients[R]{config: c, protocol: p, standing: standing, table: table, requests: map[Key]R{}, withheld: map[Key]*withheld{}}, nil
}

// Closed reports whether the space is closed: nothing new is taken.
func (c *Clients[R]) Closed() bool { return c.instance.Closed() }

// Wake returns when a limit in time ends.
func (c *Clients[R]) Wake() protocol.Time { return c.table.Wake() }

// Tick ends requests and holds whose time limit has passed.
func (c *Clients[R]) Tick(now protocol.Time, out *protocol.Effects) {
	c.table.Tick(now, &c.scratch)
	c.publish(now, out)
}

// Pause stops granting: new requests are answered accordingly, and waiting ones continue to wait.
func (c *Clients[R]) Pause() { c.table.Pause() }

// Resume starts granting: requests that wait only for this are answered about holders.
func (c *Clients[R]) Resume(now protocol.Time, out *protocol.Effects) {
	c.table.Resume(now, &c.scratch)
	c.publish(now, out)
}

// Permit grants a waiting request, under a token above those of all other grants of its name here. It must be
// compatible with the holds here. Other requests of its owner enter that grant, and are Ended.
func (c *Clients[R]) Permit(now protocol.Time, own R, token holdfast.Token, out *protocol.Effects) {
	r := own.Requested()
	r.Held, r.Since, r.Token = true, now, token
	if !c.table.Permit(now, r.Key.Session, r.Key.Name, r.Key.ID, token, &c.scratch) {
		panic(c.config.Protocol + ": a request is permitted that the table does not know")
	}
	c.publish(now, out)
}

// Deny refuses a request that waits, which is Ended by that.
func (c *Clients[R]) Deny(now protocol.Time, own R, err error, out *protocol.Effects) {
	r := own.Requested()
	if c.table.Deny(now, r.Key.Session, r.Key.Name, r.Key.ID, err, &c.scratch) {
		c.publish(now, out)
	}
}

// Revoke notifies the client of a holding request to stop using it: the hold ends when the client confirms, or with its
// session.
func (c *Clients[R]) Revoke(now protocol.Time, own R, why holdfast.Loss, out *protocol.Effects) {
	r := own.Requested()
	c.table.Revoke(r.Key.Session, r.Key.Name, r.Token, why, &c.scratch)
	c.publish(now, out)
}

// End ends a holding request, with a reason.
func (c *Clients[R]) End(now protocol.Time, own R, why holdfast.Loss, out *protocol.Effects) {
	r := own.Requested()
	its := func(name string, _ lock.SessionID, _ uint64, token holdfast.Token) bool {
		return name == r.Key.Name && token == r.Token
	}
	c.table.EndWhere(now, why, its, &c.scratch)
	c.publish(now, out)
}

// Lose ends all holds, with a reason. Waiting requests continue to wait.
func (c *Clients[R]) Lose(now protocol.Time, why holdfast.Loss, out *protocol.Effects) {
	held := func(_ string, _ lock.SessionID, _ uint64, token holdfast.Token) bool { return token != 0 }
	c.table.EndWhere(now, why, held, &c.scratch)
	c.publish(now, out)
}

// Waiting lists the requests that wait, in the order of their arrival.
func (c *Clients[R]) Waiting() (list []R) {
	//tidy:unordered they are put in order
	for _, r := range c.requests {
		if !r.Requested().Held {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b R) int { return cmp.Compare(a.Requested().Arrival, b.Requested().Arrival) })
	return list
}

// Tries returns the number of requests that do not wait.
func (c *Clients[R]) Tries() int { return c.tries }

// Empty reports whether nothing is left of any client.
func (c *Clients[R]) Empty() bool {
	t := c.table
	return len(c.requests)+len(c.withheld)+len(c.news)+len(c.scratch)+t.Holds()+t.Waiters()+t.Names()+t.Sessions() == 0
}

// Counts returns the clients' part of a condition: locks, waiters, sessions and awaited answers.
func (c *Clients[R]) Counts(now protocol.Time) *protocol.Condition {
	n := &protocol.Condition{
		Until: protocol.Never, Locks: c.table.Names() + c.namesInGrace(now), Waiters: c.table.Waiters(), Sessions: c.table.Sessions(),
	}
	if n.Waiters == 0 {
		return n
	}
	for peer := range c.standing.Others() {
		a := protocol.Awaited{Member: c.standing.Self, Reply: peer.ID}
		//tidy:unordered they are counted
		for _, r := range c.requests {
			if !r.Requested().Held && c.protocol.Awaits(r, peer.ID) {
				a.Requests++
			}
		}
		if a.Requests > 0 {
			n.Awaited = append(n.Awaited, a)
		}
	}
	return n
}

// Describe begins the space's condition, as far as it follows from the view. If the member has a place in one, the
// protocol adds the state and the deciding members.
func (c *Clients[R]) Describe(counts *protocol.Condition) (d *protocol.Condition, stands bool) {
	d = &protocol.Condition{
		State: protocol.Unavailable, Until: protocol.Never, Class: holdfast.Fenced, Closed: c.instance.Closed(),
		Locks: counts.Locks, Waiters: counts.Waiters, Sessions: counts.Sessions,
		Awaited: counts.Awaited,
	}
	switch s := c.standing; {
	case s.View == nil:
		d.Why = "there is no view yet"
	case s.Halted:
		d.Why = "a coordinator is being elected"
	case !s.Admitted():
		d.Why = "this member's lease has run out, and it is not admitted again yet"
	default:
		d.Reign = s.View.Epoch.Counter
		return d, true
	}
	return d, false
}

// drop ends a request, in any state.
func (c *Clients[R]) drop(own R) {
	r := own.Requested()
	r.Dropped = true
	if r.Try {
		c.tries--
	}
	delete(c.requests, r.Key)
	c.protocol.Ended(own)
}
