package server

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A caller may use a part of what a member bounds: what the policy says for its subject, or a share of the bound.
// Sessions, locks and waiting requests are counted by the session machine, which charges them to an owner; the other
// bounds by a tally.

// shareOf is the share of a bound that one caller may use if the policy does not say otherwise: a quarter.
const shareOf = 4

// The names of the quotas that a tally keeps.
const (
	quotaWatchers = "quota_watchers"
	quotaRequests = "quota_requests"
)

// share returns a caller's share of a bound.
func share(bound int) int { return max(1, bound/shareOf) }

// account returns the name to which a caller's use is charged: its subject, or its address.
func (v caller) account() string {
	if identity := v.identity(); identity != "" {
		return identity
	}
	return "address " + clientName(v.address, "")
}

// isAtHome reports whether a caller has the whole of each bound, unless the policy says otherwise: it comes through a
// socket, from this machine without credentials, or is a member.
func isAtHome(v access.Subject) bool {
	return v.Near && v.Name == access.Anonymous || v.Name == "" || strings.HasPrefix(v.Name, "uid:") || strings.HasPrefix(v.Name, "member:")
}

// owner returns the owner that is charged a caller's sessions.
func (s *service) owner(v caller) session.Owner {
	return session.Owner{Name: v.account(), Quota: s.quota(v.subject)}
}

// quota returns the quota of a subject in the session machine.
func (s *service) quota(v access.Subject) session.Quota {
	given := s.guard.Policy().Quota(v)
	q := session.Quota{Sessions: given.Sessions, Locks: given.Locks, Waiters: given.Waiters}
	if !isAtHome(v) {
		names := share(s.limits.LockNames)
		q.Sessions, q.Locks, q.Waiters = cmp.Or(q.Sessions, share(s.limits.Sessions)), cmp.Or(q.Locks, names), cmp.Or(q.Waiters, names)
		q.PerName = share(s.limits.WaitersPerName)
	}
	return q
}

// reallot passes the quotas on to the session machine after a change of the policy.
func (s *service) reallot(before *access.Policy) *access.Policy {
	policy := s.guard.Policy()
	if policy == before {
		return policy
	}
	allot := &session.Allot{}
	//tidy:unordered each owner is set by itself
	for name, subject := range s.clients.seen() {
		allot.Owners = append(allot.Owners, session.Owner{Name: name, Quota: s.quota(subject)})
	}
	s.driver.Step(protocol.Event{Kind: protocol.Call, Call: s.driver.Unheard(), Fact: allot})
	return policy
}

// tally counts what each caller uses of one bound.
type tally struct {
	limit string // the quota's name
	key   string // of the bound, below limits
	what  string

	mu sync.Mutex
	of map[string]int
}

// take adds n to what a caller uses of a bound. The ErrLimit says that this is more than its share.
func (t *tally) take(v caller, n, bound int) error {
	account, most := v.account(), share(bound)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[account]+n > most && !isAtHome(v.subject) {
		return &api.Failure{
			Code: api.CodeLimit, Err: &holdfast.LimitError{Limit: t.limit, Value: int64(most)},
			Detail: fmt.Sprintf("%s has its share of %d %s, a quarter of limits.%s; end some, or set that key to more", account, most, t.what, t.key),
		}
	}
	if t.of == nil {
		t.of = map[string]int{}
	}
	t.of[account] += n
	return nil
}

// give takes n back.
func (t *tally) give(v caller, n int) {
	account := v.account()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[account] -= n; t.of[account] <= 0 {
		delete(t.of, account)
	}
}
