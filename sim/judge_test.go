package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Each check gets histories that it must object to, and their closest valid variants.

// believesUntil believes until an instant.
type believesUntil instant

func (b believesUntil) believesAt(at instant) bool { return at < instant(b) }

// caller is the name of a caller.
type caller string

func (s caller) String() string { return string(s) }

// witness is a judge with a settable clock.
type witness struct {
	*judge
	now instant
}

func newWitness() *witness {
	h := &witness{}
	h.judge = newJudge(func() instant { return h.now })
	h.limits = map[string]int64{"waiters_per_name": 3}
	return h
}

// hold is a grant of "n" to session s with a token, believed forever unless changed.
func hold(s uint64, token holdfast.Token, change ...func(*grant)) grant {
	g := grant{
		name: "n", token: token, session: lock.SessionID{Member: 1, Number: s}, request: s,
		who: caller("user"), holder: believesUntil(time.Hour),
	}
	for _, c := range change {
		c(&g)
	}
	return g
}

func till(end instant) func(*grant) { return func(g *grant) { g.holder = believesUntil(end) } }
func shared(g *grant)               { g.mode = holdfast.ModeShared }
func under(id uint64) func(*grant) {
	return func(g *grant) { g.request = id }
}

func slots(units, capacity int) func(*grant) {
	return func(g *grant) { g.mode, g.units, g.capacity = holdfast.ModeSlots, units, capacity }
}

// passOn lets the first session hold the name, and then the second one.
func (h *witness) passOn() {
	first := hold(1, 1)
	h.granting(first)
	h.noteHolder(first)
	h.ended(first, "")
	h.granting(hold(2, 2))
	h.noteHolder(hold(2, 2))
}

// key names the request of session s.
func key(s uint64) requestKey { return requestKey{lock.SessionID{Member: 1, Number: s}, s} }

// at moves time.
func (h *witness) at(at instant) *witness { h.now = at; return h }

const reign = holdfast.Token(1) << 32

// scenario is a history, and the promise that it breaks: "" for none.
type scenario struct {
	promise string
	happens func(*witness)
}

func judgedAll(t *testing.T, histories map[string]scenario) {
	t.Helper()
	for name, tt := range histories {
		t.Run(name, func(t *testing.T) { judged(t, tt.promise, tt.happens) })
	}
}

func TestTheJudgeSeesOverlaps(t *testing.T) {
	judgedAll(t, map[string]scenario{
		"two exclusive holders": {"P1", func(h *witness) {
			h.noteHolder(hold(1, 1))
			h.noteHolder(hold(2, 2))
		}},
		"two exclusive holders, one after the other": {"", func(h *witness) {
			first := hold(1, 1)
			h.noteHolder(first)
			h.ended(first, "")
			h.noteHolder(hold(2, 2))
		}},
		"the first has ended by its own clock": {"", func(h *witness) {
			h.noteHolder(hold(1, 1, till(time.Second)))
			h.at(time.Second).noteHolder(hold(2, 2))
		}},
		"the first ends by its own clock too late": {"P1", func(h *witness) {
			h.noteHolder(hold(1, 1, till(time.Second)))
			h.at(time.Second - 1).noteHolder(hold(2, 2))
		}},
		"an exclusive holder among shared ones": {"P1", func(h *witness) {
			h.noteHolder(hold(1, 1, shared))
			h.noteHolder(hold(2, 2, shared))
			h.noteHolder(hold(3, 3))
		}},
		"shared holders": {"", func(h *witness) {
			h.noteHolder(hold(1, 2, shared))
			h.noteHolder(hold(2, 1, shared))
		}},
		"too many units": {"P1", func(h *witness) {
			h.noteHolder(hold(1, 1, slots(2, 4)))
			h.noteHolder(hold(2, 2, slots(1, 4)))
			h.noteHolder(hold(3, 3, slots(2, 4)))
		}},
		"as many units as there are": {"", func(h *witness) {
			h.noteHolder(hold(1, 1, slots(2, 4)))
			h.noteHolder(hold(2, 2, slots(1, 4)))
			h.noteHolder(hold(3, 3, slots(1, 4)))
		}},
		"two capacities": {"P1", func(h *witness) {
			h.noteHolder(hold(1, 1, slots(1, 4)))
			h.noteHolder(hold(2, 2, slots(1, 5)))
		}},
		"reentry": {"", func(h *witness) {
			h.noteHolder(hold(1, 1))
			h.noteHolder(hold(1, 1, under(7)))
		}},
	})
}

func TestTheJudgeSeesTokensAndLosses(t *testing.T) {
	judgedAll(t, map[string]scenario{
		"a token goes back": {"P2", func(h *witness) {
			first := hold(1, 9)
			h.noteHolder(first)
			h.ended(first, "")
			h.noteHolder(hold(2, 8))
		}},
		"a token comes again": {"P2", func(h *witness) {
			first := hold(1, 9)
			h.noteHolder(first)
			h.ended(first, "")
			h.noteHolder(hold(2, 9))
		}},
		"two shared grants under one token": {"P2", func(h *witness) {
			h.noteHolder(hold(1, 9, shared))
			h.noteHolder(hold(2, 9, shared))
		}},
		"granted to the next while a holder believes": {"P3", func(h *witness) {
			h.noteHolder(hold(1, 1))
			h.granting(hold(2, 2))
		}},
		"granted again to the holder": {"", func(h *witness) {
			h.noteHolder(hold(1, 1))
			h.granting(hold(1, 1))
		}},
		"an answer that is late": {"", func(h *witness) {
			h.passOn()
			h.granting(hold(1, 1))
		}},
		"a late answer that is believed": {"P1", func(h *witness) {
			h.passOn()
			h.granting(hold(1, 1))
			h.noteHolder(hold(1, 1))
		}},
		"a late answer to a request that was released": {"P6", func(h *witness) {
			h.passOn()
			h.released(key(1))
			h.granting(hold(1, 1))
		}},
		"a former token for another session": {"P3", func(h *witness) {
			h.passOn()
			h.granting(hold(3, 1))
		}},
		"an unlock that is refused": {"P3", func(h *witness) {
			h.noteHolder(hold(1, 1))
			h.unlockRefused(hold(1, 1), holdfast.ErrNotHeld)
		}},
		"a live write that is refused": {"P2", func(h *witness) {
			g := register{judge: h.judge, highest: map[string]holdfast.Token{}}
			g.write(hold(1, 9))
			g.write(hold(2, 8))
		}},
		"a stale write that is refused": {"", func(h *witness) {
			g := register{judge: h.judge, highest: map[string]holdfast.Token{}}
			g.write(hold(1, 9))
			g.write(hold(2, 8, till(0)))
		}},
	})
}

func TestTheJudgeSeesWhatIsNotFree(t *testing.T) {
	refused := &lock.Decision{Kind: lock.Refused, Session: hold(2, 1).session, Request: 2, Name: "n", Err: &lock.HeldBy{Holder: hold(1, 1).session}}
	try := requestKey{refused.Session, refused.Request}
	// refusal is a hold that has ended in some way, and a try of another session that is refused because of it.
	refusal := func(h *witness, ended func()) {
		h.tenants, h.lease = map[tenant]*having{}, time.Second
		h.requested(key(1), caller("one"), wantedLock{name: "n"})
		h.now += instant(time.Minute)
		ended()
		h.now += instant(time.Second)
		h.requested(try, caller("two"), wantedLock{name: "n"})
		h.decision(caller("member"), edge.CallRequest, try, refused)
	}
	release := func(h *witness) {
		h.decision(caller("member"), edge.CallRelease, key(1), &lock.Decision{Kind: lock.Released, Session: key(1).session, Request: 1, Name: "n"})
	}
	judgedAll(t, map[string]scenario{
		"a try after an answered release": {"P4", func(h *witness) {
			refusal(h, func() { release(h) })
		}},
		"a try while another hold of the session is left": {"", func(h *witness) {
			refusal(h, func() {
				h.requested(requestKey{key(1).session, 3}, caller("one"), wantedLock{name: "n"})
				release(h)
			})
		}},
		"a try after a release that was not answered": {"", func(h *witness) {
			refusal(h, func() {})
		}},
		"a try after a release that was reported as lost": {"", func(h *witness) {
			refusal(h, func() {
				h.decision(caller("member"), edge.CallRequest, key(1), &lock.Decision{Kind: lock.Lost, Session: key(1).session, Request: 1, Name: "n"})
				release(h)
			})
		}},
		"a try while the authority before may refuse": {"", func(h *witness) {
			refusal(h, func() {
				release(h)
				h.succeeds()
			})
		}},
	})
}

func TestTheJudgeSeesWhatActsWrongly(t *testing.T) {
	judgedAll(t, map[string]scenario{
		"a request that acts twice": {"P6", func(h *witness) {
			first := hold(1, 1)
			h.noteHolder(first)
			h.ended(first, "")
			h.granting(hold(1, 2))
		}},
		"a request that comes back": {"P6", func(h *witness) {
			h.decision(caller("member"), edge.CallRelease, key(1), &lock.Decision{Kind: lock.Released, Name: "n"})
			h.granting(hold(1, 2))
		}},
		"a request that was lost before its client heard of it": {"", func(h *witness) {
			h.granting(hold(1, 1))
			h.decision(caller("member"), edge.CallRequest, key(1), &lock.Decision{Kind: lock.Lost, Name: "n"})
			h.granting(hold(1, 2))
		}},
		"a foreign unlock": {"P7", func(h *witness) {
			h.foreignReleased("n", 1, lock.SessionID{Member: 1, Number: 2})
		}},
		"a bound that is not configured": {"P8", func(h *witness) {
			h.limited(nil, &holdfast.LimitError{Limit: "waiters_per_name", Value: 4})
		}},
		"a quota of another client": {"P8", func(h *witness) {
			h.limits[session.QuotaLocks] = 2
			h.limited(&client{world: &world{settings: settings{quota: 2}}, number: 2}, &holdfast.LimitError{Limit: session.QuotaLocks, Value: 2})
		}},
		"a quota": {"", func(h *witness) {
			h.limits[session.QuotaLocks] = 2
			h.limited(&client{world: &world{settings: settings{quota: 2}}, number: 1, name: "client1"}, &holdfast.LimitError{Limit: session.QuotaLocks, Value: 2})
		}},
		"a bound": {"", func(h *witness) {
			h.limited(nil, &holdfast.LimitError{Limit: "waiters_per_name", Value: 3})
		}},
	})
}

// judged runs a history, and compares the verdict.
func judged(t *testing.T, promise string, happens func(*witness)) {
	t.Helper()
	h := newWitness()
	happens(h)
	judgedAs(t, h.judge, promise)
}

// judgedAs compares the verdict of a judge.
func judgedAs(t *testing.T, j *judge, promise string) {
	t.Helper()
	switch {
	case promise == "" && j.violation != nil:
		t.Errorf("it objects: %v", j.violation)
	case promise != "" && j.violation == nil:
		t.Errorf("it does not object, want %s", promise)
	case promise != "" && j.violation.Promise != promise:
		t.Errorf("it objects %v, want %s", j.violation, promise)
	}
}

// stand puts session 1 into the queue of reign 1, under wish 11, from 2 s on, and lets session 2 ask.
func stand(h *witness, asked2 instant) {
	h.requested(key(1), caller("user"), wantedLock{name: "n"})
	h.requestsOf("n", requestKey{key(1).session, 11}, key(1))
	h.at(2*time.Second).stands("n", requestKey{key(1).session, 11}, protocol.Epoch{Counter: 1})
	h.at(asked2).requested(key(2), caller("user"), wantedLock{name: "n"})
	h.at(5 * time.Second)
}

// TestTheJudgeSeesWhoOvertakes checks that a grant before an earlier request in the queue is a violation.
func TestTheJudgeSeesWhoOvertakes(t *testing.T) {
	judgedAll(t, map[string]scenario{
		"overtaken": {"P5", func(h *witness) {
			stand(h, 3*time.Second)
			second := hold(2, reign+1)
			h.granting(second)
			h.granting(hold(1, reign+2))
		}},
		"in order": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(1, reign+1))
			h.granting(hold(2, reign+2))
		}},
		"members hear of it out of order": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+2, shared))
			h.granting(hold(1, reign+1, shared))
		}},
		"it asked before": {"", func(h *witness) {
			stand(h, time.Second)
			h.granting(hold(2, reign+1))
			h.granting(hold(1, reign+2))
		}},
		"entering what was granted before": {"", func(h *witness) {
			h.gives("n", reign+2, requestKey{key(2).session, 11})
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+2))
			h.granting(hold(1, reign+3))
		}},
		"asked for anew by another wish": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.requestsOf("n", requestKey{key(1).session, 12}, key(1))
			h.stands("n", requestKey{key(1).session, 12}, protocol.Epoch{Counter: 1})
			h.granting(hold(2, reign+1))
			h.granting(hold(1, reign+2))
		}},
		"granted by another wish, of which the authority that was its member knows": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1))
			h.gives("n", reign+2, requestKey{key(1).session, 12})
			h.granting(hold(1, reign+2))
		}},
		"granted by the wish by which it stands": {"P5", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1))
			h.gives("n", reign+2, requestKey{key(1).session, 11})
			h.granting(hold(1, reign+2))
		}},
		"another reign": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(2, 2*reign+1))
			h.granting(hold(1, 2*reign+2))
		}},
		"its member's tenure has ended meanwhile": {"", func(h *witness) {
			stand(h, 3*time.Second)
			h.lapsed(1)
			h.granting(hold(2, reign+1))
			h.granting(hold(1, reign+2))
		}},
		"an owner who enters what it holds overtakes no request": {"", func(h *witness) {
			first := hold(2, reign+1)
			h.granting(first)
			h.noteHolder(first)
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1, under(9)))
			h.ended(first, "")
			h.granting(hold(1, reign+2))
		}},
	})
}

// TestTheJudgeOrdersExclusiveLocksAlone checks that only exclusive locks are ordered if tokens of others are not.
func TestTheJudgeOrdersExclusiveLocksAlone(t *testing.T) {
	judgedAll(t, map[string]scenario{
		"an exclusive one overtakes": {"P5", func(h *witness) {
			h.loose = true
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1))
			h.granting(hold(1, reign+2))
		}},
		"a shared one overtakes": {"", func(h *witness) {
			h.loose = true
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1, shared))
			h.granting(hold(1, reign+2))
		}},
		"a shared one overtakes, where all tokens order": {"P5", func(h *witness) {
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1, shared))
			h.granting(hold(1, reign+2))
		}},
	})
}

// TestTheJudgeOrdersWhatExcludesEachOther checks that conflicting requests are granted in order, and that compatible
// ones need not be.
func TestTheJudgeOrdersWhatExcludesEachOther(t *testing.T) {
	passes := func(first, second func(*grant)) func(*witness) {
		return func(h *witness) {
			h.loose, h.turns = true, true
			stand(h, 3*time.Second)
			h.granting(hold(2, reign+1, second))
			h.granting(hold(1, reign+2, first))
		}
	}
	exclusive := func(*grant) {}
	judgedAll(t, map[string]scenario{
		"an exclusive one overtakes an exclusive one": {"P5", passes(exclusive, exclusive)},
		"a shared one overtakes an exclusive one":     {"P5", passes(exclusive, shared)},
		"an exclusive one overtakes a shared one":     {"P5", passes(shared, exclusive)},
		"a shared one overtakes a shared one":         {"", passes(shared, shared)},
	})
}

// TestTheJudgeKeepsTheFirst checks that the judge keeps the first violation, which is the one to explain.
func TestTheJudgeKeepsTheFirst(t *testing.T) {
	h := newWitness()
	h.at(time.Second).violate("P1", "first")
	h.at(2*time.Second).violate("P2", "second")
	if text := h.violation.String(); text != "P1 at 1s: first" {
		t.Error(text)
	}
}

// TestSurvivors counts the holders that lost a lock to a crash.
func TestSurvivors(t *testing.T) {
	for why, kept := range map[holdfast.Loss]int{"": 1, holdfast.HoldLimit: 1, holdfast.SessionExpired: 0, holdfast.MemberLost: 0} {
		h := newWitness()
		g := hold(1, 1)
		h.noteHolder(g)
		if h.survivors.holders = h.holdersElsewhere(1); len(h.survivors.holders) != 0 {
			t.Error("who holds through the member that crashes is no survivor")
		}
		h.survivors.holders = h.holdersElsewhere(2)
		h.ended(g, why)
		if got := h.survival(); got != (Survival{Crashes: 1, Kept: kept}) {
			t.Errorf("a lock that ended by %q: %+v", why, got)
		}
	}
}

func TestAllPromisesAreChecked(t *testing.T) {
	text := doc(t)
	for _, promise := range []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P10"} {
		if !strings.Contains(text, promise+" ") {
			t.Errorf("doc.go does not say how %s is checked", promise)
		}
	}
}
