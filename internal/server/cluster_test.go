package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/protocol"
)

// lend is a membership with any horizon, whose lease ends at a time, and which then goes
// on, or lapses where a hint says so.
type lend struct{ lease *protocol.Lease }

func lendUntil(end protocol.Time) lend {
	return lend{&protocol.Lease{Member: end, Role: protocol.Never, Carried: end}}
}

func (lend) Wake() protocol.Time { return protocol.Never }

func (m lend) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.NeedHorizon:
		out.Raise(&protocol.Horizon{Answer: true, Confirmed: fact.Want, Clients: fact.Clients})
	case protocol.Hint:
		m.lease.Tenure.Lapses++
		out.Raise(&protocol.Lapsed{Tenure: m.lease.Tenure})
	}
	if ev.Kind == protocol.Start {
		out.Raise(&protocol.View{
			Number: 1, Epoch: protocol.Epoch{Counter: 3, Candidate: harnessMember}, Coordinator: harnessMember, Installed: true, Open: true,
			Members: []protocol.Member{{ID: harnessMember, Name: "a", Address: "a.example:4040"}}, Lease: m.lease,
		})
	}
}

// TestBeatThatCannotRenew is not answered, and ends nothing: the session goes on.
func TestBeatThatCannotRenew(t *testing.T) {
	b := newHarnessOver(t, lendUntil(time.Minute+3*time.Second), nil, nil)
	c := b.open()
	b.clock.Advance(2900 * time.Millisecond)
	c.say(opBeat(1, 0))
	if event := c.hear(); event.GetBeat() == nil || event.GetBeat().GetTtl() >= int64(10*time.Second) {
		t.Errorf("just before the end of the lease: %v", event)
	}
	b.clock.Advance(100 * time.Millisecond)
	c.say(opBeat(2, 0), opAcquire(3, "x"))
	if event := c.hear(); event.GetId() != 3 {
		t.Errorf("a beat that renews nothing is answered with %v", event)
	}
	fresh := b.call(b.conn)
	fresh.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
	fresh.refused(0, api.CodeUnavailable)
	back := b.call(b.conn)
	back.id, back.secret = c.id, c.secret
	if ttl := back.welcome(&schema.Hello{Session: c.id, Secret: c.secret}).GetTtl(); ttl <= 0 || ttl >= int64(8600*time.Millisecond) {
		t.Errorf("the client that returns got %v, which is more than what is left", time.Duration(ttl))
	}
}

// TestLapse: every client hears what is lost, and then that the session is.
func TestLapse(t *testing.T) {
	b := newHarnessOver(t, lendUntil(time.Minute+3*time.Second), nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	c.granted(1)
	b.driver.Step(protocol.Event{Kind: protocol.Receive, From: protocol.Rumour, Fact: protocol.Hint{}})
	if event := c.hear(); event.GetId() != 1 || event.GetLost().GetWhy() != string(holdfast.MemberLost) {
		t.Errorf("heard %v", event)
	}
	if code := api.Code(api.FromStatus("open", c.end())); code != api.CodeUnknownSession {
		t.Errorf("the stream ends with %s", code)
	}
	late := b.call(b.conn)
	late.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: c.id, Secret: c.secret}}})
	late.refused(0, api.CodeUnknownSession)
}

// TestRenewWithoutALease is unavailable, and the session goes on.
func TestRenewWithoutALease(t *testing.T) {
	b := newWebHarnessOver(t, lendUntil(time.Minute+3*time.Second), nil)
	held := b.acquire(object{"name": "x"})
	b.clock.Advance(3 * time.Second)
	renewed := b.post(503, "/v1/sessions/renew", object{"session": held.text("session")})
	if renewed.text("code") != api.CodeUnavailable || renewed.header.Get("Retry-After") == "" {
		t.Errorf("renewed: %s", renewed.raw)
	}
	b.post(503, acquirePath, object{"name": "y"})
	b.post(200, "/v1/spaces/default/release", object{"name": "x", "token": held.text("token"), "session": held.text("session")})
}

// others is what a member of three says of itself and of the others.
func others(context.Context) (*membership.Self, error) {
	member := func(id protocol.ID, name string) election.Member {
		return election.Member{
			Member: protocol.Member{ID: id, Name: name, Address: name + ".example:4040", Tenure: protocol.Tenure{Incarnation: uint64(id)}, Founder: true},
			HTTP:   name + ".example:4041", Serves: name != "c",
		}
	}
	return &membership.Self{
		State: membership.Recovering, Why: "the view is not installed", Election: election.Variables{Status: election.Reorganization},
		Members: []membership.Standing{
			{Member: member(8, "b"), Since: time.Minute, State: membership.Suspected, Election: election.Normal},
			{Member: member(harnessMember, "a"), Since: time.Minute, State: membership.Recovering, Election: election.Reorganization},
			{Member: member(9, "c"), State: membership.Present, Election: election.Normal},
		},
		Cell: membership.Cell{Accepted: &election.View{
			Number: 4, Installed: true, Members: []election.Member{member(8, "b"), member(harnessMember, "a"), member(9, "c")},
		}},
		Founders: 5, Missing: []membership.Missing{{ID: 10, Name: "d", Address: "d.example:4040", Since: time.Minute}, {Address: "e.example:4040"}},
	}, nil
}

// TestUnwrittenState: a member that could not write its state for a lease is not ready, and says since
// when and why, if there are others to go to.
func TestUnwrittenState(t *testing.T) {
	self := &membership.Self{
		State: membership.Present, Why: "its state cannot be written (disk full)", Founders: 3,
		Stale: &membership.Staleness{Since: time.Second, Why: "disk full"},
	}
	b := newWebHarness(t, func(c *Config) { c.Who = func(context.Context) (*membership.Self, error) { return self, nil } })
	if a := b.get(503, "/readyz"); !strings.Contains(a.raw, "this member is normal: its state cannot be written (disk full)") {
		t.Errorf("/readyz says %q", a.raw)
	}
	status := b.get(200, "/v1/status")
	unwritten, _ := status.json["unwritten"].(object)
	if unwritten["why"] != "disk full" || unwritten["since"] == nil {
		t.Errorf("status says %v", status.json["unwritten"])
	}
	if a := b.get(200, "/metrics"); !strings.Contains(a.raw, "holdfast_state_unwritten_seconds 59") {
		t.Error("the metrics do not say for how long")
	}
	self.Founders = 1
	b.get(200, "/readyz")
	self.Founders, self.Why, self.Stale = 3, "", nil
	b.get(200, "/readyz")
	if status := b.get(200, "/v1/status"); status.json["unwritten"] != nil {
		t.Errorf("status still says %v", status.json["unwritten"])
	}
	if a := b.get(200, "/metrics"); !strings.Contains(a.raw, "holdfast_state_unwritten_seconds 0") {
		t.Error("the metrics still say for how long")
	}
}

// TestUncountedMemberIsNotReady: a member whose place is a proposal says so at /readyz, and is ready when the view is installed.
func TestUncountedMemberIsNotReady(t *testing.T) {
	self := &membership.Self{State: membership.Recovering, Why: "the view is not installed yet", Founders: 3, Uncounted: true}
	b := newWebHarness(t, func(c *Config) { c.Who = func(context.Context) (*membership.Self, error) { return self, nil } })
	if a := b.get(503, "/readyz"); a.raw != "this member is recovering: the view is not installed yet\n" {
		t.Errorf("/readyz says %q", a.raw)
	}
	if claims := []Space{{described: protocol.Descriptor{Stores: true}}}; hinders(self, claims) || !hinders(self, append(claims, Space{})) {
		t.Error("a member that is not counted is in the way where all spaces are in stores, or is not where one needs views")
	}
	self.Uncounted = false // this member was counted on before
	b.get(200, "/readyz")
}

// TestStatusOfClosedSpaces: status names the members at which a space is closed, whichever member is asked.
func TestStatusOfClosedSpaces(t *testing.T) {
	b := newWebHarness(t, func(c *Config) {
		c.Who = func(ctx context.Context) (*membership.Self, error) {
			self, err := others(ctx)
			self.Members[0].Closed, self.Members[2].Closed = []protocol.Port{1}, []protocol.Port{1, 2}
			return self, err
		}
	})
	got := b.get(200, "/v1/status")
	for _, want := range []string{`"closed":false,"closed_at":["b","c"]`, `"closed":false,"closed_at":["c"]`} {
		if !strings.Contains(got.raw, want) {
			t.Errorf("%s\nhas no %s", got.raw, want)
		}
	}
}

// since is the time since which a member is there, as a status says.
func since(t *testing.T, member any) time.Time {
	t.Helper()
	text, _ := member.(object)["since"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestStatusOfACluster has every member with its state, this one's own among them.
func TestStatusOfACluster(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Who = others })
	status := b.get(200, "/v1/status")
	if me, _ := status.json["member"].(object); me["state"] != "recovering" || me["election"] != "reorganization" || me["name"] != "a" {
		t.Errorf("member: %v", me)
	}
	view, _ := status.json["view"].(object)
	members, _ := view["members"].([]any)
	if len(members) != 3 {
		t.Fatalf("view: %v", view)
	}
	me, _ := status.json["member"].(object)
	came := since(t, members[0])
	for _, at := range []any{me, members[1]} {
		if apart := since(t, at).Sub(came).Abs(); apart > 10*time.Second {
			t.Errorf("the member itself has come %v before or behind b, which came with it", apart)
		}
	}
	for i, want := range []object{
		{"name": "b", "state": "suspected", "election": "normal", "http": "b.example:4041", "incarnation": "8"},
		{"name": "a", "state": "recovering", "election": "reorganization", "http": "a.example:4041", "incarnation": "1"},
		{"name": "c", "state": "normal", "election": "normal", "address": "c.example:4040", "voter": true},
	} {
		for field, value := range want {
			if got := members[i].(object)[field]; got != value {
				t.Errorf("member %d: %s is %v, want %v", i, field, got, value)
			}
		}
	}
	for _, want := range []string{
		`"expected":5,"missing":[{"name":"d","address":"d.example:4040","since":"2`, `Z"},{"name":"","address":"e.example:4040","since":"2`,
		`"needs":"2 of a, b, c (d and e.example:4040 are missing)"`,
	} {
		if !strings.Contains(string(status.raw), want) {
			t.Errorf("the status has no %s:\n%s", want, status.raw)
		}
	}
	metrics := b.get(200, "/metrics").raw
	for _, want := range []string{"holdfast_members_expected 5\n", "holdfast_members 3\n"} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// TestClientsLearnWhereToGo: with the welcome, and when that changes.
func TestClientsLearnWhereToGo(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Who = others }, nil)
	c := b.call(b.conn)
	welcome := c.welcome(&schema.Hello{})
	if got := strings.Join(welcome.GetMembers(), " "); got != "b.example:4040 a.example:4040" || welcome.GetAuthority() != "a.example:4040" {
		t.Errorf("welcome tells of %s, authority %s", got, welcome.GetAuthority())
	}
	b.service.moved(&edge.Roster{Authority: "b.example:4040", Members: []string{"b.example:4040"}})
	if moved := c.hear().GetMoved(); moved.GetAuthority() != "b.example:4040" || len(moved.GetMembers()) != 1 {
		t.Errorf("moved tells %v", moved)
	}
}

// TestAdminLeaves, and says why not.
func TestAdminLeaves(t *testing.T) {
	limits := make(chan time.Duration, 1)
	act := func(err error) func(context.Context) error {
		return func(ctx context.Context) error {
			deadline, bounded := ctx.Deadline()
			if !bounded {
				limits <- 0
			} else {
				limits <- time.Until(deadline)
			}
			return err
		}
	}
	b := newHarness(t, func(c *Config) { c.Leave, c.Drain = act(nil), act(errors.New("no quorum")) }, nil)
	admin := schema.NewAdminClient(b.conn)
	if _, err := admin.Leave(t.Context(), &schema.LeaveRequest{}); err != nil {
		t.Error(err)
	}
	if limit := <-limits; limit <= 0 || limit > time.Minute {
		t.Errorf("a leave may take %v", limit)
	}
	if _, err := admin.Drain(t.Context(), &schema.DrainRequest{}); err == nil || !strings.Contains(err.Error(), "no quorum") {
		t.Errorf("drain: %v", err)
	}
	if limit := <-limits; limit != 0 {
		t.Errorf("a drain may take %v", limit)
	}
	if _, err := admin.Drain(t.Context(), &schema.DrainRequest{Limit: api.Span(-1)}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a negative limit: %v", err)
	}
	embedded := newHarness(t, nil, nil)
	if _, err := schema.NewAdminClient(embedded.conn).Leave(t.Context(), &schema.LeaveRequest{}); !errors.Is(api.FromStatus("leave", err), holdfast.ErrUnsupported) {
		t.Errorf("an embedded member: %v", err)
	}
}

// TestDrainEndsWithTheServer: the end of the process does not wait for a drain.
func TestDrainEndsWithTheServer(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	b := newHarness(t, func(c *Config) {
		c.Drain = func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
	}, nil)
	go func() {
		_, err := schema.NewAdminClient(b.conn).Drain(context.Background(), &schema.DrainRequest{})
		if err == nil {
			t.Error("a drain that was cut short is reported as done")
		}
	}()
	<-begun
	b.service.stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReadyzSaysWhyThereIsNoView.
func TestReadyzSaysWhyThereIsNoView(t *testing.T) {
	b := newWebHarnessOver(t, noMembers{}, func(c *Config) { c.Who = others })
	ready := b.get(503, "/readyz")
	if !strings.Contains(ready.raw, "default: unavailable: ") || !strings.Contains(ready.raw, "this member is recovering: the view is not installed") {
		t.Errorf("readyz: %s", ready.raw)
	}
	if r := b.request(http.MethodPost, acquirePath, `{"name":"x"}`); b.wants(503, r).text("code") != api.CodeUnavailable {
		t.Error("a member that is in no view takes requests")
	}
}

// noMembers is a membership that finds no member.
type noMembers struct{}

func (noMembers) Wake() protocol.Time { return protocol.Never }

func (noMembers) Step(protocol.Time, protocol.Event, *protocol.Effects) {}

// TestOperatorsSeeWhy: what an operator asks of a member without a place in a view says what the member waits for, and that
// nothing was broken.
func TestOperatorsSeeWhy(t *testing.T) {
	self := &membership.Self{State: membership.Joining, Why: "the quorum is lost", Until: protocol.Never}
	b := newWebHarnessOver(t, lendUntil(time.Minute+3*time.Second), func(c *Config) {
		c.Who = func(context.Context) (*membership.Self, error) { return self, nil }
	})
	b.driver.Step(protocol.Event{Kind: protocol.Receive, From: protocol.Rumour, Fact: protocol.Hint{}})
	const why = "this member's lease has run out, and it is not admitted again yet"
	for _, calls := range []struct {
		answer *reply
		says   string
	}{
		{b.get(503, "/v1/spaces/default/locks/x"), why + "; this member is joining: the quorum is lost"},
		{b.get(503, "/v1/spaces/default/locks"), why + "; this member is joining: the quorum is lost"},
		{b.post(503, "/v1/spaces/default/break", object{"name": "x", "reason": "test"}), why + "; nothing was broken; this member is joining: the quorum is lost"},
	} {
		if calls.answer.text("why") != calls.says {
			t.Errorf("%s; want %q", calls.answer.raw, calls.says)
		}
	}
}
