package server

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/protocol"
)

// rateLimit is the name of the limit on a client's request rate.
const rateLimit = "requests_per_second"

// maxClients is the maximum number of clients that are counted separately.
const maxClients = 16_384

// clients has the state of each client: its rate, if Limits.Rate or the policy bounds it, and its turn. A client is
// identified by its verified identity, and otherwise by its address, with all its connections, streams and sessions
// together, so opening more of them gains nothing. An IPv6 client is identified by its network, because one machine has
// all addresses of it.
//
// A bucket has the tokens of one second, or Limits.Burst, for new requests, and as many again for requests that keep or
// release: a release, cancel, renewal or end is refused only to a client that sends twice its allowance. So a client
// that respects its refusals never loses its session or strands a lock by this limit.
type clients struct {
	policy func() *access.Policy
	rate   int // Limits.Rate
	burst  int // of that

	mu     sync.Mutex
	byName map[string]*client
	others *client       // shared by the clients for which there is no room
	swept  protocol.Time // when idle clients were last forgotten
}

// client is the state of one client.
type client struct {
	all *clients
	// turn is held by the goroutine that steps the driver for this client, or does other heavy work for it: so one
	// client, however many streams and requests it has, competes with another as if it had one.
	turn sync.Mutex

	mu      sync.Mutex
	subject access.Subject // as it was last seen
	policy  *access.Policy // that the rest follows from
	bucket  *rate.Limiter  // nil without a limit
	burst   int
	refuses error // with which the limit refuses

	streams int // open ones; guarded by the mutex of clients
}

func newClients(l Limits, policy func() *access.Policy) *clients {
	c := &clients{policy: policy, rate: l.Rate, burst: cmp.Or(l.Burst, l.Rate), byName: map[string]*client{}}
	c.others = &client{all: c}
	return c
}

// find returns the state of a caller's client.
func (c *clients) find(v caller, now protocol.Time) *client {
	one := c.named(v.account(), now, 0)
	one.heed(v.subject)
	return one
}

// named returns the client of that name, with a number of streams more.
func (c *clients) named(name string, now protocol.Time, streams int) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byName[name]
	if one == nil && len(c.byName) >= maxClients {
		c.sweep(now)
	}
	switch {
	case one == nil && len(c.byName) >= maxClients:
		one = c.others
	case one == nil:
		one = &client{all: c}
		c.byName[name] = one
	}
	one.streams += streams
	return one
}

// heed notes the subject of the client, whose quota may have changed.
func (c *client) heed(subject access.Subject) {
	if c == c.all.others {
		subject = access.Subject{Name: access.Anonymous}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if policy := c.all.policy(); policy != c.policy || subject.Name != c.subject.Name || !slices.Equal(subject.Also, c.subject.Also) {
		c.subject = subject
		c.follow(policy)
	}
}

// follow sets the rate by a policy. It is called with the mutex held.
func (c *client) follow(policy *access.Policy) {
	c.policy = policy
	most, burst := c.all.rate, c.all.burst
	limit := &holdfast.LimitError{Limit: rateLimit, Value: int64(most)}
	c.refuses = limit
	if quota := policy.Quota(c.subject).RequestsPerSecond; quota > 0 {
		most, burst, limit.Value = quota, quota, int64(quota)
		c.refuses = &api.Failure{Code: api.CodeLimit, Err: limit, Detail: fmt.Sprintf(
			"%s makes more than %d requests a second, which is its quota; ask more slowly, or set requests_per_second for it under quotas in the access file",
			c.subject.Name, quota)}
	}
	switch {
	case most == 0:
		c.bucket = nil
	case c.bucket == nil || c.bucket.Limit() != rate.Limit(most) || c.burst != burst:
		c.bucket = rate.NewLimiter(rate.Limit(most), 2*burst)
	}
	c.burst = burst
}

// sweep forgets, at most once a second, clients without a stream and with a full bucket: a new one would be the same.
func (c *clients) sweep(now protocol.Time) {
	if now-c.swept < time.Second {
		return
	}
	c.swept = now
	//tidy:unordered each is looked at for itself
	for name, one := range c.byName {
		if one.streams == 0 && one.isFull(now) {
			delete(c.byName, name)
		}
	}
}

// isFull reports whether a new client would be the same.
func (c *client) isFull(now protocol.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bucket == nil || c.bucket.TokensAt(instant(now)) >= float64(2*c.burst)
}

// enter is find for a stream, which calls leave at its end.
func (c *clients) enter(v caller, now protocol.Time) *client {
	one := c.named(v.account(), now, 1)
	one.heed(v.subject)
	return one
}

func (c *client) leave() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.streams--
}

// seen returns the subjects of the known clients.
func (c *clients) seen() (subjects map[string]access.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	subjects = make(map[string]access.Subject, len(c.byName))
	//tidy:unordered it becomes a map
	for name, one := range c.byName {
		one.mu.Lock()
		subjects[name] = one.subject
		one.mu.Unlock()
	}
	return subjects
}

// admit takes tokens for a number of requests at now, and returns how many got one. Requests are new work; returns keep
// or release. The error refuses the others.
func (c *client) admit(now protocol.Time, requests, returns int) (mayRequest, mayReturn int, refusal error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limited() {
		return requests, returns, nil
	}
	mayRequest, mayReturn = c.left(now, requests, returns)
	c.bucket.AllowN(instant(now), mayRequest+mayReturn)
	return mayRequest, mayReturn, c.refuses
}

// admitAll takes a token for each, or none if there are too few: then it returns the error that refuses them.
func (c *client) admitAll(now protocol.Time, requests, returns int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limited() {
		return nil
	}
	if mayRequest, mayReturn := c.left(now, requests, returns); mayRequest < requests || mayReturn < returns || !c.bucket.AllowN(instant(now), requests+returns) {
		return c.refuses
	}
	return nil
}

// limited reports whether there is a limit, as the policy in force says. It is called with the mutex held.
func (c *client) limited() bool {
	if policy := c.all.policy(); policy != c.policy {
		c.follow(policy)
	}
	return c.bucket != nil
}

// left returns for how many of each there are tokens.
func (c *client) left(now protocol.Time, requests, returns int) (mayRequest, mayReturn int) {
	tokens := int(c.bucket.TokensAt(instant(now)))
	mayReturn = min(returns, tokens)
	return min(requests, max(0, tokens-mayReturn-c.burst)), mayReturn
}

// instant converts a time of the driver's clock for a bucket.
func instant(now protocol.Time) time.Time { return time.Unix(0, int64(now)) }

// admit admits a caller's call with that many requests and returns, all or none, or returns the ErrLimit that refuses
// it.
func (s *service) admit(v caller, requests, returns int, now protocol.Time) error {
	err := s.clients.find(v, now).admitAll(now, requests, returns)
	if err != nil {
		s.observer.refused(rateLimit)
	}
	return err
}

// clientName returns what identifies a client: identity is its verified identity, or "".
func clientName(address, identity string) string {
	if identity != "" {
		return identity
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "this machine" // a Unix socket
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
