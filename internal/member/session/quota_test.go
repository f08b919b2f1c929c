package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// openFor opens a session that is charged to an owner.
func (d *machine) openFor(sink uint64, kind session.Kind, owner session.Owner) *session.Opened {
	return answered[*session.Opened](d, d.call(sink, protocol.Below, &session.Open{Kind: kind, TTL: time.Hour, Client: "c", Identity: owner.Name, Owner: owner}))
}

// used returns what an owner uses.
func (d *machine) used(owner string) (use session.Use) {
	used := answered[*session.Used](d, d.call(9, protocol.Below, &session.Usage{}))
	if i := slices.IndexFunc(used.Owners, func(u session.Use) bool { return u.Name == owner }); i >= 0 {
		use = used.Owners[i]
	}
	return use
}

// refusal returns why the latest request of an id was refused; nil if it was not.
func (d *machine) refusal(sink, request uint64) error {
	for _, reply := range slices.Backward(d.replies) {
		if reply.To.Sink == sink && reply.Decision.Kind != 0 && reply.Decision.Request == request {
			return reply.Decision.Err
		}
	}
	return nil
}

func overQuota(t *testing.T, err error, limit string, most int, sentence string) {
	t.Helper()
	var known *holdfast.LimitError
	if !errors.Is(err, holdfast.ErrLimit) || !errors.As(err, &known) || known.Limit != limit || known.Value != int64(most) || !strings.Contains(err.Error(), sentence) {
		t.Errorf("want %s of %d, and a sentence with %q; got %v", limit, most, sentence, err)
	}
}

// TestQuotas: an owner gets what its quota allows, in all its sessions together, and no more; another owner is not
// affected. What it has it may repeat, renew and give back, and then it gets as much again.
func TestQuotas(t *testing.T) {
	d := newLasting(t, 7)
	ci := session.Owner{Name: "token:ci", Quota: session.Quota{Sessions: 2, Locks: 3, Waiters: 2, PerName: 1}}
	one, two, other := d.openFor(1, session.Stream, ci), d.openFor(2, session.Stream, ci), d.openFor(3, session.Stream, session.Owner{Name: "cert:b"})
	third := d.openFor(4, session.OneShot, ci)
	overQuota(t, third.Err, session.QuotaSessions, 2, "token:ci has 2 sessions at this member, which is its quota; end some, or set sessions for it under quotas in the access file")
	if other.Err != nil {
		t.Fatal(other.Err)
	}
	d.lock(3, vaultPort, other.ID, 1, "a")
	d.lock(1, vaultPort, one.ID, 1, "a") // waits
	d.lock(2, vaultPort, two.ID, 1, "a")
	overQuota(t, d.refusal(2, 1), session.QuotaWaiters, 1, "token:ci has 1 waiting requests for this name")
	d.lock(2, vaultPort, two.ID, 2, "b")
	d.lock(1, secondPort, one.ID, 3, "c")
	d.lock(1, secondPort, one.ID, 4, "d")
	overQuota(t, d.refusal(1, 4), session.QuotaLocks, 3, "token:ci has 3 locks at this member")
	if use := d.used("token:ci"); use.Sessions != 2 || use.Locks != 2 || use.Waiters != 1 {
		t.Errorf("it uses %+v", use)
	}
	d.lock(1, vaultPort, one.ID, 1, "a") // again
	if err := d.refusal(1, 1); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	if renewed := answered[*session.Renewed](d, d.call(1, protocol.Below, &session.Renew{ID: one.ID, Proven: true})); renewed == nil || renewed.Err != nil {
		t.Errorf("a renewal: %+v", renewed)
	}
	d.call(1, vaultPort, &protocol.Cancel{Session: one.ID, Name: "a", Request: 1})
	d.lock(1, secondPort, one.ID, 5, "d")
	d.call(3, vaultPort, &protocol.Release{Session: other.ID, Name: "a", Request: 1})
	if use := d.used("token:ci"); use.Locks != 3 || use.Waiters != 0 || d.used("cert:b").Locks != 0 {
		t.Errorf("it uses %+v, and the other %+v", use, d.used("cert:b"))
	}
	d.call(1, protocol.Below, &session.End{ID: one.ID, Proven: true})
	d.call(2, protocol.Below, &session.End{ID: two.ID, Proven: true})
	if use := d.used("token:ci"); use.Name != "" {
		t.Errorf("after the end of its sessions it uses %+v", use)
	}
}

// TestQuotaOfALateAnswer: the answer to a new hold limit may come after that of the release. It is a grant of what has
// ended, and charges nothing.
func TestQuotaOfALateAnswer(t *testing.T) {
	d := newLasting(t, 7)
	s := d.openFor(1, session.Stream, session.Owner{Name: "cert:a", Quota: session.Quota{Locks: 1}})
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.call(1, vaultPort, &protocol.Release{Session: s.ID, Name: "a", Request: 1})
	extended := lock.Decision{Kind: lock.Granted, Session: s.ID, Request: 1, Name: "a", Token: 1}
	d.call(1, vaultPort, func(_ *vault, out *protocol.Effects) {
		out.Replies = append(out.Replies, protocol.Reply{To: protocol.CallID{Sink: 1, Op: 99}, Port: vaultPort, Decision: extended})
	})
	if kinds := d.decided(1, 1); len(kinds) == 0 || kinds[len(kinds)-1] != lock.Granted {
		t.Fatalf("the late answer did not come: %v", kinds)
	}
	if use := d.used("cert:a"); use.Locks != 0 || use.Waiters != 0 || use.Sessions != 1 {
		t.Errorf("it uses %+v", use)
	}
	d.lock(1, vaultPort, s.ID, 2, "b")
	if err := d.refusal(1, 2); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

// TestQuotaOfALateRelease: a release that meets the end of a hold limit finds no hold, and its refusal is all that reports
// that end. A release under another token ends no charge.
func TestQuotaOfALateRelease(t *testing.T) {
	d := newLasting(t, 7)
	s := d.openFor(1, session.Stream, session.Owner{Name: "cert:a", Quota: session.Quota{Locks: 2}})
	d.lock(1, vaultPort, s.ID, 1, "a")
	token := lock.Decision{}
	for _, r := range d.replies {
		if r.Decision.Kind == lock.Granted {
			token = r.Decision
		}
	}
	refused := func(of holdfast.Token) {
		d.call(1, vaultPort, func(_ *vault, out *protocol.Effects) {
			out.Replies = append(out.Replies, protocol.Reply{To: protocol.CallID{Sink: 1, Op: 99}, Port: vaultPort, Decision: lock.Decision{
				Kind: lock.Refused, Session: s.ID, Request: 1, Name: "a", Token: of, Err: holdfast.ErrNotHeld,
			}})
		})
	}
	if refused(token.Token + 1); d.used("cert:a").Locks != 1 {
		t.Errorf("a refusal of another token ends the charge: %+v", d.used("cert:a"))
	}
	if refused(token.Token); d.used("cert:a").Locks != 0 {
		t.Errorf("it is charged on: %+v", d.used("cert:a"))
	}
}

// TestQuotaOfAskedRequests: a space that has not answered yet counts as a wait, so that a flood of requests for a space
// without an authority is bounded, too.
func TestQuotaOfAskedRequests(t *testing.T) {
	d := newLasting(t, 7)
	s := d.openFor(1, session.Stream, session.Owner{Name: "cert:a", Quota: session.Quota{Waiters: 2}})
	for request := range uint64(3) { // they wait for the horizon
		d.lock(1, shelfPort, s.ID, request+1, fmt.Sprint(request))
	}
	overQuota(t, d.refusal(1, 3), session.QuotaWaiters, 2, "cert:a has 2 waiting requests at this member, which is its quota")
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if use := d.used("cert:a"); use.Locks != 2 || use.Waiters != 0 {
		t.Errorf("it uses %+v", use)
	}
}

// TestQuotaThatChanges: a changed policy takes nothing away, and applies to the next request.
func TestQuotaThatChanges(t *testing.T) {
	d := newLasting(t, 7)
	s := d.openFor(1, session.Stream, session.Owner{Name: "cert:a"})
	for request := range uint64(3) {
		d.lock(1, vaultPort, s.ID, request+1, fmt.Sprint(request))
	}
	allot := func(locks int) {
		d.call(9, protocol.Below, &session.Allot{Owners: []session.Owner{{Name: "cert:a", Quota: session.Quota{Locks: locks}}, {Name: "cert:gone"}}})
	}
	allot(2)
	d.lock(1, vaultPort, s.ID, 4, "z")
	overQuota(t, d.refusal(1, 4), session.QuotaLocks, 2, "cert:a has 2 locks")
	if use := d.used("cert:a"); use.Locks != 3 {
		t.Errorf("it uses %+v", use)
	}
	allot(4)
	d.lock(1, vaultPort, s.ID, 5, "z")
	if kinds := d.decided(1, 5); !slices.Equal(kinds, []lock.Kind{lock.Granted}) {
		t.Errorf("within the new quota: %v", kinds)
	}
}

// TestQuotaOfAdopted: a session from another member is charged with all that it has, and what ends elsewhere is not
// charged for ever.
func TestQuotaOfAdopted(t *testing.T) {
	d := newLasting(t, 7)
	owner := session.Owner{Name: "i", Quota: session.Quota{Locks: 2}}
	s := d.openFor(1, session.Stream, owner)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.lock(1, vaultPort, s.ID, 2, "b")
	other := newLasting(t, 8)
	other.vault, other.second = d.vault, d.second
	other.begin(session.Config{Member: 8, Lasting: []protocol.Port{vaultPort, secondPort}}, other.shelf, other.vault, other.second)
	other.call(4, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Owner: owner, Requests: []uint64{1, 2}, Last: 2})
	if use := other.used("i"); use.Sessions != 1 || use.Locks != 2 {
		t.Fatalf("at the other member it uses %+v", use)
	}
	other.lock(4, vaultPort, s.ID, 3, "c")
	overQuota(t, other.refusal(4, 3), session.QuotaLocks, 2, "i has 2 locks")
	other.call(4, vaultPort, &protocol.Release{Session: s.ID, Name: "a", Request: 1})
	d.lock(1, vaultPort, s.ID, 4, "d") // the first member did not hear of the release
	if kinds := d.decided(1, 4); !slices.Equal(kinds, []lock.Kind{lock.Granted}) {
		t.Errorf("when another member has released: %v", kinds)
	}
}

// TestQuotasAreExact: after calls of all kinds in any order, what owners are charged is what the tables have of their
// sessions.
func TestQuotasAreExact(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		d := newLasting(t, 7)
		owners := map[lock.SessionID]string{}
		var all []*session.Opened
		refused := 0
		for step := range 400 {
			owner := session.Owner{Name: fmt.Sprintf("cert:%d", random.IntN(3)), Quota: session.Quota{Sessions: 3, Locks: 4, Waiters: 3, PerName: 2}}
			if len(all) == 0 || random.IntN(12) == 0 {
				kind := session.Stream
				if random.IntN(3) == 0 {
					kind = session.OneShot
				}
				if opened := d.openFor(uint64(step+10), kind, owner); opened != nil && opened.Err == nil {
					all = append(all, opened)
					owners[opened.ID] = owner.Name
				}
				continue
			}
			s := all[random.IntN(len(all))]
			d.anyCall(random, s, owners[s.ID])
			d.at(d.now + time.Duration(random.IntN(300))*time.Millisecond)
			d.order(order{verb: "horizon", span: time.Hour})
			d.compare(owners)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
		for _, reply := range d.replies {
			if errors.As(reply.Decision.Err, new(*session.OverQuota)) {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("seed %d: no quota was reached", seed)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// anyCall makes some call about a session.
func (d *machine) anyCall(random *rand.Rand, s *session.Opened, identity string) {
	sink, port := uint64(random.IntN(4)+1), protocol.Port(random.IntN(3)+1)
	request, name := uint64(random.IntN(40)+1), fmt.Sprint(random.IntN(12))
	switch random.IntN(12) {
	case 0:
		d.call(sink, port, &protocol.Release{Session: s.ID, Name: name, Token: holdfast.Token(random.IntN(20)), Request: request})
	case 1:
		d.call(sink, port, &protocol.Release{Session: s.ID, Name: name, Request: request})
	case 2:
		d.call(sink, port, &protocol.Cancel{Session: s.ID, Name: name, Request: request})
	case 3:
		d.call(sink, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: identity, Requests: []uint64{request}, Last: uint64(random.IntN(9))})
	case 4:
		d.call(sink, protocol.Below, &session.Renew{ID: s.ID, Secret: s.Secret, Identity: identity})
	case 5:
		if random.IntN(4) == 0 {
			d.call(sink, protocol.Below, &session.End{ID: s.ID, Secret: s.Secret, Identity: identity})
		}
	case 6:
		d.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: sink}, Fact: &session.Detach{}})
	default:
		mode := []holdfast.Mode{holdfast.ModeExclusive, holdfast.ModeShared}[random.IntN(2)]
		d.call(sink, port, &lock.Request{
			Session: s.ID, ID: request, Name: name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}, Hold: time.Duration(random.IntN(2)) * time.Second},
			WaitEnd: d.now + time.Duration(random.IntN(3))*time.Second, Arrived: d.now, Try: random.IntN(4) == 0,
		})
	}
}

// compare compares what owners are charged with what the tables have.
func (d *machine) compare(owners map[lock.SessionID]string) {
	d.t.Helper()
	want := map[string][2]int{}
	for id, owner := range owners {
		for _, table := range []*lock.Table{d.shelf.table, d.vault.table, d.second.table} {
			table.Requests(id, func(_ uint64, _ string, token holdfast.Token) {
				counts := want[owner]
				counts[min(uint64(token), 1)]++
				want[owner] = counts
			})
		}
	}
	used := answered[*session.Used](d, d.call(9, protocol.Below, &session.Usage{}))
	for _, use := range used.Owners {
		if counts := want[use.Name]; use.Waiters != counts[0] || use.Locks != counts[1] {
			d.t.Errorf("%s is charged %d waits and %d locks, and the tables have %v", use.Name, use.Waiters, use.Locks, counts)
		}
		delete(want, use.Name)
	}
	for owner, counts := range want {
		d.t.Errorf("%s is charged nothing, and the tables have %v", owner, counts)
	}
}

// TestQuotaRuleIsNeeded: without the rule an owner gets all that it asks for.
func TestQuotaRuleIsNeeded(t *testing.T) {
	defer mutation.Switch("")
	for _, rule := range []string{"", "an owner stays within its quota"} {
		mutation.Switch(rule)
		d := newLasting(t, 7)
		owner := session.Owner{Name: "cert:a", Quota: session.Quota{Sessions: 1, Locks: 1}}
		s := d.openFor(1, session.Stream, owner)
		d.lock(1, vaultPort, s.ID, 1, "a")
		d.lock(1, vaultPort, s.ID, 2, "b")
		stays := d.openFor(2, session.Stream, owner).Err != nil && d.refusal(1, 2) != nil
		if stays != (rule == "") {
			t.Errorf("with rule %q switched off: it stays within its quota: %v", rule, stays)
		}
	}
}

// BenchmarkCharge is what a request and its release cost, without an owner and with one.
func BenchmarkCharge(b *testing.B) {
	for _, name := range []string{"", "token:ci"} {
		b.Run("owner="+name, func(b *testing.B) {
			d := newLasting(b, 7)
			s := d.openFor(1, session.Stream, session.Owner{Name: name, Quota: session.Quota{Sessions: 9, Locks: 9, Waiters: 9, PerName: 9}})
			var out protocol.Effects
			request := &lock.Request{Session: s.ID, Name: "a", WaitEnd: lock.Never}
			release := &protocol.Release{Session: s.ID, Name: "a"}
			b.ReportAllocs()
			for i := range b.N {
				request.ID, release.Request = uint64(i+1), uint64(i+1)
				call := protocol.CallID{Sink: 1, Op: request.ID}
				d.Step(d.now, protocol.Event{Kind: protocol.Call, Port: vaultPort, Call: call, Fact: request}, &out)
				d.Step(d.now, protocol.Event{Kind: protocol.Call, Port: vaultPort, Call: protocol.CallID{Sink: 1, Op: 1 << 60}, Fact: release}, &out)
				out.Replies = out.Replies[:0]
			}
		})
	}
}
