package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// judge compares the answers to users with the promises. It sees the run from the holders' side: a grant lives from its
// arrival at the holder until the holder's own clock, its unlock or the report of a loss ends it. The judge knows no
// table and no machine.
type judge struct {
	clock          func() instant
	names          map[string]*record
	requests       map[requestKey]*fate
	left           int                       // requests kept at the last cleanup
	clientRequests map[requestKey]requestKey // by the number under which a member asks
	limits         map[string]int64          // the configured bounds
	users          map[lock.SessionID]*usage // the clients of each session, in order
	sides          *sides                    // in partition mode any; nil in mode primary
	loose          bool                      // tokens of shared modes are not ordered,
	turns          bool                      // except against exclusive locks
	lost           int                       // locks that were not ended by their holders
	losses         map[holdfast.Loss]int     // of those, by reason
	survivors      survivors
	tenants        map[tenant]*having // nil in the cases that judge_freed.go lists
	lease          time.Duration      // of the members
	succeeded      instant            // when an authority changed last
	values         values
	histories      *histories // nil if they are not recorded
	violation      *Violation // the first
	reporter       *reporter  // nil if the run is not observed
}

// Violation is a broken promise.
type Violation struct {
	Promise string // P1 … P12
	At      instant
	Detail  string // the observation, in a sentence
}

func (v *Violation) String() string { return fmt.Sprintf("%s at %v: %s", v.Promise, v.At, v.Detail) }

// believer reports whether a holder believes at an instant that it holds.
type believer interface{ believesAt(instant) bool }

// grant is one acquisition as its holder knows it.
type grant struct {
	name     string
	mode     holdfast.Mode
	units    int
	capacity int
	token    holdfast.Token
	session  lock.SessionID
	request  uint64
	who      fmt.Stringer
	holder   believer
	origin   origin // in partition mode any
}

// grantIn returns the grant of a decision.
func grantIn(d *lock.Decision, who fmt.Stringer) grant {
	return grant{name: d.Name, mode: d.Mode, units: d.Units, capacity: d.Capacity, token: d.Token, session: d.Session, request: d.Request, who: who}
}

func (g *grant) String() string {
	return fmt.Sprintf("%v holds %q %v, token %d of session %v", g.who, g.name, g.mode, g.token, g.session)
}

// record is the judge's knowledge of a name.
type record struct {
	holders []grant
	highest [3]issued // by mode
	queue   []place
	passed  []passing
	recent  [16]issued // the latest grants
	grants  int
	given   [16]gift // the latest grants that an authority has announced to a member
	gifts   int

	reigns  map[protocol.Epoch]*[3]issued // highest, in partition mode any
	through []passage                     // by member, in partition mode any
}

// gift is a grant that an authority has announced to a member, with the time of the first announcement.
type gift struct {
	token   holdfast.Token
	request requestKey
	at      instant
}

// passage is the latest token of an exclusive grant that a member has reported.
type passage struct {
	member uint64
	token  holdfast.Token
}

// issued is a token and the session that got it.
type issued struct {
	token   holdfast.Token
	session lock.SessionID
}

// requestKey is the permanent name of a request.
type requestKey struct {
	session lock.SessionID
	id      uint64
}

// fate is the state of a request.
type fate struct {
	since  instant // when it was first heard of
	sentAt instant // when its client sent it first
	token  holdfast.Token
	gone   bool // its client knows that it is released
	lent   bool // its member grants it without the authority
	origin
}

func newJudge(clock func() instant) *judge {
	return &judge{clock: clock, names: map[string]*record{}, requests: map[requestKey]*fate{}, clientRequests: map[requestKey]requestKey{}, users: map[lock.SessionID]*usage{}, limits: map[string]int64{}, losses: map[holdfast.Loss]int{}}
}

// violate records the first broken promise.
func (j *judge) violate(promise, format string, arguments ...any) {
	if j.violation == nil {
		j.violation = &Violation{Promise: promise, At: j.clock(), Detail: fmt.Sprintf(format, arguments...)}
		j.reporter.violated(promise, j.violation.Detail, arguments)
	}
}

func (j *judge) record(name string) *record {
	r := j.names[name]
	if r == nil {
		r = &record{}
		j.names[name] = r
	}
	return r
}

// noteHolder is called when a holder starts to believe. All other believers at this instant must be compatible (P1),
// and incompatible grants must have had lower tokens (P2).
func (j *judge) noteHolder(g grant) {
	j.histories.grant(&g)
	r := j.record(g.name)
	r.prune(j.clock())
	j.reporter.granted(&g)
	g.origin = j.fate(requestKey{g.session, g.request}).origin
	for i := range r.holders {
		h := &r.holders[i]
		if j.clash(r, h, &g) {
			if !j.keptFor(h, &g) {
				j.violate("P1", "%v; and %v", h, &g)
			}
			return
		}
	}
	j.rises(r, &g)
	r.holders = append(r.holders, g)
	j.acts(requestKey{g.session, g.request}, &g)
}

// rises checks P2 for a grant that has reached its user: its token exceeds those of all incompatible grants. Reentry
// repeats the token of the entered grant.
func (j *judge) rises(r *record, g *grant) {
	for i := range r.holders {
		if r.holders[i].same(g) {
			return
		}
	}
	if j.sides != nil {
		j.sides.rises(j, r, g)
		return
	}
	j.above(&r.highest, g)
	for i := range r.holders {
		if h := &r.holders[i]; h.token == g.token {
			j.violate("P2", "%v; and %v, under one token", h, g)
		}
	}
	if g.token > r.highest[g.mode].token {
		r.highest[g.mode] = issued{g.token, g.session}
	}
}

// above checks that a grant's token exceeds those of all incompatible grants.
func (j *judge) above(all *[3]issued, g *grant) {
	for mode, highest := range all {
		again := highest == issued{g.token, g.session}
		compatible := holdfast.Mode(mode) == g.mode && g.mode != holdfast.ModeExclusive
		if g.token <= highest.token && !compatible && !again {
			j.violate("P2", "%v, after token %d of a %v grant", g, highest.token, holdfast.Mode(mode))
		}
	}
}

// only is a copy of the record with some of its holders.
func (r *record) only(some func(*grant) bool) *record {
	subset := &record{}
	for i := range r.holders {
		if some(&r.holders[i]) {
			subset.holders = append(subset.holders, r.holders[i])
		}
	}
	return subset
}

// clash reports whether g and h may not be held at the same time: they exclude each other, and were not granted on
// separate sides of a partition.
func (j *judge) clash(r *record, h, g *grant) bool {
	if j.sides != nil {
		if j.sides.apart(h, g) {
			return false
		}
		r = r.only(func(o *grant) bool { return !j.sides.apart(o, g) })
	}
	return !h.same(g) && !r.fits(g, h)
}

// prune drops holders that no longer believe.
func (r *record) prune(now instant) {
	r.holders = slices.DeleteFunc(r.holders, func(h grant) bool { return !h.holder.believesAt(now) })
}

// same reports whether two holds are of one grant: by reentry, or by the same request.
func (g *grant) same(h *grant) bool { return g.token == h.token && g.session == h.session }

// fits reports whether g is compatible with h, and with all others of the name.
func (r *record) fits(g, h *grant) bool {
	switch {
	case g.mode == holdfast.ModeShared:
		return h.mode == holdfast.ModeShared
	case g.mode != holdfast.ModeSlots || h.mode != holdfast.ModeSlots || g.capacity != h.capacity:
		return false
	}
	units := g.units
	for i := range r.holders {
		if other := &r.holders[i]; !other.same(g) && r.first(i) {
			units += other.units
		}
	}
	return units <= g.capacity
}

// first reports whether holder i is the first hold of its grant, whose units count once.
func (r *record) first(i int) bool {
	for before := range i {
		if r.holders[before].same(&r.holders[i]) {
			return false
		}
	}
	return true
}

// late reports whether a grant is old: its session was granted it before, and another session got a later one since. A
// lagging member of protocol consensus may answer so a call that was repeated elsewhere. A user that believes in such a
// grant breaks P1 or P2.
func (r *record) late(g *grant) bool {
	return slices.Contains(r.recent[:], issued{g.token, g.session}) &&
		slices.ContainsFunc(r.recent[:], func(t issued) bool { return t.token > g.token && t.session != g.session })
}

// granting is called when a member reports a grant, before its client can know it. By then every incompatible holder
// must know of its loss (P3).
func (j *judge) granting(g grant) {
	r := j.record(g.name)
	r.prune(j.clock())
	late := r.late(&g)
	for i := range r.holders {
		h := &r.holders[i]
		if !late && j.clash(r, h, &g) {
			if j.keptFor(h, &g) {
				return
			}
			j.violate("P3", "%v, and knows of no loss when the name is granted to session %v under token %d", h, g.session, g.token)
			return
		}
	}
	j.overtakes(r, &g)
	j.acts(requestKey{g.session, g.request}, &g)
}

// decision is called with every decision of a member about a request; op is the client's operation that it answers.
func (j *judge) decision(who fmt.Stringer, op edge.Call, key requestKey, d *lock.Decision) {
	if j.tenants != nil {
		j.refusedTry(d)
		j.quits(op, d)
	}
	switch {
	case d.Kind == lock.Granted && op != edge.CallExtend:
		g := grantIn(d, who)
		if j.sides != nil {
			g.origin = j.sides.origin(d.Session, uint64(d.Token)>>32)
		}
		j.granting(g)
	case d.Kind == lock.Released && (op == edge.CallRelease || op == edge.CallCancel):
		j.released(key)
		j.leaves(d.Name, key)
	case d.Kind == lock.Lost:
		// A client that has not heard of the grant asks again under the same id, which is allowed.
		f := j.fate(key)
		f.token = 0
		j.leaves(d.Name, key)
	case d.Kind == lock.Refused && op == edge.CallRequest, d.Kind == lock.Released:
		j.leaves(d.Name, key)
	}
}

// acts checks P6: a request acts once, and not after it was finally given up.
func (j *judge) acts(key requestKey, g *grant) {
	f := j.fate(key)
	switch {
	case f.gone:
		j.violate("P6", "request %d of session %v was reported released, and is granted again under token %d", key.id, key.session, g.token)
	case f.token != 0 && f.token != g.token:
		j.violate("P6", "request %d of session %v acts twice, under tokens %d and %d", key.id, key.session, f.token, g.token)
	}
	if f.token != g.token {
		f.token, f.origin = g.token, g.origin
	}
}

func (j *judge) fate(key requestKey) *fate {
	f := j.requests[key]
	if f == nil {
		j.forget()
		f = &fate{since: j.clock()}
		j.requests[key] = f
	}
	return f
}

// remembered is how long a request is tracked in longer runs, from the first sign of it. No request or message about it
// is in flight for nearly as long.
const (
	remembered = time.Hour
	forgetAt   = 1 << 14 // requests; runs of a minute have fewer
)

// forget drops expired entries once their number has doubled since the last cleanup: this bounds the memory of a run of
// any length.
func (j *judge) forget() {
	if len(j.requests) < max(2*j.left, forgetAt) {
		return
	}
	past := j.clock() - remembered
	//tidy:unordered each is dropped or kept on its own
	maps.DeleteFunc(j.requests, func(_ requestKey, f *fate) bool { return f.since < past })
	//tidy:unordered each is dropped or kept on its own
	maps.DeleteFunc(j.clientRequests, func(_, of requestKey) bool { return j.requests[of] == nil })
	//tidy:unordered each is dropped or kept on its own
	maps.DeleteFunc(j.tenants, func(_ tenant, t *having) bool { return len(t.open) == 0 && t.freed < past })
	j.left = len(j.requests)
	//tidy:unordered each name has a separate queue
	for _, r := range j.names {
		r.queue = slices.DeleteFunc(r.queue, func(p place) bool { return p.since < past })
		r.passed = slices.DeleteFunc(r.passed, func(p passing) bool { return p.sentAt < past })
	}
	if j.sides != nil {
		j.sides.forget(j)
	}
}

// released is called when a member reports that a request was given up for its client.
func (j *judge) released(key requestKey) { j.fate(key).gone = true }

// ended is called when a holder stops believing for any reason except the clock.
func (j *judge) ended(g grant, why holdfast.Loss) {
	j.reporter.dropped(&g, why)
	if why != "" {
		j.lost++
		j.losses[why]++
	}
	j.survivors.ended(&g, why)
	j.histories.ended(&g, why)
	r := j.record(g.name)
	for i := range r.holders {
		if h := &r.holders[i]; h.holder == g.holder {
			r.holders = append(r.holders[:i], r.holders[i+1:]...)
			return
		}
	}
}

// unlockRefused is called when a single unlock of a lock that its holder believed in is refused as not held: then the
// grant ended without the holder's knowledge (P3). There are two exceptions: a hold limit may have ended the lock while
// the unlock was in flight, and a lock of a side that has met another side may have been a duplicate.
func (j *judge) unlockRefused(g grant, err error) {
	if g.origin = j.fate(requestKey{g.session, g.request}).origin; j.sides != nil && !j.sides.follows(&g, g.origin.reign) {
		return
	}
	j.violate("P3", "%v until it unlocks, and that is refused: %v", &g, err)
}

// foreignReleased is called when a session has released a grant of another one (P7).
func (j *judge) foreignReleased(name string, token holdfast.Token, by lock.SessionID) {
	j.violate("P7", "session %v has released %q under token %d, which is not its own", by, name, token)
}

// limited checks that a refusal because of a bound names a configured one, which applies to the client (P8).
func (j *judge) limited(c *client, err error) {
	limit, is := errors.AsType[*holdfast.LimitError](err)
	if !is {
		return
	}
	if limit.Limit == session.QuotaLocks && c.owner().Name == "" {
		j.violate("P8", "%s is refused because of %s, and has no quota", c, limit.Limit)
	}
	if value, known := j.limits[limit.Limit]; !known || value != limit.Value {
		j.violate("P8", "refused because of limit %s of %d; configured are %v", limit.Limit, limit.Value, j.limits)
	}
}

// refusedWrite is called when the register refuses a write of a client that holds the name exclusively at this instant:
// a lower token was granted after a higher one (P2).
func (j *judge) refusedWrite(g grant, seen holdfast.Token) {
	if j.sides != nil {
		return // a holder of another side has written
	}
	j.violate("P2", "%v, and its write is refused because token %d was seen", &g, seen)
}
