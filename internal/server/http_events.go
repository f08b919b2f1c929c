package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// events answers Watch with server-sent events until either side ends it. The first comment marks the moment from which
// no event is missing without a report, later ones show that the connection is alive, and the last one gives this
// side's reason for the end.
func (h *web) events(c *exchange, t *webCall) error {
	request := &schema.WatchRequest{}
	if err := h.read(c, t, request); err != nil {
		return err
	}
	if err := h.service.enter(c.caller, h.service.rights[schema.Locks_Watch_FullMethodName], request); err != nil {
		return err
	}
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		request.After = last
	}
	to := &webFeed{h: h, c: c}
	err := h.service.follow(c.context(), request, to)
	switch {
	case !to.begun:
		return err
	case errors.Is(err, events.ErrSlow):
		err = errors.Join(err, to.comment("dropped: "+err.Error()))
	case errors.Is(err, errLeaving):
		err = to.comment("closed: " + err.Error())
	}
	if err != nil && !errors.Is(err, errHead) && !errors.Is(err, c.r.Context().Err()) {
		h.service.logger.Debug("an event stream has ended", "client", c.r.RemoteAddr, "error", err)
	}
	return nil
}

// observe answers Observe with server-sent events until either side ends it. Its comments are as those of events.
func (h *web) observe(c *exchange, t *webCall) error {
	request := &schema.ObserveRequest{}
	if err := h.read(c, t, request); err != nil {
		return err
	}
	if err := h.service.enter(c.caller, h.service.rights[schema.Locks_Observe_FullMethodName], request); err != nil {
		return err
	}
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		request.After = last
	}
	to := &webFeed{h: h, c: c}
	err := h.service.observeFor(c.context(), c.caller, request, to)
	if !to.begun {
		return err
	}
	if !errors.Is(err, errHead) && c.r.Context().Err() == nil {
		err = errors.Join(err, to.comment("closed: "+err.Error()))
	}
	h.service.logger.Debug("a stream of states has ended", "client", c.r.RemoteAddr, "error", err)
	return nil
}

// states sends states.
func (f *webFeed) states(states []*schema.Observed) error {
	var text []byte
	for _, state := range states {
		text = append(text, "id: "+state.GetId()+"\nevent: state\ndata: "...)
		text = append(f.h.json.Append(text, state), "\n\n"...)
	}
	return f.write(text)
}

// errHead ends the feed of a HEAD request.
var errHead = errors.New("the header was asked for")

// webFeed is the answer to a watcher.
type webFeed struct {
	h     *web
	c     *exchange
	begun bool
}

func (f *webFeed) begin() error {
	f.begun = true
	header := f.c.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	if f.c.r.Method == http.MethodHead {
		return errHead
	}
	return f.comment("ok")
}

func (f *webFeed) idle() error { return f.comment("still here") }

func (f *webFeed) comment(text string) error { return f.write([]byte(": " + text + "\n\n")) }

// send sends events, in the form for a browser's EventSource. The text is made once for all watchers with one filter,
// and the document of an event once for all.
func (f *webFeed) send(ctx context.Context, turn *feedTurn, happened []*events.Batch) error {
	var parts [][]byte
	for _, batch := range happened {
		part, err := batch.Text.Of(func() (text []byte, err error) {
			for _, item := range batch.Items {
				one, err := item.Text.Of(func() ([]byte, error) {
					begin := "event: " + item.GetEvent() + "\ndata: "
					if item.GetId() != "" {
						begin = "id: " + item.GetId() + "\n" + begin
					}
					return append(f.h.json.Append([]byte(begin), item.WatchEvent), "\n\n"...), nil
				})
				if err != nil {
					return nil, err
				}
				text = append(text, one...)
			}
			return text, nil
		})
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	turn.wait(ctx, parts...)
	return f.write(parts...)
}

// write writes a part and flushes it.
func (f *webFeed) write(parts ...[]byte) error {
	f.h.limitWrite(f.c)
	for _, part := range parts {
		if _, err := f.c.w.Write(part); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	if err := http.NewResponseController(f.c.w).Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// audit answers WatchAudit with server-sent events until either side ends it.
func (h *web) audit(c *exchange, t *webCall) error {
	request := &schema.WatchAuditRequest{}
	if err := h.read(c, t, request); err != nil {
		return err
	}
	right := h.service.rights[schema.Admin_WatchAudit_FullMethodName]
	if err := h.service.enter(c.caller, right, request); err != nil {
		return err
	}
	to := &webFeed{h: h, c: c}
	if err := to.begin(); err != nil {
		return nil // only the header was asked for, or the connection is broken
	}
	noHeader := func(int) error { return nil }
	err := h.service.followAudit(c.r.Context(), request, noHeader, func(entries []*schema.AuditEntry) error {
		var text []byte
		for _, entry := range entries {
			text = append(text, "event: "+entry.GetEvent()+"\ndata: "...)
			text = append(h.json.Append(text, entry), "\n\n"...)
		}
		if len(entries) == 0 {
			return to.idle()
		}
		return to.write(text)
	})
	h.service.record(c.caller, right, request, nil)
	if c.r.Context().Err() == nil {
		err = errors.Join(err, to.comment("closed: "+err.Error()))
	}
	h.service.logger.Debug("a feed of the audit log has ended", "client", c.r.RemoteAddr, "error", err)
	return nil
}
