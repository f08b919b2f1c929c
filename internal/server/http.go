package server

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/certificate"
)

// maxHTTPHeader bounds the header of a request.
const maxHTTPHeader = 32 << 10

// openapi is the document that describes the API.
//
//go:embed openapi.json
var openapi []byte

// web serves port 4041: the service as JSON over HTTP.
type web struct {
	service      *service
	hosts        hosts
	routes       []route
	metrics      http.Handler
	server       *http.Server
	bound        int
	certificates *certificate.Store // nil in plain text

	// own is read-locked by each request on a connection of server, and gone is set
	// under its lock when there shall be no more.
	own  sync.RWMutex
	gone bool
}

func newWeb(c Config, s *service) *web {
	h := &web{
		service:      s,
		hosts:        newHosts(c),
		metrics:      promhttp.HandlerFor(s.observer.registry, promhttp.HandlerOpts{}),
		bound:        c.Limits.Connections,
		certificates: c.Certificates,
	}
	h.routes = h.table()
	h.server = h.newServer(c)
	return h
}

// exchange is one request on its way through a handler.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	arrived time.Duration // on the driver's clock
	space   string        // from the path
	name    string        // from the path
	query   map[string]string
	caller  caller
	body    []byte
}

// route is one row of the table of calls. Its path is cut at slashes; {space} stands
// for one part, and {name...} for all that follow.
type route struct {
	method string
	path   []string
	query  []string // the parameters that are known
	serve  func(c *exchange) error
}

// table lists the calls. docs/design/formats.md §1 says which part of them is stable.
func (h *web) table() []route {
	post := func(path string, serve func(*exchange) error) route {
		return route{http.MethodPost, strings.Split(path, "/"), nil, serve}
	}
	get := func(path string, serve func(*exchange) error, query ...string) route {
		return route{http.MethodGet, strings.Split(path, "/"), query, serve}
	}
	return []route{
		post("v1/spaces/{space}/acquire", h.acquire),
		post("v1/spaces/{space}/release", h.release),
		post("v1/sessions/renew", h.renew),
		post("v1/sessions/end", h.end),
		get("v1/spaces/{space}/locks", h.list, "prefix", "limit", "after", "stale"),
		get("v1/spaces/{space}/locks/{name...}", h.show, "stale"),
		post("v1/spaces/{space}/break", h.breakLock),
		post("v1/spaces/{space}/suspend", h.suspend),
		post("v1/spaces/{space}/resume", h.resume),
		post("v1/spaces/{space}/transfer", h.transfer),
		post("v1/spaces/{space}/open", h.openSpace),
		post("v1/spaces/{space}/close", h.closeSpace),
		get("v1/status", h.status),
		get("v1/events", h.events, "space", "prefix"),
		get("v1/openapi.json", h.openapi),
		get("healthz", h.health),
		get("readyz", h.ready),
		get("metrics", h.measures),
	}
}

// admit takes the token of a request. What says how this member is costs none: it is
// asked by those who look after it.
func (t *route) admit(s *service, c *exchange) error {
	if s.clients == nil || t.path[0] != "v1" {
		return nil
	}
	requests, returns := 1, 0
	switch t.path[len(t.path)-1] {
	case "release", "renew", "end":
		requests, returns = 0, 1
	}
	return s.admit(clientName(c.r.RemoteAddr, c.caller.identity), requests, returns, c.arrived)
}

// match reports whether a path, cut at slashes and still encoded, is the route's,
// and what stands for its space and name.
func (t *route) match(parts []string) (space, name string, ok bool) {
	for i, want := range t.path {
		switch {
		case i >= len(parts):
			return "", "", false
		case want == "{name...}":
			return space, strings.Join(parts[i:], "/"), true
		case want == "{space}":
			space = parts[i]
		case want != parts[i]:
			return "", "", false
		}
	}
	return space, name, len(parts) == len(t.path)
}

// ServeHTTP answers one request. Even if serving it fails, it is answered or its connection
// is closed, and others go on.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &exchange{w: w, r: r, arrived: h.service.now()}
	markServed(r.Context())
	defer h.recovered(c)
	h.setWriteDeadline(c, time.Time{}) // the last answer on this connection has left one
	if err := h.serve(c); err != nil {
		h.refuse(c, err)
	}
}

// serve finds the route, checks what all calls have in common, and calls it.
func (h *web) serve(c *exchange) error {
	if c.r.ContentLength != 0 {
		// A body that is never read has its limit as well: when the request was answered,
		// what is left of it is waited for, to go on with the next.
		if err := c.limitRead(time.Now().Add(h.service.limits.Body)); err != nil {
			return err
		}
	}
	if err := h.hosts.check(c.r); err != nil {
		return err
	}
	if err := checkOrigin(c.r); err != nil {
		return err
	}
	if err := h.recognize(c); err != nil {
		return err
	}
	parts := strings.Split(strings.TrimPrefix(c.r.URL.EscapedPath(), "/"), "/")
	var allowed []string
	for i := range h.routes {
		t := &h.routes[i]
		space, name, ok := t.match(parts)
		if !ok {
			continue
		}
		if t.method != c.r.Method && (t.method != http.MethodGet || c.r.Method != http.MethodHead) {
			allowed = append(allowed, t.method)
			continue
		}
		if err := t.admit(h.service, c); err != nil {
			return err
		}
		if err := c.read(t, space, name, h.service.limits); err != nil {
			return err
		}
		return t.serve(c)
	}
	if len(allowed) > 0 {
		return &statusError{http.StatusMethodNotAllowed, slices.Compact(allowed), api.Fail(api.CodeBadRequest,
			fmt.Sprintf("method %.20q: this path takes %s", c.r.Method, strings.Join(slices.Compact(allowed), ", ")))}
	}
	return api.Fail(api.CodeUnknownPath, fmt.Sprintf("unknown path %.200q; GET /v1/openapi.json lists them", c.r.URL.EscapedPath()))
}

// statusError is a refusal whose status is not the one that goes with its code.
type statusError struct {
	status int
	allow  []string
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// refuse answers with a problem document.
func (h *web) refuse(c *exchange, err error) {
	document := api.NewProblem(err)
	var special *statusError
	if errors.As(err, &special) {
		document.Status = special.status
		document.Title = http.StatusText(special.status)
		if len(special.allow) > 0 {
			c.w.Header().Set("Allow", strings.Join(special.allow, ", "))
		}
	}
	var waiting *waitingError
	document.Retry = errors.As(err, &waiting)
	switch document.Code {
	case api.CodeLimit:
		if document.Limit == rateLimit || document.Limit == overloaded {
			c.w.Header().Set("Retry-After", "1")
		}
	case api.CodeUnavailable:
		c.w.Header().Set("Retry-After", strconv.Itoa(h.service.retryAfter(c.space)))
	case api.CodeBadRequest, api.CodeName, api.CodeTooLarge, api.CodeDenied, api.CodeUnauthenticated, api.CodeUnknownPath:
		h.service.observer.refused(document.Code)
	case api.CodeInternal:
		h.service.logger.Error("a request ended in an internal error", "path", c.r.URL.Path, "error", err)
	}
	h.write(c, document.Status, "application/problem+json", document)
}

// answer answers with a document.
func (h *web) answer(c *exchange, document any, err error) error {
	if err != nil {
		return err
	}
	h.write(c, http.StatusOK, "application/json", document)
	return nil
}

func (h *web) write(c *exchange, status int, contentType string, document any) {
	h.writeBytes(c, status, contentType, encoded(document))
}

func encoded(document any) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		panic(fmt.Sprintf("server: encode %T: %v", document, err))
	}
	return body.Bytes()
}

// writeBytes sends an answer. A reader that does not take it in time loses its connection.
// So does one whose connection breaks, and no error can be sent to it.
func (h *web) writeBytes(c *exchange, status int, contentType string, body []byte) {
	header := c.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	h.limitWrite(c)
	c.w.WriteHeader(status)
	if _, err := c.w.Write(body); err != nil {
		h.service.logger.Debug("an answer was not taken", "path", c.r.URL.Path, "error", err)
	}
}

// limitWrite gives the reader of the next part of an answer its time.
func (h *web) limitWrite(c *exchange) {
	h.setWriteDeadline(c, time.Now().Add(h.service.limits.Body))
}

// setWriteDeadline does nothing on a server that knows no deadlines; it has its own
// way to end slow connections.
func (h *web) setWriteDeadline(c *exchange, at time.Time) {
	err := http.NewResponseController(c.w).SetWriteDeadline(at)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		h.service.logger.Debug("set a write deadline", "error", err)
	}
}

// recovered keeps a mistake of this server in one request.
func (h *web) recovered(c *exchange) {
	mistake := recover()
	if mistake == nil {
		return
	}
	if mistake == http.ErrAbortHandler {
		panic(mistake)
	}
	h.service.observer.refused(api.CodeInternal)
	h.service.logger.Error("a request has panicked", "method", c.r.Method, "path", c.r.URL.Path,
		"panic", fmt.Sprint(mistake), "stack", string(debug.Stack()))
	h.refuse(c, api.Fail(api.CodeInternal, "internal error; the log of this member tells more"))
}

// newServer returns the server of the port, with its limits in time and size. There
// is no limit for a whole request, which may wait for long; its header, its body and
// each part of its answer have their own.
func (h *web) newServer(c Config) *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(h.serveOwn),
		ReadHeaderTimeout: c.Limits.Header,
		IdleTimeout:       c.Limits.Idle,
		MaxHeaderBytes:    maxHTTPHeader,
		ErrorLog:          quietLog(c.Logger),
		ConnContext:       func(ctx context.Context, conn net.Conn) context.Context { return withConnection(ctx, conn) },
	}
}
