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

// rateLimit is the name of the limit of what one client may ask.
const rateLimit = "requests_per_second"

// maxClients is how many clients are counted separately.
const maxClients = 16_384

// clients counts what each client asks, where Limits.Rate bounds that. A client is whose
// certificate was verified, by its name, and otherwise who comes from one address, by
// that: all its connections, streams and sessions together, so that opening more of them
// gains nothing. Of an IPv6 address the network counts, of which one machine has all
// addresses.
//
// A bucket has a second's worth of tokens, or Limits.Burst, for what asks for something,
// and as many again for what keeps or gives back: a release, a cancel, a renewal, an end
// are refused only to a client that sends twice as many as it may ask. So a client that
// keeps to what it was refused never loses its session or strands a lock by this limit.
type clients struct {
	rate  rate.Limit
	burst int
	value int64 // of the limit, as its error reports it

	mu     sync.Mutex
	byName map[string]*client
	others *client       // shares its tokens among those for which there is no room
	swept  protocol.Time // when those who have been quiet were forgotten last
}

// client is the client that asks. A nil one has no limit.
type client struct {
	all *clients

	mu      sync.Mutex
	bucket  *rate.Limiter
	streams int // open ones; guarded by the mutex of clients
}

// newClients returns nil where there is no limit.
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

// sweep forgets, at most once a second, who has no stream and a full bucket: a new one
// is no different.
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

// admit takes a token for each of what was asked at now, and returns how many of them
// have got one: requests ask for something, and returns keep or give back.
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

// admitAll takes a token for each, or none where there are too few, and reports which.
func (c *client) admitAll(now protocol.Time, requests, returns int) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	mayRequest, mayReturn := c.left(now, requests, returns)
	return mayRequest == requests && mayReturn == returns && c.bucket.AllowN(instant(now), requests+returns)
}

// left returns how many of each there are tokens for.
func (c *client) left(now protocol.Time, requests, returns int) (mayRequest, mayReturn int) {
	tokens := int(c.bucket.TokensAt(instant(now)))
	mayReturn = min(returns, tokens)
	return min(requests, max(0, tokens-mayReturn-c.all.burst)), mayReturn
}

// instant is a time of the driver's clock as a bucket wants it.
func instant(now protocol.Time) time.Time { return time.Unix(0, int64(now)) }

// admit admits one request of the client of that name that asks for so many things, all or
// none, or returns the ErrLimit that refuses it.
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

// clientName says whose requests are counted together: identity is who the client has
// proved to be, or "".
func clientName(address, identity string) string {
	if identity != "" {
		return identity
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "this machine" // a socket in the file system
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

// callerName is clientName for a call of gRPC.
func callerName(ctx context.Context) string {
	caller, known := peer.FromContext(ctx)
	if !known {
		return ""
	}
	return clientName(caller.Addr.String(), callerOf(ctx).identity)
}
