package server

import (
	"context"
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
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/openapi"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
)

// maxHTTPHeader is the maximum size of a request's header.
const maxHTTPHeader = 32 << 10

// web serves port 4041: the service as JSON over HTTP.
type web struct {
	service      *service
	hosts        hosts
	json         *api.JSON
	routes       []route
	metrics      http.Handler
	server       *http.Server
	bound        int
	certificates *certificate.Store // nil in plain text

	// own is read-locked by each request on a connection of server; gone is set under its lock to stop further ones.
	own  sync.RWMutex
	gone bool
}

func newWeb(c Config, s *service) *web {
	h := &web{
		service:      s,
		hosts:        newHosts(c),
		json:         api.NewJSON(),
		metrics:      promhttp.HandlerFor(s.observer.registry, promhttp.HandlerOpts{}),
		bound:        c.Limits.Connections,
		certificates: c.Certificates,
	}
	h.routes = h.table()
	h.server = h.newServer(c)
	return h
}

// exchange is one request in a handler.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	arrived time.Duration // on the driver's clock
	path    []string      // values of the path's fields, still encoded
	space   string        // from the path
	caller  caller
}

// context returns the context of the request's call, with its caller.
func (c *exchange) context() context.Context {
	return context.WithValue(c.r.Context(), knownKey{}, known{c.caller, c.arrived})
}

// route is one row of the table of calls. Its path is split at slashes; {space} matches one part, and {name=**} all
// that follow.
type route struct {
	method string
	path   []string
	call   *webCall // nil for calls outside the schema
	serve  func(c *exchange) error
}

// table lists the calls: those of the schema, and those about this member's health, which cost no token, because
// monitoring uses them. docs/design/formats.md §1 defines which parts are stable.
func (h *web) table() []route {
	get := func(path string, serve func(*exchange) error) route {
		return route{http.MethodGet, strings.Split(path, "/"), nil, func(c *exchange) error {
			if err := h.readQuery(c, nil, nil); err != nil {
				return err
			}
			return serve(c)
		}}
	}
	return slices.Concat(
		h.calls(schema.File_locks_proto.Services().ByName("Locks"), schema.Locks_ServiceDesc),
		h.calls(schema.File_admin_proto.Services().ByName("Admin"), schema.Admin_ServiceDesc),
		[]route{get("v1/openapi.json", h.openapi), get("healthz", h.health), get("readyz", h.ready), get("metrics", h.measures)},
	)
}

// match reports whether a path, split at slashes and still encoded, matches the route, with the values of its fields.
func (t *route) match(parts []string) (fields []string, ok bool) {
	for i, want := range t.path {
		switch {
		case i >= len(parts):
			return nil, false
		case strings.HasSuffix(want, "=**}"):
			return append(fields, strings.Join(parts[i:], "/")), true
		case strings.HasPrefix(want, "{"):
			fields = append(fields, parts[i])
		case want != parts[i]:
			return nil, false
		}
	}
	return fields, len(parts) == len(t.path)
}

// ServeHTTP answers one request. Even if serving it panics, it is answered or its connection is closed, and others
// continue.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &exchange{w: w, r: r, arrived: h.service.now()}
	markServed(r.Context())
	defer h.recovered(c)
	h.setWriteDeadline(c, time.Time{}) // the last answer on this connection has set one
	if err := h.serve(c); err != nil {
		h.refuse(c, err)
	}
}

// serve finds the route, checks what all calls have in common, and calls it.
func (h *web) serve(c *exchange) error {
	if c.r.ContentLength != 0 {
		// An unread body has its limit as well: after the answer the server reads the rest of it, to reuse the
		// connection.
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
		fields, ok := t.match(parts)
		if !ok {
			continue
		}
		if t.method != c.r.Method && (t.method != http.MethodGet || c.r.Method != http.MethodHead) {
			allowed = append(allowed, t.method)
			continue
		}
		c.path = fields
		return t.serve(c)
	}
	if len(allowed) > 0 {
		return &statusError{http.StatusMethodNotAllowed, slices.Compact(allowed), api.Fail(api.CodeBadRequest,
			fmt.Sprintf("method %.20q: this path takes %s", c.r.Method, strings.Join(slices.Compact(allowed), ", ")))}
	}
	return api.Fail(api.CodeUnknownPath, fmt.Sprintf("unknown path %.200q; GET /v1/openapi.json lists them", c.r.URL.EscapedPath()))
}

// statusError is a refusal with a status other than that of its code.
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
		document.Status = int32(special.status)
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
	h.write(c, int(document.Status), "application/problem+json", document)
}

// write answers with a document.
func (h *web) write(c *exchange, status int, contentType string, document proto.Message) {
	acquired, is := document.(*schema.AcquiredAll)
	is = is && len(acquired.GetLocks()) > heavyOperations
	h.service.heavy.begin(is)
	text := append(h.json.Append(nil, document), '\n')
	h.service.heavy.end(is)
	h.writeBytes(c, status, contentType, text)
}

// writeBytes sends an answer. A reader that does not take it in time loses its connection. So does one whose connection
// breaks, and no error can be sent to it.
func (h *web) writeBytes(c *exchange, status int, contentType string, body []byte) {
	header := c.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	h.limitWrite(c)
	c.w.WriteHeader(status)
	if _, err := c.w.Write(body); err != nil {
		h.service.logger.Debug("an answer was dropped", "path", c.r.URL.Path, "error", err)
	}
}

// limitWrite sets the time limit for the next part of an answer.
func (h *web) limitWrite(c *exchange) {
	h.setWriteDeadline(c, time.Now().Add(h.service.limits.Body))
}

// setWriteDeadline has no effect on a server without deadlines, which has its own way to end slow connections.
func (h *web) setWriteDeadline(c *exchange, at time.Time) {
	err := http.NewResponseController(c.w).SetWriteDeadline(at)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		h.service.logger.Debug("set a write deadline", "error", err)
	}
}

// recovered confines a panic of this server to one request.
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

// openapi is GET /v1/openapi.json.
func (h *web) openapi(c *exchange) error {
	h.writeBytes(c, http.StatusOK, "application/json", openapi.Document)
	return nil
}

const plainText = "text/plain; charset=utf-8"

// health is GET /healthz: this process answers.
func (h *web) health(c *exchange) error {
	h.writeBytes(c, http.StatusOK, plainText, []byte("ok\n"))
	return nil
}

// ready is GET /readyz: every space can grant, or one line gives the reason for each that cannot. A fault of the policy,
// the tokens or the audit log is a line after ok.
func (h *web) ready(c *exchange) error {
	if lines := h.service.unready(); len(lines) > 0 {
		if !h.service.shownTo(c.caller).all() {
			lines = []string{"not ready; a caller that may read everything learns why"}
		}
		c.w.Header().Set("Retry-After", "1")
		h.writeBytes(c, http.StatusServiceUnavailable, plainText, []byte(strings.Join(lines, "\n")+"\n"))
		return nil
	}
	fault := h.service.guard.Fault()
	if fault == nil {
		return h.health(c)
	}
	// It serves by its previous policy: to take it from a load balancer would make an outage of a mistake in a file.
	degraded := "degraded: " + strings.ReplaceAll(fault.Error(), "\n", "\ndegraded: ")
	if !h.service.shownTo(c.caller).all() {
		degraded = "degraded; a caller that may read everything learns why"
	}
	h.writeBytes(c, http.StatusOK, plainText, []byte("ok\n"+degraded+"\n"))
	return nil
}

// measures is GET /metrics.
func (h *web) measures(c *exchange) error {
	if err := h.service.permit(c.caller, h.service.rights[schema.Locks_Status_FullMethodName], &schema.StatusRequest{}); err != nil {
		return err
	}
	h.limitWrite(c)
	h.metricsOf(h.service.shownTo(c.caller)).ServeHTTP(c.w, c.r)
	return nil
}

// newServer returns the server of the port, with its limits of time and size. There is no limit for a whole request,
// which may wait for long; its header, its body and each part of its answer have their own.
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
