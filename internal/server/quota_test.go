package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// quotaPolicy lets two tokens lock, one of them within a quota.
const quotaPolicy = `
roles:
  lock: {rules: [{space: default, names: ["deploy/**"], verbs: [lock, read]}]}
grants:
  - {role: lock, to: ["token:other", "token:lock", "anonymous"]}
quotas:
  - {to: ["token:other"], sessions: 20, locks: 50, waiters: 10}
`

// streamOf opens a stream of a caller, and says hello.
func (g *guarded) streamOf(w *who) (*talk, *schema.Event) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	g.t.Cleanup(cancel)
	rpc, err := schema.NewSessionsClient(w.conn).Open(w.context(ctx))
	must(g.t, err)
	c := &talk{t: g.t, stream: rpc}
	c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
	return c, c.hear()
}

// caller returns a caller with a token, and its connections.
func (g *guarded) caller(name string) *who {
	w := &who{subject: "token:" + name, bearer: g.secrets[name]}
	w.connect(g)
	return w
}

func isQuota(t testing.TB, p *schema.Problem, limit string, most int64, sentence string) {
	t.Helper()
	if p.GetCode() != api.CodeLimit || p.GetLimit() != limit || p.GetValue() != most || !strings.Contains(p.GetDetail(), sentence) {
		t.Errorf("want it refused by %s of %d with %q, heard %v", limit, most, sentence, p)
	}
}

// TestQuotaOfASubject: over all its streams and calls together a subject gets what the policy says, the refusal says
// which key to change, and a changed policy applies to the next request of an open stream.
func TestQuotaOfASubject(t *testing.T) {
	g := newGuarded(t, quotaPolicy, nil)
	greedy, modest := g.caller("other"), g.caller("lock")
	victim, _ := g.streamOf(modest)
	first, welcome := g.streamOf(greedy)
	if welcome.GetWelcome() == nil {
		t.Fatal(welcome)
	}
	ctx, cancel := contextWithin(t)
	defer cancel()
	locks := schema.NewLocksClient(greedy.conn)
	ten := &schema.AcquireRequest{}
	for i := range 30 {
		ten.Names = append(ten.Names, fmt.Sprintf("deploy/http/%d", i))
	}
	acquired, err := locks.Acquire(greedy.context(ctx), ten)
	must(t, err)
	var all []*schema.Operation
	for i := range uint64(21) {
		all = append(all, opTry(i+1, fmt.Sprintf("deploy/%d", i)))
	}
	first.say(all...)
	for i := range uint64(20) {
		first.granted(i + 1)
	}
	isQuota(t, first.refused(21, api.CodeLimit), session.QuotaLocks, 50, "token:other has 50 locks at this member, with those that it asks for, which is its quota; release some, or set locks for it under quotas in the access file")
	_, err = locks.Acquire(greedy.context(ctx), &schema.AcquireRequest{Names: []string{"deploy/more"}})
	isQuota(t, api.ToProblem(api.FromStatus("", err)), session.QuotaLocks, 50, "token:other has 50 locks")
	first.say(opRelease(1, "deploy/0", 0))
	first.released(1)
	first.say(opTry(22, "deploy/0"))
	first.granted(22)
	_, err = locks.EndSession(greedy.context(ctx), &schema.EndSessionRequest{Session: acquired.GetSession()})
	must(t, err)
	victim.say(opTry(1, "deploy/mine"))
	victim.granted(1)
	for i := range uint64(11) {
		first.say(opAcquire(100+i, "deploy/mine"))
	}
	for i := range uint64(10) {
		first.queued(100+i, int32(i))
	}
	isQuota(t, first.refused(110, api.CodeLimit), session.QuotaWaiters, 10, "token:other has 10 waiting requests at this member")
	g.writePolicy(t, strings.Replace(quotaPolicy, "waiters: 10", "waiters: 11, requests_per_second: 2", 1))
	g.guard.Reload()
	policy := g.server.service.reallot(access.Open())
	if policy != g.guard.Policy() {
		t.Error("the quotas are those of another policy")
	}
	first.say(opAcquire(110, "deploy/mine"), opAcquire(111, "deploy/mine"), opAcquire(112, "deploy/mine"))
	isQuota(t, first.refused(112, api.CodeLimit), rateLimit, 2, "token:other makes more than 2 requests a second, which is its quota; ask more slowly, or set requests_per_second for it")
	first.queued(110, 10)
	isQuota(t, first.refused(111, api.CodeLimit), session.QuotaWaiters, 11, "token:other has 11 waiting requests")
}

// TestStatusShowsCallers: a caller that may list sessions learns from a status which callers use the largest part of a
// quota, ten of them; others do not, even if they may read everything.
func TestStatusShowsCallers(t *testing.T) {
	g := newGuarded(t, `
roles:
  lock: {rules: [{space: default, names: ["**"], verbs: [lock]}]}
  read: {rules: [{space: "*", names: ["**"], verbs: [read]}]}
  operate: {rules: [{space: "*", names: ["**"], verbs: [operate]}]}
grants:
  - {role: lock, to: ["token:other", "cert:c*"]}
  - {role: read, to: ["token:read", "token:operate"]}
  - {role: operate, to: "token:operate"}
quotas:
  - {to: ["token:other"], sessions: 20, locks: 4, waiters: 10}
  - {to: ["cert:c*"], sessions: 10, locks: 100, waiters: 100}
`, nil)
	var streams []*talk
	for i := range 11 {
		w := &who{request: &issuer.Request{Name: fmt.Sprintf("c%02d", i)}}
		w.connect(g)
		c, welcome := g.streamOf(w)
		if welcome.GetWelcome() == nil {
			t.Fatal(welcome)
		}
		streams = append(streams, c)
	}
	streams[7].say(opTry(1, "x"))
	streams[7].granted(1)
	first, _ := g.streamOf(g.caller("other"))
	first.say(opTry(1, "a"), opAcquire(2, "x"))
	first.granted(1)
	first.queued(2, 0)
	ctx, cancel := contextWithin(t)
	defer cancel()
	operator, reader := g.caller("operate"), g.caller("read")
	status, err := schema.NewLocksClient(operator.conn).Status(operator.context(ctx), &schema.StatusRequest{})
	must(t, err)
	want := []*schema.CallerUse{
		{Caller: "token:other", Sessions: 1, SessionsQuota: 20, Locks: 2, LocksQuota: 4, Waiters: 1, WaitersQuota: 10},
		{Caller: "cert:c07", Sessions: 1, SessionsQuota: 10, Locks: 1, LocksQuota: 100, WaitersQuota: 100},
		{Caller: "cert:c00", Sessions: 1, SessionsQuota: 10, LocksQuota: 100, WaitersQuota: 100},
	}
	if len(status.Callers) != mostCallers {
		t.Fatalf("there are %d callers: %v", len(status.Callers), status.Callers)
	}
	for i := range want {
		if !proto.Equal(status.Callers[i], want[i]) {
			t.Errorf("caller %d is %v, want %v", i+1, status.Callers[i], want[i])
		}
	}
	status, err = schema.NewLocksClient(reader.conn).Status(reader.context(ctx), &schema.StatusRequest{})
	must(t, err)
	if len(status.Callers) > 0 || len(status.Spaces) == 0 {
		t.Errorf("a reader learns of %v", status.Callers)
	}
	for w, shown := range map[*who]bool{operator: true, reader: false} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+g.address+"/v1/status", http.NoBody)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.bearer)
		answer, err := w.http.Do(r)
		must(t, err)
		text, err := io.ReadAll(answer.Body)
		must(t, errors.Join(err, answer.Body.Close()))
		const entry = `"callers":[{"caller":"token:other","sessions":1,"sessions_quota":20,"locks":2,"locks_quota":4,"waiters":1,"waiters_quota":10}`
		if answer.StatusCode != http.StatusOK || strings.Contains(string(text), entry) != shown || strings.Contains(string(text), "callers") != shown {
			t.Errorf("%s gets %d over HTTP: %s", w.subject, answer.StatusCode, text)
		}
	}
}

// TestShareOfACaller: without an entry in the policy a remote caller gets a quarter of each bound, and one on this
// machine without credentials the whole.
func TestShareOfACaller(t *testing.T) {
	g := newGuarded(t, quotaPolicy, func(c *Config) {
		c.Limits = Limits{Sessions: 8, LockNames: 8, WaitersPerName: 4, Watchers: 4, Requests: 8}
	})
	remote, near := g.caller("lock"), &who{subject: access.Anonymous}
	near.connect(g)
	for i := range 3 {
		if _, event := g.streamOf(near); event.GetWelcome() == nil {
			t.Errorf("session %d of a near caller: %v", i, event)
		}
	}
	one, _ := g.streamOf(remote)
	two, _ := g.streamOf(remote)
	_, event := g.streamOf(remote)
	isQuota(t, event.GetRefused().GetProblem(), session.QuotaSessions, 2, "token:lock has 2 sessions at this member")
	one.say(opTry(1, "deploy/a"))
	one.granted(1)
	two.say(opAcquire(1, "deploy/a"))
	two.queued(1, 0)
	one.say(opAcquire(2, "deploy/b"))
	isQuota(t, one.refused(2, api.CodeLimit), session.QuotaLocks, 2, "token:lock has 2 locks")
	ctx, cancel := contextWithin(t)
	defer cancel()
	feed, err := schema.NewLocksClient(remote.conn).Watch(remote.context(ctx), &schema.WatchRequest{Space: "default", Prefix: "deploy/"})
	must(t, err)
	_, err = feed.Header()
	must(t, err)
	another, err := schema.NewLocksClient(remote.conn).Watch(remote.context(ctx), &schema.WatchRequest{Space: "default", Prefix: "deploy/"})
	must(t, err)
	_, err = another.Recv()
	isQuota(t, api.ToProblem(api.FromStatus("", err)), quotaWatchers, 1, "token:lock has its share of 1 feeds of events, a quarter of limits.watchers")
	_, err = schema.NewLocksClient(remote.conn).Acquire(remote.context(ctx), &schema.AcquireRequest{Names: []string{"deploy/c", "deploy/d", "deploy/e"}, Request: new("r")})
	isQuota(t, api.ToProblem(api.FromStatus("", err)), quotaRequests, 2, "token:lock has its share of 2 remembered requests, a quarter of limits.requests")
	for _, why := range []string{session.QuotaSessions, session.QuotaLocks, quotaWatchers, quotaRequests} {
		counted := &dto.Metric{}
		must(t, g.server.service.observer.refusals.WithLabelValues(why).Write(counted))
		if n := counted.GetCounter().GetValue(); n != 1 {
			t.Errorf("holdfast_refused_total{why=%q} is %v", why, n)
		}
	}
}

// TestHostileCallerMeetsItsQuota: a caller that asks for 200,000 names and 3,000 sessions, over new streams each time,
// gets what its quota allows; another caller is never refused.
func TestHostileCallerMeetsItsQuota(t *testing.T) {
	g := newGuarded(t, quotaPolicy, nil)
	hostile := g.caller("other")
	victim, _ := g.streamOf(g.caller("lock"))
	served := uint64(0)
	serve := func() {
		t.Helper()
		served++
		victim.say(opTry(served, "deploy/victim"))
		token := victim.granted(served).GetToken()
		victim.say(opRelease(served, "deploy/victim", token))
		victim.released(served)
	}
	holder, welcome := g.streamOf(hostile)
	if welcome.GetWelcome() == nil {
		t.Fatal(welcome)
	}
	granted, refused, id := 0, 0, uint64(0)
	for range many(200) {
		var all []*schema.Operation
		for range 1000 {
			id++
			all = append(all, opTry(id, fmt.Sprintf("deploy/%d", id)))
		}
		holder.say(all...)
		for range all {
			switch event := holder.hear(); {
			case event.GetGranted() != nil:
				granted++
			case event.GetRefused().GetProblem().GetLimit() == session.QuotaLocks:
				refused++
			default:
				t.Fatalf("heard %v", event)
			}
		}
		serve()
	}
	if granted != 50 || refused != many(200)*1000-50 {
		t.Errorf("%d names were granted and %d refused", granted, refused)
	}
	opened := 1
	for i := range many(3000) {
		c, event := g.streamOf(hostile)
		switch {
		case event.GetWelcome() != nil:
			opened++
		case event.GetRefused().GetProblem().GetLimit() != session.QuotaSessions:
			t.Fatalf("heard %v", event)
		default:
			must(t, c.end())
		}
		if i%100 == 0 {
			serve()
		}
	}
	if opened != 20 {
		t.Errorf("%d sessions were opened", opened)
	}
}

// many is the size of a flood, which is smaller in a short test.
func many(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
