package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// accept serves the connections of l until stop.
func (h *web) accept(l net.Listener) error {
	l = &countedListener{bound(l, h.bound, h.service.observer).as("http").among(h.service.doors), h.service.observer}
	if h.certificates != nil {
		l = tls.NewListener(l, h.certificates.Web())
	}
	if err := h.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP on %v: %w", l.Addr(), err)
	}
	return nil
}

// stop answers the requests under way, and closes the rest when ctx ends. Afterwards nothing runs that came over the
// connections of accept.
func (h *web) stop(ctx context.Context) error {
	err := h.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("end the HTTP requests under way: %w", err), h.server.Close())
	}
	h.own.Lock() // requests on closed connections notice that soon
	defer h.own.Unlock()
	h.gone = true
	return err
}

// serveOwn is ServeHTTP for a connection of accept.
func (h *web) serveOwn(w http.ResponseWriter, r *http.Request) {
	h.own.RLock()
	defer h.own.RUnlock()
	if h.gone {
		panic(http.ErrAbortHandler) // its connection was closed before it was served
	}
	h.ServeHTTP(w, r)
}

// quietLog receives net/http's messages about single connections.
func quietLog(logger *slog.Logger) *log.Logger {
	return slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
}

// countedListener counts connections whose input never became a request: garbage, or a header that was not finished in
// time.
type countedListener struct {
	net.Listener
	observer *Observer
}

// Accept returns the next connection.
func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, observer: l.observer}, nil
}

type countedConn struct {
	net.Conn
	observer *Observer
	spoke    atomic.Bool
	served   atomic.Bool
	once     sync.Once
}

// Read reads from the connection.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.spoke.Store(true)
	}
	return n, err
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.once.Do(func() {
		if c.spoke.Load() && !c.served.Load() {
			c.observer.refused(malformed)
		}
	})
	return c.Conn.Close()
}

// connectionKey is the key of the connection in the context of its requests.
type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// markServed records that the connection's bytes were a request.
func markServed(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*countedConn); ok {
		c.served.Store(true)
		if counted, is := c.Conn.(*boundConn); is {
			counted.hasCalled()
		}
	}
}

// hosts are the host names allowed in requests to this server. A page in a browser on this machine can reach a server
// on loopback under a name that its author points there; such a request shows it in its Host header.
type hosts struct {
	names    map[string]bool
	identity func() Identity
}

func newHosts(c Config) hosts {
	h := hosts{map[string]bool{"localhost": true}, c.Identity}
	for _, name := range c.Hosts {
		h.names[hostOf(name)] = true
	}
	if name, err := os.Hostname(); err == nil {
		h.names[hostOf(name)] = true
	}
	return h
}

// check refuses a request for another host. A request of HTTP/1.0 without one does not come from a browser.
func (h *hosts) check(r *http.Request) error {
	host := hostOf(r.Host)
	if host == "" || h.names[host] {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if ip.Unmap().IsLoopback() || local != nil && hostOf(local.String()) == ip.Unmap().String() {
			return nil
		}
	}
	identity := h.identity().Member
	if host == hostOf(identity.GetHttp()) || host == hostOf(identity.GetAddress()) {
		return nil
	}
	return api.Fail(api.CodeDenied, fmt.Sprintf("host %.100q is not one of this member's; address it as localhost, by its address, or as it is advertised", r.Host))
}

// checkOrigin refuses requests of a browser on behalf of a page from elsewhere. Browsers mark them: in Origin, in every
// request whose answer could be read or that could change something, and in Sec-Fetch-Site. Following a link to here is
// not such a request. Only browsers send either header.
func checkOrigin(r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || from.Host == "" || !strings.EqualFold(from.Host, r.Host) {
			return api.Fail(api.CodeDenied, fmt.Sprintf("origin %.100q is not this member's own: pages from elsewhere may not ask it", origin))
		}
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	followed := mode == "navigate" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if (site == "cross-site" || site == "same-site") && !followed {
		return api.Fail(api.CodeDenied, "a browser asks on behalf of a page from elsewhere (Sec-Fetch-Site), which may not ask this member")
	}
	return nil
}

// hostOf returns the host of an address without port and brackets, in lower case, and an IP address in its shortest
// form.
func hostOf(address string) string {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.WithZone("").Unmap().String()
	}
	return host
}
