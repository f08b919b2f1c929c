package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// TestForgedIdentity: what a caller says of itself changes nothing: the metadata by which members pass calls on, the name
// of an operator, headers.
func TestForgedIdentity(t *testing.T) {
	g := newGuarded(t, onePolicy, nil)
	attacker := &who{subject: "token:other", bearer: g.secrets["other"]}
	attacker.connect(g)
	ctx, cancel := contextWithin(t)
	defer cancel()
	forged := metadata.AppendToOutgoingContext(attacker.context(ctx), forwarderKey, "a", identityKey, "cert:admin", groupsKey, "gid:0",
		nearKey, "true", callerKey, "admin", "holdfast-member", "a", "user-agent", "cert:admin")
	admin := schema.NewAdminClient(attacker.conn)
	if _, err := admin.Drain(forged, &schema.DrainRequest{}); codeOfStatus(err) != api.CodeDenied {
		t.Errorf("a drain is answered by %v", err)
	}
	if _, err := admin.Suspend(forged, &schema.SuspendRequest{By: "cert:operate"}); codeOfStatus(err) != api.CodeDenied {
		t.Errorf("a suspend is answered by %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+g.address+"/v1/spaces/default/suspend", strings.NewReader("{}"))
	must(t, err)
	for _, header := range []string{"User-Agent", "X-Forwarded-For", "X-Forwarded-User", "From", identityKey, forwarderKey, nearKey} {
		r.Header.Set(header, "cert:operate")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+g.secrets["other"])
	answer, err := attacker.http.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a suspend over HTTP is answered by %d", answer.StatusCode)
	}
	denied := 0
	for _, e := range g.entries() {
		if e.Event != audit.Denied {
			continue
		}
		if denied++; e.Subject != "token:other" || !strings.HasPrefix(e.Address, "127.0.0.1:") {
			t.Errorf("an entry is %+v", e)
		}
	}
	if denied != 3 {
		t.Errorf("the audit log has %d denials", denied)
	}
}

// TestFalseCredentialsForHealth: health and reflection take no right, and are no way around the check of credentials,
// over both ports alike.
func TestFalseCredentialsForHealth(t *testing.T) {
	g := newGuarded(t, onePolicy, nil)
	member, err := g.members.Issue(issuer.Request{Name: "b", Member: true})
	must(t, err)
	for _, c := range []struct {
		who   *who
		valid bool
	}{
		{&who{subject: "no credentials"}, true},
		{&who{subject: "a certificate without a role", request: &issuer.Request{Name: "other"}}, true},
		{&who{subject: "a token without a role", bearer: g.secrets["other"]}, true},
		{&who{subject: "a user of the socket", local: true}, true},
		{&who{subject: "a certificate of a member", own: member}, false},
		{&who{subject: "an unknown token", bearer: "hft_" + strings.Repeat("A", 48)}, false},
	} {
		c.who.connect(g)
		ctx, cancel := contextWithin(t)
		ctx = c.who.context(ctx)
		before := len(g.entries())
		_, checked := health.NewHealthClient(c.who.conn).Check(ctx, &health.HealthCheckRequest{})
		_, listed := health.NewHealthClient(c.who.conn).List(ctx, &health.HealthListRequest{})
		watch, err := health.NewHealthClient(c.who.conn).Watch(ctx, &health.HealthCheckRequest{})
		must(t, err)
		_, watched := watch.Recv()
		stream, err := reflection.NewServerReflectionClient(c.who.conn).ServerReflectionInfo(ctx)
		must(t, err)
		// A refusal may come before the question.
		if err := stream.Send(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		_, reflected := stream.Recv()
		cancel()
		for call, err := range map[string]error{"Check": checked, "List": listed, "Watch": watched, "reflection": reflected} {
			if (err == nil) != c.valid || err != nil && codeOfStatus(err) != api.CodeUnauthenticated {
				t.Errorf("%s: %s is answered by %v", c.who.subject, call, err)
			}
		}
		refused := 0
		for _, e := range g.entries()[before:] {
			if e.Event == audit.Unauthenticated {
				refused++
			}
		}
		if want := map[bool]int{false: 4}[c.valid]; refused != want {
			t.Errorf("%s: the audit log has %d failed authentications, want %d", c.who.subject, refused, want)
		}
	}
	// The port of HTTP has the same rule.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+g.address+"/healthz", http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer hft_"+strings.Repeat("A", 48))
	stranger := &who{}
	stranger.connect(g)
	answer, err := stranger.http.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("/healthz is answered by %d", answer.StatusCode)
	}
}

// TestStolenSecret: the credentials of a session are worth nothing to a caller with another subject (S7).
func TestStolenSecret(t *testing.T) {
	g := newGuarded(t, strings.Replace(onePolicy, `"group:https://login.example#lockers"]`, `"token:other", "uid:UID"]`, 1), nil)
	owner := &who{bearer: g.secrets["lock"]}
	owner.connect(g)
	ctx, cancel := contextWithin(t)
	defer cancel()
	name := "deploy/x"
	got, err := schema.NewLocksClient(owner.conn).Acquire(owner.context(ctx), &schema.AcquireRequest{Name: &name})
	must(t, err)
	token := got.Locks[0].Token
	for _, thief := range []*who{
		{subject: "another token", bearer: g.secrets["other"]},
		{subject: "a certificate", request: &issuer.Request{Name: "lock"}},
		{subject: "no credentials"},
		{subject: "a user of the socket", local: true},
	} {
		thief.connect(g)
		locks, ctx := schema.NewLocksClient(thief.conn), thief.context(ctx)
		_, released := locks.Release(ctx, &schema.ReleaseRequest{Name: name, Token: token, Session: got.Session})
		_, renewed := locks.Renew(ctx, &schema.RenewRequest{Session: got.Session})
		_, ended := locks.EndSession(ctx, &schema.EndSessionRequest{Session: got.Session})
		_, valued := locks.SetValue(ctx, &schema.SetValueRequest{Name: name, Token: token, Session: got.Session, Value: "mine"})
		for call, err := range map[string]error{"release": released, "renew": renewed, "end": ended, "set value": valued} {
			if codeOfStatus(err) != api.CodeDenied {
				t.Errorf("%s: %s is answered by %v", thief.subject, call, err)
			}
		}
	}
	if _, err := schema.NewLocksClient(owner.conn).Release(owner.context(ctx), &schema.ReleaseRequest{Name: name, Token: token, Session: got.Session}); err != nil {
		t.Errorf("the owner releases: %v", err)
	}
}
