package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Events travel as separate streams, next to the link to the member that sends them, on its connection. A stream ends
// with its link.

// eventSilence is how long a sending member may be silent.
const eventSilence = 4 * time.Second

// Publisher sends another member the events of this one's clients, until ctx ends or send returns an error. The other
// member gets Publisher's error.
type Publisher func(ctx context.Context, interest *schema.MemberInterest, send func(*schema.MemberEvents) error) error

// PublishEvents sets the source of this member's events for others. It is called before Listen.
func (t *Transport) PublishEvents(publisher Publisher) { t.publisher = publisher }

// Follow passes the messages of the member with this id to take, one after the other, the welcome first. It returns the
// reason for the end; nil means that the member has ended it. It ends when ctx ends, when there is no link to it or no
// welcome within the time of a handshake, or when nothing has come for a few seconds.
func (t *Transport) Follow(ctx context.Context, id protocol.ID, address string, interest *schema.MemberInterest, take func(*schema.MemberEvents)) error {
	l, err := t.linkTo(ctx, id, address)
	if err != nil {
		return fmt.Errorf("ask member at %s: %w", address, err)
	}
	if !t.begin() {
		return errLeaving
	}
	defer t.work.Done()
	l.riders.Add(1)
	defer l.riders.Add(-1)
	life, end := context.WithCancelCause(l.life)
	defer end(nil)
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()
	silence := time.AfterFunc(t.config.handshake(), func() { end(errSilent) })
	defer silence.Stop()
	err = t.hearEvents(life, l, interest, func(m *schema.MemberEvents) {
		silence.Reset(max(eventSilence, t.config.handshake()))
		take(m)
	})
	if cause := context.Cause(life); err != nil && cause != nil {
		err = cause
	}
	return err
}

var (
	errSilent  = errors.New("it sends no events")
	errLeaving = errors.New("this member is leaving")
)

// linkTo returns a link to a member, as soon as there is one.
func (t *Transport) linkTo(ctx context.Context, id protocol.ID, address string) (*link, error) {
	t.mu.Lock()
	if k := t.known[id]; k != nil && k.link != nil && k.link.link != nil {
		l := k.link.link
		t.mu.Unlock()
		return l, nil
	}
	t.mu.Unlock()
	linkCtx, done := context.WithTimeout(ctx, t.config.handshake())
	defer done()
	l, err := t.awaitLink(linkCtx, address)
	if err == nil && l.peer.ID != id {
		err = fmt.Errorf("member %016x is there, and not member %016x", uint64(l.peer.ID), uint64(id))
	}
	return l, err
}

// hearEvents subscribes to the member at the other end of a link, and receives its messages.
func (t *Transport) hearEvents(ctx context.Context, l *link, interest *schema.MemberInterest, take func(*schema.MemberEvents)) error {
	stream, err := schema.NewMembersClient(l.conn).Events(ctx, &schema.MemberInterest{
		Hello: t.hello(l.peer.Address), Space: interest.GetSpace(), Prefix: interest.GetPrefix(),
	})
	if err != nil {
		return plain(err)
	}
	for first := true; ; first = false {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return plain(err)
		case first != (m.GetWelcome() != nil):
			return errors.New("its first message is no welcome")
		}
		if first {
			g, err := t.read(m.GetWelcome())
			if err == nil && (g.ID != l.peer.ID || g.process != l.peer.process) {
				err = fmt.Errorf("another process has answered: %s", quoted(g))
			}
			if err != nil {
				return err
			}
		}
		take(m)
	}
}

// Events sends another member this member's events.
func (s service) Events(interest *schema.MemberInterest, stream grpc.ServerStreamingServer[schema.MemberEvents]) error {
	t := s.t
	if err := t.enterWatch(stream.Context(), interest); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		defer t.leaveWatch()
		welcome := t.hello("")
		ended <- t.publisher(stream.Context(), interest, func(m *schema.MemberEvents) error {
			m.Welcome, welcome = welcome, nil
			return stream.Send(m)
		})
	}()
	// Returning ends the stream, even if the other is blocked.
	select {
	case err := <-ended:
		if err != nil {
			return status.Error(codes.Aborted, err.Error())
		}
		return nil
	case <-stream.Context().Done():
		return status.FromContextError(stream.Context().Err()).Err()
	case <-t.life.Done():
		return status.Error(codes.Unavailable, "this member is leaving")
	}
}

// enterWatch admits another member to this one's events.
func (t *Transport) enterWatch(ctx context.Context, interest *schema.MemberInterest) error {
	select {
	case <-t.listening:
	default:
		return status.Error(codes.Unavailable, "this member does not listen yet")
	}
	if t.publisher == nil {
		return status.Error(codes.Unimplemented, "this member does not tell its events")
	}
	if err := t.meet(ctx, interest.GetHello()); err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return status.Error(codes.Unavailable, "this member is leaving")
	case t.watches >= t.config.Peers:
		return t.count(transport.Limit, status.Errorf(codes.ResourceExhausted, "%d streams of events are open already", t.watches))
	}
	t.watches++
	t.work.Add(1)
	return nil
}

func (t *Transport) leaveWatch() {
	t.mu.Lock()
	t.watches--
	t.mu.Unlock()
	t.work.Done()
}
