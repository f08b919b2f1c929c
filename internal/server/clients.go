package server

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/peer"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// rateLimit is the name of the limit on a client's request rate.
const rateLimit = "requests_per_second"

// maxClients is the maximum number of clients that are counted separately.
const maxClients = 16_384

// clients counts the requests of each client, if Limits.Rate bounds them. A client is identified by the name in its
// verified certificate, and otherwise by its address, with all its connections, streams and sessions together, so
// opening more of them gains nothing. An IPv6 client is identified by its network, because one machine has all
// addresses of it.
//
// A bucket has the tokens of one second, or Limits.Burst, for new requests, and as many again for requests that keep or
// release: a release, cancel, renewal or end is refused only to a client that sends twice its allowance. So a client
// that respects its refusals never loses its session or strands a lock by this limit.
type clients struct {
	rate  rate.Limit
	burst int
	value int64 // of the limit, for its error

	mu     sync.Mutex
	byName map[string]*client
	others *client       // shared by the clients for which there is no room
	swept  protocol.Time // when idle clients were last forgotten
}

// client is the rate state of one client. Nil has no limit.
type client struct {
	all *clients

	mu      sync.Mutex
	bucket  *rate.Limiter
	streams int // open ones; guarded by the mutex of clients
}

// newClients returns nil if there is no limit.
func newClients(l Limits) *clients {
	if l.Rate == 0 {
		return nil
	}
	c := &clients{rate: rate.Limit(l.Rate), burst: l.Burst, value: int64(l.Rate), byName: map[string]*client{}}
	if c.burst == 0 {
		c.burst = l.Rate
	}
	c.others = c.newClient()
	return c
}

func (c *clients) newClient() *client {
	return &client{all: c, bucket: rate.NewLimiter(c.rate, 2*c.burst)}
}

// find returns the client of that name.
func (c *clients) find(name string, now protocol.Time) *client {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(name, now)
}

func (c *clients) findLocked(name string, now protocol.Time) *client {
	if known := c.byName[name]; known != nil {
		return known
	}
	if len(c.byName) >= maxClients {
		c.sweep(now)
	}
	if len(c.byName) >= maxClients {
		return c.others
	}
	one := c.newClient()
	c.byName[name] = one
	return one
}

// sweep forgets, at most once a second, clients without a stream and with a full bucket: a new one would be the same.
func (c *clients) sweep(now protocol.Time) {
	if now-c.swept < time.Second {
		return
	}
	c.swept = now
	//tidy:unordered each is looked at for itself
	for name, one := range c.byName {
		if one.streams == 0 && one.bucket.TokensAt(instant(now)) >= float64(2*c.burst) {
			delete(c.byName, name)
		}
	}
}

// enter is find for a stream, which calls leave at its end.
func (c *clients) enter(name string, now protocol.Time) *client {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.findLocked(name, now)
	one.streams++
	return one
}

func (c *client) leave() {
	if c == nil {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.streams--
}

// admit takes tokens for a number of requests at now, and returns how many got one. Requests are new work; returns keep
// or release.
func (c *client) admit(now protocol.Time, requests, returns int) (mayRequest, mayReturn int) {
	if c == nil {
		return requests, returns
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	mayRequest, mayReturn = c.left(now, requests, returns)
	c.bucket.AllowN(instant(now), mayRequest+mayReturn)
	return mayRequest, mayReturn
}

// admitAll takes a token for each, or none if there are too few, and reports whether it did.
func (c *client) admitAll(now protocol.Time, requests, returns int) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	mayRequest, mayReturn := c.left(now, requests, returns)
	return mayRequest == requests && mayReturn == returns && c.bucket.AllowN(instant(now), requests+returns)
}

// left returns for how many of each there are tokens.
func (c *client) left(now protocol.Time, requests, returns int) (mayRequest, mayReturn int) {
	tokens := int(c.bucket.TokensAt(instant(now)))
	mayReturn = min(returns, tokens)
	return min(requests, max(0, tokens-mayReturn-c.all.burst)), mayReturn
}

// instant converts a time of the driver's clock for a bucket.
func instant(now protocol.Time) time.Time { return time.Unix(0, int64(now)) }

// admit admits a client's call with that many requests and returns, all or none, or returns the ErrLimit that refuses
// it.
func (s *service) admit(name string, requests, returns int, now protocol.Time) error {
	if s.clients == nil {
		return nil
	}
	if !s.clients.find(name, now).admitAll(now, requests, returns) {
		s.observer.refused(rateLimit)
		return s.clients.refusal()
	}
	return nil
}

func (c *clients) refusal() error { return &holdfast.LimitError{Limit: rateLimit, Value: c.value} }

// clientName returns the name under which a client's requests are counted: identity is its verified identity, or "".
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

// callerName is clientName for a gRPC call.
func callerName(ctx context.Context) string {
	caller, known := peer.FromContext(ctx)
	if !known {
		return ""
	}
	return clientName(caller.Addr.String(), callerOf(ctx).identity())
}
