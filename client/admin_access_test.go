package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// keeper answers questions about access, and has a log of three entries.
type keeper struct {
	schema.UnimplementedAdminServer
	asked fmt.Stringer
	err   error // of each call
	more  chan *schema.AuditEntry
}

func (k *keeper) WhoAmI(_ context.Context, q *schema.WhoAmIRequest) (*schema.WhoAmI, error) {
	k.asked = q
	return &schema.WhoAmI{Subject: "token:ci"}, api.ToStatus(k.err)
}

func (k *keeper) CheckAccess(_ context.Context, q *schema.CheckAccessRequest) (*schema.AccessDecision, error) {
	k.asked = q
	return &schema.AccessDecision{Subject: q.GetSubject(), Allowed: true}, api.ToStatus(k.err)
}

func (k *keeper) AddToken(_ context.Context, q *schema.AddTokenRequest) (*schema.AccessToken, error) {
	k.asked = q
	return &schema.AccessToken{Name: q.GetName()}, api.ToStatus(k.err)
}

func (k *keeper) ListTokens(_ context.Context, q *schema.ListTokensRequest) (*schema.AccessTokens, error) {
	k.asked = q
	return &schema.AccessTokens{Tokens: []*schema.AccessToken{{Name: "ci"}}}, api.ToStatus(k.err)
}

func (k *keeper) RevokeToken(_ context.Context, q *schema.RevokeTokenRequest) (*schema.AccessToken, error) {
	k.asked = q
	return &schema.AccessToken{Name: q.GetName()}, api.ToStatus(k.err)
}

func (k *keeper) ListSessions(_ context.Context, q *schema.ListSessionsRequest) (*schema.SessionList, error) {
	k.asked = q
	return &schema.SessionList{Sessions: []*schema.SessionInfo{{Session: "s1", Subject: q.GetSubject()}}}, api.ToStatus(k.err)
}

func (k *keeper) TerminateSession(_ context.Context, q *schema.TerminateSessionRequest) (*schema.SessionReleased, error) {
	k.asked = q
	return &schema.SessionReleased{}, api.ToStatus(k.err)
}

func (k *keeper) WatchAudit(q *schema.WatchAuditRequest, stream grpc.ServerStreamingServer[schema.AuditEntry]) error {
	k.asked = q
	if k.err != nil {
		return api.ToStatus(k.err)
	}
	latest := min(3, int(q.GetLast()))
	if err := stream.SendHeader(metadata.Pairs(api.LatestKey, strconv.Itoa(latest))); err != nil {
		return err
	}
	for i := range latest {
		if err := stream.Send(&schema.AuditEntry{Detail: fmt.Sprintf("old %d", 3-latest+i)}); err != nil {
			return err
		}
	}
	for entry := range k.more {
		if err := stream.Send(entry); err != nil {
			return err
		}
	}
	return nil
}

// TestAccess checks each call about access: what is sent, what is returned, and the errors.
func TestAccess(t *testing.T) {
	k := &keeper{}
	address := serveAdmin(t, k)
	a, err := DialAdmin(address+",127.0.0.1:1", Name("me"), Space("billing"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	digest := sha256.Sum256([]byte("secret"))
	for _, one := range []struct {
		asked string
		call  func(*Admin) (any, error)
	}{
		{"", func(a *Admin) (any, error) { return a.WhoAmI(t.Context()) }},
		{`groups:"gid:4" name:"x" space:"billing" subject:"uid:1" verb:"lock"`, func(a *Admin) (any, error) {
			return a.CheckAccess(t.Context(), AccessQuestion{Subject: "uid:1", Groups: []string{"gid:4"}, Verb: "lock", Name: "x"})
		}},
		{fmt.Sprintf(`by:"me" lifetime:{seconds:60} name:"ci" sha256:"%x"`, digest), func(a *Admin) (any, error) {
			return a.AddToken(t.Context(), "ci", digest, time.Minute)
		}},
		{"", func(a *Admin) (any, error) { return a.Tokens(t.Context()) }},
		{`by:"me" name:"ci"`, func(a *Admin) (any, error) { return a.RevokeToken(t.Context(), "ci") }},
		{`subject:"uid:1"`, func(a *Admin) (any, error) { return a.Sessions(t.Context(), "uid:1") }},
		{`by:"me" reason:"stuck" session:"s1"`, func(a *Admin) (any, error) { return a.TerminateSession(t.Context(), "s1", "stuck") }},
	} {
		k.err = nil
		answer, err := one.call(a)
		if err != nil {
			t.Fatalf("%s: %v", one.asked, err)
		}
		if got := sorted(k.asked.String()); got != one.asked {
			t.Errorf("asked %s, want %s (answer %v)", got, one.asked, answer)
		}
		k.err = api.Fail(api.CodeDenied, "not yours")
		if _, err := one.call(a); !errors.Is(err, holdfast.ErrDenied) || !strings.HasSuffix(err.Error(), ": not yours") {
			t.Errorf("%s: got %v", one.asked, err)
		}
	}
	k.err = api.Fail(api.CodeUnknownSession, "it is not at this member")
	if _, err := a.TerminateSession(t.Context(), "s1", "stuck"); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v", err)
	}
}

// sorted returns the fields of a message in the order of their names, one blank apart: their own order is not fixed.
func sorted(message string) string {
	fields := strings.Fields(message)
	for i := range fields {
		for j := range i {
			if fields[i] < fields[j] {
				fields[i], fields[j] = fields[j], fields[i]
			}
		}
	}
	return strings.Join(fields, " ")
}

// TestOneMemberAlone: tokens, sessions and the audit log are those of the member at the first address.
func TestOneMemberAlone(t *testing.T) {
	k := &keeper{}
	a, err := DialAdmin("127.0.0.1:1," + serveAdmin(t, k))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for what, call := range map[string]func() error{
		"AddToken":         func() error { _, err := a.AddToken(t.Context(), "ci", [32]byte{}, 0); return err },
		"Tokens":           func() error { _, err := a.Tokens(t.Context()); return err },
		"RevokeToken":      func() error { _, err := a.RevokeToken(t.Context(), "ci"); return err },
		"Sessions":         func() error { _, err := a.Sessions(t.Context(), ""); return err },
		"TerminateSession": func() error { _, err := a.TerminateSession(t.Context(), "s1", "stuck"); return err },
		"WatchAudit": func() error {
			for _, err := range a.WatchAudit(t.Context(), 1) {
				return err
			}
			return nil
		},
	} {
		var unreachable *UnreachableError
		if err := call(); !errors.As(err, &unreachable) || len(unreachable.Attempts) != 1 {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if k.asked != nil {
		t.Errorf("the second member was asked %v", k.asked)
	}
	if _, err := a.WhoAmI(t.Context()); err != nil {
		t.Errorf("any member answers that: %v", err)
	}
}

// TestWatchAudit: the latest entries come first and are counted, then new ones; a refusal is the only element.
func TestWatchAudit(t *testing.T) {
	k := &keeper{more: make(chan *schema.AuditEntry)}
	address := serveAdmin(t, k)
	a, err := DialAdmin(address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	latest, got := -1, []string(nil)
	for entry, err := range a.WatchAudit(t.Context(), 2, func(n int) { latest = n }) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, entry.GetDetail()); len(got) == latest {
			go func() { k.more <- &schema.AuditEntry{Detail: "new"}; close(k.more) }()
		}
	}
	if text := strings.Join(got, ", "); text != "old 1, old 2, new" || latest != 2 {
		t.Errorf("got %s, of which %d at once", text, latest)
	}
	k.err = api.Fail(api.CodeDenied, "not yours")
	begun, count := false, 0
	for entry, err := range a.WatchAudit(t.Context(), 2, func(int) { begun = true }) {
		if count++; entry != nil || !errors.Is(err, holdfast.ErrDenied) {
			t.Errorf("got %v, %v", entry, err)
		}
	}
	if begun || count != 1 {
		t.Errorf("begun: %v, elements: %d", begun, count)
	}
}
