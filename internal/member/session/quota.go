package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Quota is how much of this member the sessions of one owner may use together. A field that is 0 has no bound.
type Quota struct {
	Sessions int // sessions, with those being opened
	Locks    int // locks held and asked for, in all spaces
	Waiters  int // requests without a grant, in all spaces
	PerName  int // waiting requests for one name of a space
}

// Owner is the client or the group of clients to which a session is charged, with its quota. The zero value is charged
// nothing.
type Owner struct {
	Name  string // the verified subject of the client, or its address
	Quota Quota
}

// The names of the quotas, in errors and metrics.
const (
	QuotaSessions = "quota_sessions"
	QuotaLocks    = "quota_locks"
	QuotaWaiters  = "quota_waiters"
)

// OverQuota is an ErrLimit: an owner has all that its quota allows. Releases, cancels and renewals are never refused
// with it.
type OverQuota struct {
	Owner string
	Limit string // one of the quotas' names
	Most  int
	Name  string // the name that too many requests of the owner wait for; "" if the whole quota is used
}

// Error says whose quota is used up, and which key changes it.
func (e *OverQuota) Error() string {
	const change = "under quotas in the access file"
	switch {
	case e.Limit == QuotaSessions:
		return fmt.Sprintf("%s has %d sessions at this member, which is its quota; end some, or set sessions for it %s", e.Owner, e.Most, change)
	case e.Limit == QuotaLocks:
		return fmt.Sprintf("%s has %d locks at this member, with those that it asks for, which is its quota; release some, or set locks for it %s",
			e.Owner, e.Most, change)
	case e.Name != "":
		return fmt.Sprintf("%s has %d waiting requests for this name, which is the most for one caller; wait for fewer, or set limits.waiters_per_name to more",
			e.Owner, e.Most)
	}
	return fmt.Sprintf("%s has %d waiting requests at this member, which is its quota; wait for fewer, or set waiters for it %s", e.Owner, e.Most, change)
}

// Unwrap returns the limit as a *holdfast.LimitError.
func (e *OverQuota) Unwrap() error { return &holdfast.LimitError{Limit: e.Limit, Value: int64(e.Most)} }

// usage is what the sessions of one owner use here.
type usage struct {
	owner    string
	quota    Quota
	sessions int
	opening  int // that wait for the horizon
	locks    int // held
	asked    int // requests without a grant
	waiting  map[nameKey]int
}

// bill is what a session is charged to its owner.
type bill struct {
	owner        *usage         // nil if the session is charged to none
	uses         map[useKey]use // the requests that are charged
	locks, asked int            // of those: held, and without a grant
	recount      protocol.Time  // when the spaces may be asked for them again
}

// nameKey is a name of a space.
type nameKey struct {
	port protocol.Port
	name string
}

// useKey identifies a request of a session, as lock tables do.
type useKey struct {
	port    protocol.Port
	request uint64
	name    string
}

// use is a request that is charged to its session's owner.
type use struct {
	call  protocol.CallID // the call that made it
	state useState
	again bool           // it was repeated
	token holdfast.Token // while it holds
}

type useState uint8

const (
	useAsked  useState = iota // it was passed on
	useWaits                  // its space has it in a queue
	useHolds                  // it was granted
	recountIn = 10 * time.Second
)

// over returns why an owner may open no further session; nil if it may.
func (m *Machine) over(o *Owner) error {
	u := m.owners[o.Name]
	if u == nil || protocol.Mutated("an owner stays within its quota") {
		return nil
	}
	u.quota = o.Quota
	if most := o.Quota.Sessions; most > 0 && u.sessions+u.opening >= most {
		return &OverQuota{Owner: o.Name, Limit: QuotaSessions, Most: most}
	}
	return nil
}

// usageOf returns what an owner uses; nil for the owner that is charged nothing.
func (m *Machine) usageOf(o *Owner) *usage {
	if o.Name == "" {
		return nil
	}
	u := m.owners[o.Name]
	if u == nil {
		u = &usage{owner: o.Name}
		m.owners[o.Name] = u
	}
	u.quota = o.Quota
	return u
}

// charge charges a session to its owner.
func (m *Machine) charge(p *presence, o *Owner) {
	if p.bill.owner = m.usageOf(o); p.bill.owner != nil {
		p.bill.owner.sessions++
	}
}

// chargeOpening counts a session that waits for the horizon, or does so no longer.
func (m *Machine) chargeOpening(o *Owner, by int) {
	if u := m.usageOf(o); u != nil {
		u.opening += by
		m.forgetIdle(u)
	}
}

// discharge ends the charges of a session that has ended.
func (m *Machine) discharge(p *presence) {
	u := p.bill.owner
	if u == nil {
		return
	}
	//tidy:unordered each is subtracted
	for key, one := range p.bill.uses {
		p.count(key, one.state, -1)
	}
	p.bill.uses, p.bill.owner = nil, nil
	u.sessions--
	m.forgetIdle(u)
}

// forgetIdle forgets an owner without a session.
func (m *Machine) forgetIdle(u *usage) {
	if u.sessions == 0 && u.opening == 0 {
		delete(m.owners, u.owner)
	}
}

// count adds a use in a state to those of the session and of its owner, or subtracts it.
func (p *presence) count(key useKey, state useState, by int) {
	u := p.bill.owner
	if state == useHolds {
		p.bill.locks += by
		u.locks += by
		return
	}
	p.bill.asked += by
	u.asked += by
	if state != useWaits {
		return
	}
	at := nameKey{key.port, key.name}
	if u.waiting == nil {
		u.waiting = map[nameKey]int{}
	}
	if u.waiting[at] += by; u.waiting[at] == 0 {
		delete(u.waiting, at)
	}
}

// exceeds charges a request to the owner of its session, and reports whether it was refused because of that. A
// repetition is charged nothing.
func (m *Machine) exceeds(now protocol.Time, p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) bool {
	if p.bill.owner == nil {
		return false
	}
	key := useKey{ev.Port, r.ID, r.Name}
	if known, is := p.bill.uses[key]; is {
		known.call, known.again = ev.Call, true
		p.bill.uses[key] = known
		return false
	}
	err := p.bill.owner.refusal(key)
	if err != nil && now >= p.bill.recount {
		m.recountUses(now, p, out)
		err = p.bill.owner.refusal(key)
	}
	if err != nil && !protocol.Mutated("an owner stays within its quota") {
		m.refuse(ev.Call, r.Session, r.ID, r.Name, err, out)
		out.Replies[len(out.Replies)-1].Port = ev.Port
		return true
	}
	if p.bill.uses == nil {
		p.bill.uses = map[useKey]use{}
	}
	p.bill.uses[key] = use{call: ev.Call}
	p.count(key, useAsked, 1)
	return false
}

// refusal returns why an owner may make no further request for a name; nil if it may.
func (u *usage) refusal(key useKey) error {
	q := &u.quota
	switch {
	case q.Locks > 0 && u.locks+u.asked >= q.Locks:
		return &OverQuota{Owner: u.owner, Limit: QuotaLocks, Most: q.Locks}
	case q.Waiters > 0 && u.asked >= q.Waiters:
		return &OverQuota{Owner: u.owner, Limit: QuotaWaiters, Most: q.Waiters}
	case q.PerName > 0 && len(u.waiting) > 0 && u.waiting[nameKey{key.port, key.name}] >= q.PerName:
		return &OverQuota{Owner: u.owner, Limit: QuotaWaiters, Most: q.PerName, Name: key.name}
	}
	return nil
}

// track follows the requests of a session by the decisions about them. A refusal may be the answer to another call about
// a request, a new hold limit for instance, and then ends nothing; unless it says that the hold is not there: a release
// that meets the end of a hold limit is answered so, and nothing else reports that end.
func (p *presence) track(reply *protocol.Reply) {
	d := &reply.Decision
	key := useKey{reply.Port, d.Request, d.Name}
	known, is := p.bill.uses[key]
	var state useState
	switch d.Kind {
	case lock.Granted:
		state = useHolds
	case lock.Queued:
		state = useWaits
	case lock.Refused:
		gone := known.token != 0 && d.Token == known.token && errors.Is(d.Err, holdfast.ErrNotHeld)
		if called := reply.To; called.Sink != 0 && !gone && (called != known.call || known.again || known.state == useHolds) {
			return
		}
		p.drop(key)
		return
	case lock.Released, lock.Lost:
		if !protocol.Mutated("what has ended is not charged") {
			p.drop(key)
		}
		return
	default:
		return
	}
	if is && state == known.state || !is && reply.To.Sink != 0 { // the latter answers another call about what has ended
		return
	}
	if is {
		p.count(key, known.state, -1)
	} else if p.bill.uses == nil {
		p.bill.uses = map[useKey]use{}
	}
	known.state, known.token = state, d.Token
	p.bill.uses[key] = known
	p.count(key, state, 1)
}

// drop ends the charge of a request that has ended.
func (p *presence) drop(key useKey) {
	if known, is := p.bill.uses[key]; is {
		delete(p.bill.uses, key)
		p.count(key, known.state, -1)
	}
}

// recountUses asks the spaces what a session has there. Its requests may have ended through other members, or have been
// made there.
func (m *Machine) recountUses(now protocol.Time, p *presence, out *protocol.Effects) {
	if p == nil || p.bill.owner == nil {
		return
	}
	p.bill.recount = now + recountIn
	before := p.bill.uses
	//tidy:unordered each is subtracted
	for key, known := range before {
		p.count(key, known.state, -1)
	}
	p.bill.uses = map[useKey]use{}
	keep := func(key useKey, state useState, token holdfast.Token) {
		if _, twice := p.bill.uses[key]; twice {
			return
		}
		known := before[key]
		known.state, known.token = state, token
		p.bill.uses[key] = known
		p.count(key, state, 1)
	}
	for _, e := range p.entries {
		keep(e.use(), useAsked, 0)
	}
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		for _, r := range m.requestsOf(now, p, port, out) {
			state := useHolds
			if r.Token == 0 {
				state = useWaits
			}
			keep(useKey{port, r.ID, r.Name}, state, r.Token)
		}
	}
}

type (
	// Allot changes the quotas of owners, because the policy has changed. Owners without a session here are left out.
	// There is no answer.
	Allot struct{ Owners []Owner }

	// Usage asks what owners use. The answer is a *Used.
	Usage struct {
		Most int // how many owners are listed, the largest shares first; 0 means all
	}
	// Used answers Usage.
	Used struct {
		Owners []Use    // the largest share of a quota first, then by name
		Shares [3]Share // the largest of each quota: sessions, locks, waiters
	}
)

// Use is what one owner uses, with its quota.
type Use struct {
	Owner
	Sessions, Locks, Waiters int
}

// Share is the part of a quota that is used, from 0 to 1, and whose.
type Share struct {
	Owner string
	Part  float64
}

// shares returns the parts of the quotas that an owner uses.
func (u *usage) shares() (parts [3]float64) {
	for i, one := range [...][2]int{{u.sessions + u.opening, u.quota.Sessions}, {u.locks + u.asked, u.quota.Locks}, {u.asked, u.quota.Waiters}} {
		if one[1] > 0 {
			parts[i] = float64(one[0]) / float64(one[1])
		}
	}
	return parts
}

func (m *Machine) onAllot(allot *Allot) {
	for i := range allot.Owners {
		if u := m.owners[allot.Owners[i].Name]; u != nil {
			u.quota = allot.Owners[i].Quota
		}
	}
}

func (m *Machine) onUsage(call protocol.CallID, usage *Usage, out *protocol.Effects) {
	used := &Used{}
	largest := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(m.owners)) {
		u := m.owners[name]
		parts := u.shares()
		for i, part := range parts {
			if part > used.Shares[i].Part {
				used.Shares[i] = Share{name, part}
			}
		}
		largest[name] = slices.Max(parts[:])
		used.Owners = append(used.Owners, Use{Owner{name, u.quota}, u.sessions + u.opening, u.locks, u.asked})
	}
	slices.SortStableFunc(used.Owners, func(a, b Use) int {
		return cmp.Or(cmp.Compare(largest[b.Name], largest[a.Name]), cmp.Compare(b.Sessions+b.Locks+b.Waiters, a.Sessions+a.Locks+a.Waiters))
	})
	if usage.Most > 0 {
		used.Owners = used.Owners[:min(usage.Most, len(used.Owners))]
	}
	out.Reply(call, used)
}
