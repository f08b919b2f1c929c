package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// The names of operations of access control in errors.
const (
	opWhoAmI      = "access show"
	opCheckAccess = "access check"
	opAddToken    = "token create"
	opTokens      = "token list"
	opRevokeToken = "token revoke"
	opSessions    = "session list"
	opTerminate   = "session end"
	opAudit       = "audit"
)

// WhoAmI returns how the members know this client, and what it may do. Every client may ask.
func (a *Admin) WhoAmI(ctx context.Context) (*WhoAmI, error) {
	return anywhere(ctx, a, opWhoAmI, &schema.WhoAmIRequest{}, schema.AdminClient.WhoAmI)
}

// AccessQuestion is the question of Admin.CheckAccess.
type AccessQuestion struct {
	Subject string   // cert:NAME, token:NAME, …; "" means this client
	Groups  []string // further names of the subject: gid:N, group:ISSUER#NAME
	Verb    string   // lock, read, break, operate or admin
	Space   string   // "" means the space of option Space, and "*" all spaces, without a Name
	Name    string   // "" means the space as a whole
}

// CheckAccess returns whether a subject may do something, and which rule decides, by the policy of the member that
// answers. The error is an ErrDenied if the question is about another subject and this client lacks the verb admin.
func (a *Admin) CheckAccess(ctx context.Context, q AccessQuestion) (*AccessDecision, error) {
	return anywhere(ctx, a, opCheckAccess, &schema.CheckAccessRequest{
		Subject: q.Subject, Groups: q.Groups, Verb: q.Verb, Space: a.space(q.Space), Name: q.Name,
	}, schema.AdminClient.CheckAccess)
}

// AddToken makes the member at the first address accept a token, whose secret has that SHA-256 digest, for a lifetime
// (0: until it is revoked). The error is an ErrConflict if the member has a token of that name, or an ErrUnsupported if
// it keeps no tokens.
func (a *Admin) AddToken(ctx context.Context, name string, digest [sha256.Size]byte, lifetime time.Duration) (*AccessToken, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).AddToken(ctx, &schema.AddTokenRequest{
		Name: name, Sha256: hex.EncodeToString(digest[:]), Lifetime: spanOf(lifetime), By: a.settings.name,
	})
	if err != nil {
		return nil, a.explain(opAddToken, err)
	}
	return answer, nil
}

// Tokens returns the tokens that the member at the first address accepts.
func (a *Admin) Tokens(ctx context.Context) (*AccessTokens, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).ListTokens(ctx, &schema.ListTokensRequest{})
	if err != nil {
		return nil, a.explain(opTokens, err)
	}
	return answer, nil
}

// RevokeToken makes the member at the first address refuse a token. Sessions that were opened with it live on until their
// ttl ends. The error is an ErrNotHeld if the member has no token of that name.
func (a *Admin) RevokeToken(ctx context.Context, name string) (*AccessToken, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).RevokeToken(ctx, &schema.RevokeTokenRequest{Name: name, By: a.settings.name})
	if err != nil {
		return nil, a.explain(opRevokeToken, err)
	}
	return answer, nil
}

// Sessions returns the sessions that clients have at the member at the first address, or only those of one subject if
// it is not "".
func (a *Admin) Sessions(ctx context.Context, subject string) (*SessionList, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).ListSessions(ctx, &schema.ListSessionsRequest{Subject: subject})
	if err != nil {
		return nil, a.explain(opSessions, err)
	}
	return answer, nil
}

// TerminateSession ends a session of another client at the member at the first address, and returns the locks it held,
// once that client has stopped or can no longer believe that it holds them. The reason is a required text for people.
// The error is an ErrLost if the member does not have the session.
func (a *Admin) TerminateSession(ctx context.Context, id, reason string) (*SessionReleased, error) {
	answer, err := schema.NewAdminClient(a.members[0].conn).TerminateSession(ctx, &schema.TerminateSessionRequest{
		Session: id, Reason: reason, By: a.settings.name,
	})
	if err != nil {
		return nil, a.explain(opTerminate, err)
	}
	return answer, nil
}

// WatchAudit yields the latest entries of the audit log of the member at the first address, at most last of them and
// oldest first, and then each entry as it is written, until ctx or the member ends; an error is the last element. Each
// begun is called before the first entry, with the number of the entries that come at once: what follows them is new.
func (a *Admin) WatchAudit(ctx context.Context, last int, begun ...func(latest int)) iter.Seq2[*AuditEntry, error] {
	return func(yield func(*AuditEntry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		entries, err := schema.NewAdminClient(a.members[0].conn).WatchAudit(ctx, &schema.WatchAuditRequest{Last: int32(last)})
		var header metadata.MD
		if err == nil {
			header, err = entries.Header()
		}
		if err == nil && header != nil { // else Recv says why the stream has ended
			latest := latestIn(header)
			for _, tell := range begun {
				tell(latest)
			}
		}
		for err == nil {
			var entry *schema.AuditEntry
			if entry, err = entries.Recv(); err == nil && !yield(entry, nil) {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
		case header != nil && unreached(err):
			ended := fmt.Errorf("%w: the member's audit log has ended: %w", holdfast.ErrUnavailable, reasonOf(opAudit, err))
			yield(nil, &holdfast.Error{Op: opAudit, Err: ended})
		default:
			yield(nil, a.explain(opAudit, err))
		}
	}
}

// latestIn returns the number of the latest entries in the header of a feed of the audit log.
func latestIn(header metadata.MD) int {
	for _, text := range header.Get(api.LatestKey) {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	return 0
}
