package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/jwt"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

// Caller is what a port knows of a caller.
type Caller struct {
	// Certificate is the subject of its client certificate; empty without a valid one.
	Certificate string
	// Bearer is the token or JWT that it sends; empty without one.
	Bearer string
	// User and Groups are those of the process at the other end of a Unix socket: uid:N and gid:N. Empty on others.
	User   string
	Groups []string
	// Address is the address of the connection.
	Address string
	// Private reports that other machines cannot read the connection: it is encrypted, loopback or a socket.
	Private bool
	// Near reports that the caller is on this machine, or is a member.
	Near bool
}

// Kinds of failures, for the metric of failed authentications.
const (
	KindPlaintext = "plaintext"
	KindUnknown   = "unknown_token"
	KindExpired   = "expired"
)

// Failure is why credentials are not valid.
type Failure struct {
	Kind string // a word for metrics
	err  error
}

func (f *Failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.err }

// Authenticate returns the subject of a caller. The error is a *[Failure].
func (g *Guard) Authenticate(ctx context.Context, c Caller) (access.Subject, error) {
	s := access.Subject{Near: c.Near}
	switch {
	case c.Certificate != "":
		s.Name = c.Certificate
	case c.Bearer != "" && !c.Private:
		return s, &Failure{KindPlaintext, errors.New("a token came over a connection without TLS, where others can read it; revoke it, and connect with TLS")}
	case c.Bearer != "" && jwt.Looks(c.Bearer):
		return g.proven(ctx, c, s)
	case c.Bearer != "":
		return g.known(c, s)
	case c.User != "":
		s.Name, s.Also = c.User, c.Groups
	default:
		s.Name = access.Anonymous
	}
	return s, nil
}

// known returns the subject of a token.
func (g *Guard) known(c Caller, s access.Subject) (access.Subject, error) {
	if g.tokens == nil {
		return s, &Failure{KindUnknown, errors.New("this member takes no tokens: it has no tokens file")}
	}
	record, err := g.tokens.Lookup(c.Bearer, g.now())
	if err != nil {
		kind := KindUnknown
		if errors.Is(err, token.ErrExpired) {
			kind = KindExpired
		}
		return s, &Failure{kind, err}
	}
	s.Name = "token:" + record.Name
	if g.used.first(record.Name, g.now()) {
		g.log.Add(audit.Entry{Event: audit.TokenUsed, Subject: s.Name, Address: c.Address, Result: "ok"})
	}
	return s, nil
}

// proven returns the subject of a JWT.
func (g *Guard) proven(ctx context.Context, c Caller, s access.Subject) (access.Subject, error) {
	now := g.inForce()
	if now.jwts == nil {
		return s, &Failure{"issuer", errors.New("this member takes no JWT: its policy has no issuers")}
	}
	claims, err := now.jwts.Verify(ctx, c.Bearer)
	if err != nil {
		return s, &Failure{jwt.Kind(err), err}
	}
	s = subjectOf(claims, s)
	if g.used.first(s.Name, g.now()) {
		g.log.Add(audit.Entry{Event: audit.TokenUsed, Subject: s.Name, Address: c.Address, Result: "ok"})
	}
	return s, nil
}

func subjectOf(claims jwt.Claims, s access.Subject) access.Subject {
	s.Name = fmt.Sprintf("jwt:%s#%s", claims.Issuer, claims.Subject)
	for _, group := range claims.Groups {
		s.Also = append(s.Also, fmt.Sprintf("group:%s#%s", claims.Issuer, group))
	}
	return s
}

// LastUse returns when a token was last used; zero if never since the start.
func (g *Guard) LastUse(name string) time.Time { return g.used.last(name) }

// uses has when each token was used. It is bounded: beyond the bound it forgets all, so that some uses are reported again
// within their hour.
type uses struct {
	mu     sync.Mutex
	latest map[string]use
}

type use struct{ reported, last time.Time }

const (
	mostUses = 100_000
	useHour  = time.Hour
)

// first records a use, and reports whether it is the first within an hour of the last reported one.
func (u *uses) first(name string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, is := u.latest[name]
	if u.latest == nil || !is && len(u.latest) >= mostUses {
		u.latest = map[string]use{}
	}
	fresh := !is || now.Sub(known.reported) >= useHour
	if fresh {
		known.reported = now
	}
	known.last = now
	u.latest[name] = known
	return fresh
}

func (u *uses) last(name string) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.latest[name].last
}
