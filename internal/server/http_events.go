package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// beatEvery is how often a feed shows that it lives while nothing happens.
const beatEvery = 15 * time.Second

// sendEvents writes a feed to a connection. It begins with a comment, so that the
// reader knows that nothing from now on is missed without being told, and ends with one that says why
// where this side ends it.
// It also ends with ctx, which the end of either side ends.
func (h *web) sendEvents(ctx context.Context, c *exchange, from *events.Feed) error {
	if err := h.send(c, []byte(": ok\n\n")); err != nil {
		return err
	}
	turn := feedTurn{pace: h.service.feeds}
	for {
		part, err := h.nextPart(ctx, from)
		switch {
		case err == nil:
			turn.wait(ctx, part...)
			err = h.send(c, part...)
		case errors.Is(err, events.ErrSlow):
			h.service.observer.refused(unreadEvents)
			return errors.Join(err, h.send(c, []byte(": dropped: "+events.ErrSlow.Error()+"\n\n")))
		case h.service.life.Err() != nil:
			return h.send(c, []byte(": closed: this member is leaving\n\n"))
		}
		if err != nil {
			return err
		}
	}
}

// nextPart returns the events since the last part, or a comment if there were none
// for a while.
func (h *web) nextPart(ctx context.Context, from *events.Feed) (part [][]byte, err error) {
	beat, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	happened, err := from.Next(beat)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return [][]byte{[]byte(": still here\n\n")}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, batch := range happened {
		text, err := batch.Text(eventText)
		if err != nil {
			return nil, err
		}
		part = append(part, text)
	}
	return part, nil
}

// eventText is events as a browser's EventSource reads them.
func eventText(items []*events.Item) ([]byte, error) {
	var text bytes.Buffer
	for _, item := range items {
		data, err := item.Document(eventDocument)
		if err != nil {
			return nil, err
		}
		text.WriteString("event: " + item.Event.Event + "\ndata: ")
		text.Write(data)
		text.WriteString("\n\n")
	}
	return text.Bytes(), nil
}

// eventDocument is an event as every feed tells it.
func eventDocument(e *api.Event) ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return data, nil
}

// send writes a part and sees that it leaves at once.
func (h *web) send(c *exchange, part ...[]byte) error {
	h.limitWrite(c)
	for _, text := range part {
		if _, err := c.w.Write(text); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	if err := http.NewResponseController(c.w).Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}
