package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// search looks for a member that serves the Client, and looks again when the stream breaks.
// It asks the addresses in turn: the next one as soon as one has refused, and beside one
// that has not answered for raceDelay. The first that welcomes the Client serves it, and the
// others are let go. One goroutine runs the search; each contact has one of its own.
type search struct {
	client *Client
	under  map[api.Address]*contact // under way
	ended  chan *contact
	timer  clock.Timer // of raceDelay
	pause  time.Duration
}

// contact is one address that is asked. The Client's mutex guards what may change.
type contact struct {
	place   api.Address
	refused bool // nothing listened there
	ctx     context.Context
	cancel  context.CancelFunc
	err     error // with which it has ended; nil: it was welcomed

	helloed bool
	session *backing           // that hello names; nil: it opens one
	listed  []*session.Request // by hello, as not settled; in the order of their ids
	over    bool               // it is not wanted any more, even if it is welcomed
}

// run keeps the Client connected until it is closed.
func (c *Client) run() {
	defer c.work.Done()
	s := &search{client: c, under: map[api.Address]*contact{}, ended: make(chan *contact), timer: c.clock.NewTimer(), pause: minPause}
	defer s.timer.Stop()
	for {
		select {
		case <-c.retryNow:
		default:
		}
		on, over := c.answering()
		switch {
		case over:
			return
		case on != nil:
			s.rest(on)
		case !s.round():
			s.wait()
			s.pause = min(2*s.pause, maxPause)
		}
	}
}

// answering returns the stream, if there is one that answers as far as known. Over says
// that none is needed any more.
func (c *Client) answering() (on *stream, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.machine.Doubted() {
		on = c.stream
	}
	return on, c.ctx.Err() != nil || c.machine.Finished() && c.stream == nil
}

// rest waits until the stream has ended, or may be doubted. What is under way beside it
// goes on: it was begun when the stream did not answer.
func (s *search) rest(on *stream) {
	s.pause = minPause
	for {
		select {
		case <-on.ended:
			s.wait()
			return
		case <-s.client.retryNow:
			return
		case a := <-s.ended:
			if s.note(a); a.err == nil {
				return
			}
		case <-s.client.ctx.Done():
			return
		}
	}
}

// wait pauses before the next round. What is still under way may end it.
func (s *search) wait() {
	timer := time.NewTimer(s.pause/2 + rand.N(s.pause/2))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-s.client.retryNow:
			return
		case a := <-s.ended:
			if s.note(a) {
				return
			}
		case <-s.client.ctx.Done():
			return
		}
	}
}

// round asks each address that is not being asked. It reports whether the search is decided:
// one has welcomed the Client, or what it came with has changed.
func (s *search) round() (decided bool) {
	before, places := s.client.places()
	for _, place := range places {
		if s.under[place] != nil {
			continue
		}
		s.begin(place)
		if s.hear(before) {
			return true
		}
	}
	return false
}

// begin asks an address.
func (s *search) begin(place api.Address) {
	c := s.client
	a := &contact{place: place}
	a.ctx, a.cancel = context.WithCancel(c.ctx)
	s.under[place] = a
	c.mu.Lock()
	c.contacts[a] = struct{}{}
	c.attempts.begin(place)
	c.mu.Unlock()
	c.work.Go(func() {
		a.err = c.attend(a)
		select {
		case s.ended <- a:
		case <-c.ctx.Done():
		}
	})
}

// hear waits until the next address is to be asked. It reports whether none is, because the
// search is decided.
func (s *search) hear(before *backing) (decided bool) {
	c := s.client
	for next := c.clock.Now() + raceDelay; ; {
		s.timer.Reset(next)
		select {
		case a := <-s.ended:
			return s.note(a)
		case <-s.timer.C():
			if c.clock.Now() >= next {
				return false
			}
		case <-c.retryNow:
			if c.isMoot(before) {
				return true
			}
		case <-c.ctx.Done():
			return true
		}
	}
}

// isMoot reports whether no further address is to be asked for what the Client came with.
func (c *Client) isMoot(before *backing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != before || c.machine.Finished() || c.stream != nil && !c.machine.Doubted()
}

// note takes note of a contact that has ended. It reports whether the search is decided
// by it.
func (s *search) note(a *contact) (decided bool) {
	if s.under[a.place] == a {
		delete(s.under, a.place)
	}
	c := s.client
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contacts, a)
	switch {
	case a.over:
		return false
	case a.err == nil:
		clear(s.under) // the others were let go
		return true
	}
	c.log.Debug("no connection", "address", a.place, "error", a.err)
	c.attempts.end(a.place, a.err, a.refused)
	c.giveUpDial()
	if isOverload(a.err) {
		s.pause = maxPause // what it has too much of is not to become more
	}
	return c.machine.Finished() || c.session != a.session && a.helloed || errors.Is(a.err, errElsewhere)
}

// endOthers lets all contacts go but the one that was welcomed. One that may open a session
// yet is given the time to end it; what a member hears of a session that is resumed
// elsewhere changes nothing there.
func (c *Client) endOthers(welcomed *contact) {
	//tidy:unordered each ends by itself
	for a := range c.contacts {
		if a == welcomed || a.over {
			continue
		}
		a.over = true
		if a.helloed && a.session == nil {
			time.AfterFunc(closeLimit, a.cancel)
		} else {
			a.cancel()
		}
	}
}

// goodbye ends the session that a contact has opened where it is not wanted.
func (a *contact) goodbye(calls grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame]) error {
	if a.session != nil {
		return nil
	}
	end := &schema.Operation{Id: 1, Kind: &schema.Operation_End{End: &schema.End{}}}
	if err := calls.Send(&schema.ClientFrame{Operations: []*schema.Operation{end}}); err != nil {
		return err
	}
	if err := calls.RecvMsg(&frames.Events{}); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// explain says why a contact has failed. One whose limit has passed, or whose connection is
// late, has had no answer.
func (a *contact) explain(limit *time.Timer, l *link, err error) error {
	if !limit.Stop() || l.late.Err() != nil && status.Code(err) == codes.Canceled {
		return errSilent
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream was closed: %w", err)
	}
	return reasonOf("open", err)
}
