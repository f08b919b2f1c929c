package local

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is what a member's clients, and its operators, may do.
type Config struct {
	// Protocol is the protocol's name, for people. Required.
	Protocol string
	// Table bounds what this member's own clients may ask for; the zero value has the table's
	// defaults.
	Table lock.Config
	// Patience is how long an answer is waited for before a message is repeated. Required.
	Patience time.Duration
	// Answers is for how many patiences the answers to a request are waited for that does not
	// want to wait at all. Zero means 2.
	Answers int
	// Operators is how many calls of operators may wait for others' answers. Required.
	Operators int
}

// Protocol is what a protocol does about the requests of this member's clients, each of which
// it keeps as an R. It is called within a step, and what it does to Clients meanwhile is seen
// at once.
type Protocol[R Own] interface {
	// Ready reports whether the members can be asked for anything now. While they cannot, who
	// does not want to wait is refused at once, because of that.
	Ready() bool
	// Refusal says why a request is not taken at all, or nil. That its session is another
	// member's, that the space is closed, or that it asks for all of it, is found before.
	Refusal(*lock.Request) error
	// Keep makes what is kept of a request that the table has queued.
	Keep(Request) R
	// Enroll begins that request.
	Enroll(protocol.Time, R, *protocol.Effects)
	// Ended forgets a request, whether it has waited or held; it is Dropped already.
	Ended(R)
	// Named lists at least those requests for a name that hold.
	Named(name string) []R
	// Explain says why a request was not granted before its wait limit: err, or an error that
	// tells more than the table knows. It is asked only where the table knows of no holder.
	Explain(now protocol.Time, r R, err error) error
	// Knows reports whether it is known of a request that waits that it has to, and
	// behind which others here: then its client gets its place. Else the client gets that
	// when it is known ([Clients.LetWait]).
	Knows(R) bool
	// Awaits reports whether a request waits for what a peer says, for people.
	Awaits(r R, peer protocol.ID) bool
	// Withhold reports whether others still know of a hold that its client has just released, and
	// is Ended. Then [Clients.NotifyReleased] answers its client, when they do not any more:
	// what is reported free can be had by any client.
	Withhold(R) bool
	// Settled reports whether all that this member's clients have given up was
	// sent to others: then a space that is closed here is (protocol.CloseSpace).
	Settled() bool
	// Graces lists the holds that have ended and whose names stay taken for a while, of this member's
	// clients and of those that no other member speaks for.
	Graces(protocol.Time) []Grace
	// Condition says how the space is, with what its clients have ([Clients.Counts]). [Clients.Describe] begins it.
	Condition(now protocol.Time, counts *protocol.Condition) *protocol.Condition
}

// Clients are those of one member, with the table of what they hold and want, and of no others.
// Its methods are called within the steps of one machine, which ends each step by Conclude.
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

// New makes the clients of a member that stands nowhere yet, so nothing is granted: see Resume.
// The error names the field of the table's bounds that is wrong.
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

// Tick ends what has come to its limit in time.
func (c *Clients[R]) Tick(now protocol.Time, out *protocol.Effects) {
	c.table.Tick(now, &c.scratch)
	c.publish(now, out)
}

// Pause says that nothing can be granted: new requests are answered so, and those that wait go on waiting.
func (c *Clients[R]) Pause() { c.table.Pause() }

// Resume says that something can be: who did not want to wait but for that hears of holders.
func (c *Clients[R]) Resume(now protocol.Time, out *protocol.Effects) {
	c.table.Resume(now, &c.scratch)
	c.publish(now, out)
}

// Permit grants a request that waits, under a token above those of all other grants of its
// name here. It must be compatible with what is held here. Other requests of its owner
// enter that grant, and are Ended.
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

// Revoke tells the client of a request that holds to stop using it: the hold ends when it says
// that it has, or with its session.
func (c *Clients[R]) Revoke(now protocol.Time, own R, why holdfast.Loss, out *protocol.Effects) {
	r := own.Requested()
	c.table.Revoke(r.Key.Session, r.Key.Name, r.Token, why, &c.scratch)
	c.publish(now, out)
}

// End ends a request that holds, and tells why.
func (c *Clients[R]) End(now protocol.Time, own R, why holdfast.Loss, out *protocol.Effects) {
	r := own.Requested()
	its := func(name string, _ lock.SessionID, _ uint64, token holdfast.Token) bool {
		return name == r.Key.Name && token == r.Token
	}
	c.table.EndWhere(now, why, its, &c.scratch)
	c.publish(now, out)
}

// Lose ends all that is held, and tells why. What waits goes on waiting.
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

// Tries is how many requests there are that do not want to wait.
func (c *Clients[R]) Tries() int { return c.tries }

// Empty reports whether nothing is left of any client.
func (c *Clients[R]) Empty() bool {
	t := c.table
	return len(c.requests)+len(c.withheld)+len(c.news)+len(c.scratch)+t.Holds()+t.Waiters()+t.Names()+t.Sessions() == 0
}

// Counts is how much the clients have, and whose answers they wait for: the locks, waiters, sessions and what is awaited of
// a condition.
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

// Describe begins to say how the space is, as far as that lies in the view. Where the member
// stands in one, the protocol goes on, and says the state and who decides.
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
