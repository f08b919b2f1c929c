package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// acquire is POST /v1/spaces/{space}/acquire.
func (h *web) acquire(c *exchange) error {
	in := acquireInput{Space: c.space, Client: c.caller.called(clientOf(c.r)), Caller: c.caller, Arrived: c.arrived}
	var name string
	has, err := c.decode(fields{
		"name": text(&name), "names": texts(&in.Names),
		"mode": parsed(&in.Mode, holdfast.ParseMode), "units": number(&in.Units), "capacity": number(&in.Capacity),
		"wait": duration(&in.Wait, 0), "ttl": duration(&in.TTL, time.Millisecond), "hold": duration(&in.Hold, 1),
		"session": text(&in.Session), "owner": text(&in.Owner), "reason": text(&in.Reason),
		"require": parsed(&in.Require, holdfast.ParseClass), "request": text(&in.Request),
	})
	switch {
	case err != nil:
		return inSpace(c, "acquire", err)
	case has["name"] == has["names"]:
		return inSpace(c, "acquire", api.Fail(api.CodeBadRequest, "name, names: want exactly one of them"))
	case has["session"] && in.Session == "", has["request"] && in.Request == "":
		return inSpace(c, "acquire", api.Fail(api.CodeBadRequest, "session, request: neither may be empty; leave it out instead"))
	case has["name"]:
		in.Names = []string{name}
	}
	if more := len(in.Names) - 1; more > 0 { // the first was counted with the request
		if err := h.service.admit(clientName(c.r.RemoteAddr, c.caller.identity), more, 0, c.arrived); err != nil {
			return inSpace(c, "acquire", err)
		}
	}
	ctx, cancel := c.unended(), context.CancelFunc(func() {})
	if in.Wait > 0 {
		ctx, cancel = c.waiting()
	}
	defer cancel()
	acquired, err := h.service.acquire(ctx, in)
	if err != nil || !has["name"] {
		return h.answer(c, acquired, err)
	}
	return h.answer(c, acquired.Locks[0], nil)
}

// unended is the context of a call that does not wait. A client may close its side of the connection behind its request,
// as nc -N and some proxies do, and read the answer.
func (c *exchange) unended() context.Context { return context.WithoutCancel(c.r.Context()) }

// waiting is the context of a call that waits. It ends when the client closes its side of the connection: one that has
// gone does just that, and would be granted what it does not use.
func (c *exchange) waiting() (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(c.unended())
	stop := context.AfterFunc(c.r.Context(), func() { end(errSideClosed) })
	return ctx, func() { stop(); end(nil) }
}

// errSideClosed refuses a wait whose client has perhaps gone.
var errSideClosed = &holdfast.UnavailableError{Why: "the client has closed its side of the connection, which ends its wait; keep it open for as long as wait, or ask without wait"}

// inSpace adds to a problem of a body where it was meant for.
func inSpace(c *exchange, op string, err error) error {
	return failed(op, strings.ToValidUTF8(c.space, "\uFFFD"), "", err)
}

// clientOf says who asks, for people.
func clientOf(r *http.Request) string {
	const most = 80
	client := "http " + r.RemoteAddr
	agent := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(r.UserAgent(), ""))
	if len(agent) > most {
		agent = strings.ToValidUTF8(agent[:most], "")
	}
	if agent != "" {
		client += " (" + agent + ")"
	}
	return client
}

// release is POST /v1/spaces/{space}/release.
func (h *web) release(c *exchange) error {
	in := releaseInput{Space: c.space, Caller: c.caller}
	_, err := c.decode(fields{"name": text(&in.Name), "token": token(&in.Token), "session": text(&in.Session)})
	if err != nil {
		return inSpace(c, "release", err)
	}
	released, err := h.service.release(in)
	return h.answer(c, released, err)
}

// renew is POST /v1/sessions/renew.
func (h *web) renew(c *exchange) error {
	in := renewInput{Caller: c.caller, Arrived: c.arrived}
	_, err := c.decode(fields{"session": text(&in.Session), "ttl": duration(&in.TTL, time.Millisecond)})
	if err != nil {
		return failed("renew", "", "", err)
	}
	renewed, err := h.service.renew(in)
	return h.answer(c, renewed, err)
}

// end is POST /v1/sessions/end.
func (h *web) end(c *exchange) error {
	var session string
	if _, err := c.decode(fields{"session": text(&session)}); err != nil {
		return failed("end", "", "", err)
	}
	released, err := h.service.end(session, c.caller)
	return h.answer(c, released, err)
}

// list is GET /v1/spaces/{space}/locks.
func (h *web) list(c *exchange) error {
	in := listInput{Space: c.space, Prefix: c.query["prefix"], After: c.query["after"]}
	if given, ok := c.query["limit"]; ok {
		limit, err := strconv.Atoi(given)
		if err != nil || limit < 1 || limit > mostListed {
			return inSpace(c, "list", api.Fail(api.CodeBadRequest, fmt.Sprintf("limit %.40q: want 1 to %d", given, mostListed)))
		}
		in.Limit = limit
	}
	stale, err := c.stale()
	if err != nil {
		return inSpace(c, "list", err)
	}
	in.Stale = stale
	listed, err := h.service.list(c.unended(), in)
	return h.answer(c, listed, err)
}

// show is GET /v1/spaces/{space}/locks/{name…}.
func (h *web) show(c *exchange) error {
	stale, err := c.stale()
	if err != nil {
		return inSpace(c, "show", err)
	}
	shown, err := h.service.show(c.space, c.name, stale)
	return h.answer(c, shown, err)
}

// stale reports whether the answer may be old.
func (c *exchange) stale() (bool, error) {
	switch given, is := c.query["stale"]; {
	case !is || given == "false":
		return false, nil
	case given == "true":
		return true, nil
	default:
		return false, api.Fail(api.CodeBadRequest, fmt.Sprintf("stale %.40q: want true or false", given))
	}
}

// breakLock is POST /v1/spaces/{space}/break.
func (h *web) breakLock(c *exchange) error {
	in := breakInput{Space: c.space, By: clientOf(c.r)}
	_, err := c.decode(fields{"name": text(&in.Name), "token": token(&in.Token), "reason": text(&in.Reason)})
	if err != nil {
		return inSpace(c, "break", err)
	}
	broken, err := h.service.breakLock(in)
	return h.answer(c, broken, err)
}

// status is GET /v1/status.
func (h *web) status(c *exchange) error {
	status, err := h.service.status()
	return h.answer(c, status, err)
}

// openapi is GET /v1/openapi.json.
func (h *web) openapi(c *exchange) error {
	h.writeBytes(c, http.StatusOK, "application/json", openapi)
	return nil
}

const plainText = "text/plain; charset=utf-8"

// health is GET /healthz: this process answers.
func (h *web) health(c *exchange) error {
	h.writeBytes(c, http.StatusOK, plainText, []byte("ok\n"))
	return nil
}

// ready is GET /readyz: every space can grant, or a line says for each that cannot
// why not.
func (h *web) ready(c *exchange) error {
	if lines := h.service.unready(); len(lines) > 0 {
		c.w.Header().Set("Retry-After", "1")
		h.writeBytes(c, http.StatusServiceUnavailable, plainText, []byte(strings.Join(lines, "\n")+"\n"))
		return nil
	}
	return h.health(c)
}

// measures is GET /metrics.
func (h *web) measures(c *exchange) error {
	h.limitWrite(c)
	h.metrics.ServeHTTP(c.w, c.r)
	return nil
}

// events is GET /v1/events: server-sent events until either side has enough. A
// comment now and then shows that the connection lives.
func (h *web) events(c *exchange) error {
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	defer context.AfterFunc(h.service.life, cancel)()
	feed, err := h.service.watch(ctx, c.query["space"], c.query["prefix"])
	if err != nil {
		return err
	}
	defer feed.Close()
	header := c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := h.sendEvents(ctx, c, feed); err != nil && !errors.Is(err, c.r.Context().Err()) {
		h.service.logger.Debug("a feed of events has ended", "client", c.r.RemoteAddr, "error", err)
	}
	return nil
}
