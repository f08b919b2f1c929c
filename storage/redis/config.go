package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/location"
)

const (
	usualPort    = "6379"
	usualPrefix  = "holdfast"
	usualTimeout = 5 * time.Second
	mostRetries  = 100
)

// config is the settings from a URL.
type config struct {
	options rueidis.ClientOption
	prefix  string
	timeout time.Duration
	retries int
}

// parseURL parses a URL.
func parseURL(url string) (*config, error) {
	l, err := location.Parse(url, usualPort, "redis", "rediss")
	if err != nil {
		return nil, err
	}
	c := &config{prefix: l.Text("prefix", usualPrefix) + ":", timeout: l.Duration("timeout", usualTimeout, time.Millisecond), retries: l.Int("retries", 0, 0, mostRetries)}
	if len(l.Hosts) > 1 {
		l.Refuse("has %d hosts; one is allowed, which is the primary: neither a cluster nor sentinels", len(l.Hosts))
	}
	c.options = rueidis.ClientOption{
		InitAddress: l.Hosts[:1], Username: l.User, Password: l.Password,
		ForceSingleClient: true,
		DisableRetry:      true, // a request is sent once
		DisableCache:      true, // only the watcher's own connection uses invalidations
		AlwaysPipelining:  true, // otherwise a request on a lone connection cannot be cancelled before its deadline
		ConnWriteTimeout:  c.timeout,
		Dialer:            net.Dialer{Timeout: c.timeout, KeepAlive: min(c.timeout, time.Second)},
	}
	if number := strings.TrimPrefix(l.Path, "/"); number != "" {
		if c.options.SelectDB, err = strconv.Atoi(number); err != nil || c.options.SelectDB < 0 {
			l.Refuse("has path %q; the number of a database is allowed, as in /0", l.Path)
		}
	}
	if l.Scheme == "rediss" {
		c.options.TLSConfig = l.TLS()
		if c.options.TLSConfig.ServerName == "" {
			c.options.TLSConfig.ServerName, _, _ = net.SplitHostPort(l.Hosts[0]) // of the only host
		}
	}
	return c, l.Err()
}

// connections are the connections of one Store, so that Close can end the requests on them.
type connections struct {
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// dialError is the error of a connection that was never made: nothing was sent on it.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// connection is one of them.
type connection struct {
	net.Conn
	all *connections
}

func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// dial is the client's dialer.
func (c *connections) dial(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil && config != nil {
		encrypted := tls.Client(raw, config)
		if err = encrypted.HandshakeContext(ctx); err != nil {
			raw.Close()
		}
		raw = encrypted
	}
	if err != nil {
		return nil, &dialError{fmt.Errorf("connect to %s: %w", address, err)}
	}
	made := &connection{raw, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		raw.Close()
		return nil, &dialError{errClosed}
	}
	c.open[made] = struct{}{}
	return made, nil
}

// close closes all connections, including later ones.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for open := range c.open {
		// Its own Close waits for this one to finish; closing twice is harmless.
		_ = open.(*connection).Conn.Close()
	}
}

func (c *connections) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// errClosed is the error of a request after Close.
var errClosed = fmt.Errorf("the store was closed: %w", storage.ErrInvalid)

// inspect refuses a server without the features that this package needs.
func inspect(ctx context.Context, client rueidis.Client) error {
	info, err := client.Do(ctx, client.B().Hello().Build()).AsMap()
	if err != nil {
		return err
	}
	field := func(name string) string {
		message := info[name]
		text, err := message.ToString()
		if err != nil {
			return "unknown"
		}
		return text
	}
	var errs []error
	if mode := field("mode"); mode != "standalone" {
		errs = append(errs, fmt.Errorf("the server is in mode %s; standalone is allowed: give the address of a single primary: %w", mode, storage.ErrInvalid))
	}
	if role := field("role"); role != "master" {
		errs = append(errs, fmt.Errorf("the server is a %s, whose answers may be old; give the address of its primary: %w", role, storage.ErrInvalid))
	}
	return errors.Join(errs...)
}
