package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// raw opens a connection and says something on it.
func (b *webHarness) raw(say string) net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.address)
	must(b.t, err)
	b.t.Cleanup(func() { _ = c.Close() }) // it may be closed already
	_, err = io.WriteString(c, say)
	must(b.t, err)
	return c
}

// rest reads until the other side closes; that it does is what is tested.
func rest(t testing.TB, c net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return string(text)
}

// refused returns the count of refused input by its reason.
func (b *webHarness) refused(why string) float64 {
	b.t.Helper()
	var n float64
	for line := range strings.Lines(b.get(200, "/metrics").raw) {
		if count, ok := strings.CutPrefix(line, fmt.Sprintf("holdfast_refused_total{why=%q} ", why)); ok {
			_, err := fmt.Sscan(count, &n)
			must(b.t, err)
		}
	}
	return n
}

func TestGarbageOverHTTP(t *testing.T) {
	b := newWebHarness(t, nil)
	said := []string{
		"\x00\x01\x02\x03garbage\r\n\r\n",
		"GET / HTTP/9.9\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"GET /" + strings.Repeat("x", 64<<10),
	}
	for _, say := range said {
		answer := rest(t, b.raw(say))
		if strings.HasPrefix(answer, "HTTP/1.1 2") {
			t.Errorf("%.40q is answered with %q", say, answer)
		}
	}
	for b.refused("malformed") < float64(len(said)) {
		runtime.Gosched() // a connection is counted when its serving has ended
	}
}

// TestHalfHeader: a header that never ends is not waited for.
func TestHalfHeader(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Header = 50 * time.Millisecond })
	rest(t, b.raw("GET /healthz HTTP/1.1\r\nHost: loc"))
}

// TestHalfBodies: nor is a body that does not end, whether a route wants it or not.
func TestHalfBodies(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Body = 500 * time.Millisecond })
	wanted := b.raw("POST " + acquirePath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"name\":")
	var unwanted []net.Conn
	for _, begun := range []string{
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
		"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{",
		"POST " + acquirePath + " HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 50\r\n\r\n{",
		"POST " + acquirePath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n\r\n{",
	} {
		unwanted = append(unwanted, b.raw(begun))
	}
	if answer := rest(t, wanted); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, `"code":"bad_request"`) {
		t.Errorf("half a body: %q", answer)
	}
	for _, c := range unwanted {
		rest(t, c)
	}
	if status := b.get(200, "/v1/status"); status.list("spaces")[0]["locks"] != 0.0 {
		t.Errorf("something was kept: %s", status.raw)
	}
}

// TestHalfClosed: a client that closes its side of the connection behind its request is answered, unless it waits: one
// that waits and has gone closes it, too.
func TestHalfClosed(t *testing.T) {
	b := newWebHarness(t, nil)
	post := func(body string) string {
		c := b.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", acquirePath, len(body), body))
		must(t, c.(*net.TCPConn).CloseWrite())
		return rest(t, c)
	}
	for i := range 20 { // the server may see the end before or after the request
		if answer := post(fmt.Sprintf(`{"name":"x%d"}`, i)); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Fatalf("acquire: %q", answer)
		}
	}
	if answer := post(`{"name":"x0"}`); !strings.HasPrefix(answer, "HTTP/1.1 409 ") || !strings.Contains(answer, `"code":"held"`) {
		t.Errorf("what is held: %q", answer)
	}
	if answer := post(`{"name":"x0","wait":"1m"}`); !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "the client has closed its side of the connection, which ends its wait") {
		t.Errorf("a wait: %q", answer)
	}
}

func TestLargeBodyIsNotRead(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.MessageBytes = 1000 })
	r := b.request(http.MethodPost, acquirePath, `{"name":"`+strings.Repeat("x", 1<<20)+`"}`)
	answer := b.wants(413, r)
	if answer.text("code") != "too_large" || !strings.Contains(answer.text("detail"), "1000 bytes") {
		t.Errorf("large: %s", answer.raw)
	}
}

// TestHalfOpenHTTPConnections has thousands of connections that begin a request and
// never end it, and some that open a wait; others are served as if nothing was.
func TestHalfOpenHTTPConnections(t *testing.T) {
	b := newWebHarness(t, nil)
	half := 3000
	var files syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	half = min(half, int(min(files.Cur, 1<<20))/3) // both ends are ours
	for i := range half {
		b.raw([]string{"", "G", "POST / HTTP/1.1\r\nHost: localhost\r\n"}[i%3])
	}
	got := b.acquire(object{"name": "x"})
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	b.get(200, "/readyz")
}

// TestShutdownOutlivesRequests: when its time is over the connections are closed,
// and what they had under way has ended before Shutdown returns.
func TestShutdownOutlivesRequests(t *testing.T) {
	var identified, ended atomic.Bool
	entered, cut := make(chan struct{}), make(chan struct{})
	b := newWebHarness(t, func(c *Config) {
		identity := c.Identity
		c.Identity = func() Identity {
			if identified.CompareAndSwap(true, false) {
				close(entered)
				<-cut
				for range 10_000 {
					runtime.Gosched() // a shutdown that does not wait for this is long over
				}
				ended.Store(true)
			}
			return identity()
		}
	})
	c := b.raw("")
	identified.Store(true)
	_, err := io.WriteString(c, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
	must(t, err)
	<-entered
	go func() {
		defer close(cut)
		_, _ = c.Read(make([]byte, 1)) // returns when the connection was closed
	}()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.server.web.stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("out of time: %v", err)
	}
	if !ended.Load() {
		t.Error("a request is still under way")
	}
}

func TestHTTPConnectionLimit(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Connections = 2 })
	b.get(200, "/healthz") // one, kept by the client
	second := b.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(second), nil)
	must(t, err)
	must(t, response.Body.Close())
	if answer := rest(t, b.raw("")); answer != "" {
		t.Errorf("a third one got %q", answer)
	}
	if n := b.refused("connections"); n != 1 {
		t.Errorf("%v connections were refused", n)
	}
	must(t, second.Close())
	for {
		c := b.raw("GET /healthz HTTP/1.0\r\n\r\n")
		if strings.HasPrefix(rest(t, c), "HTTP/1.0 200") {
			return // its place has become free
		}
	}
}

func TestSlowReaderOfAnswers(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Body = 250 * time.Millisecond })
	c := b.raw("")
	must(t, c.(*net.TCPConn).SetReadBuffer(1))
	// It asks for more than the buffers between the two take, and reads nothing. The
	// server gives up on it: writing fails, though nothing was ever read.
	flood := strings.Repeat("GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 100)
	for {
		if _, err := io.WriteString(c, flood); err != nil {
			break
		}
	}
	b.get(200, "/healthz")
}

func TestHTTPOverTLS(t *testing.T) {
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	certificates := borrowed.TLS.Certificates
	pool := x509.NewCertPool()
	pool.AddCert(borrowed.Certificate())
	borrowed.Close()
	b := newWebHarness(t, func(c *Config) { c.TLS = &tls.Config{Certificates: certificates} })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	response, err := client.Get("https://" + b.address + "/healthz")
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != 200 {
		t.Errorf("over TLS: %d", response.StatusCode)
	}
	if answer := rest(t, b.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")); strings.HasPrefix(answer, "HTTP/1.1 2") {
		t.Errorf("plain text is answered with %q", answer)
	}
}
