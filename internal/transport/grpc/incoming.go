package grpc

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
	"github.com/holdfast-locks/holdfast/protocol"
)

// incoming is one stream from a member. Three goroutines share it: the handler, which waits for its end (its return
// wakes the others, even if they are blocked), one that reads and delivers, and one that confirms.
type incoming struct {
	t      *Transport
	stream grpc.BidiStreamingServer[schema.MemberFrame, schema.MemberReceipt]
	from   greeting // set once, by its reader, under the transport's mutex: the handler may see its end while it greets
	events []protocol.Event

	greeted chan struct{} // closed when the member has been welcomed
	arrived chan struct{} // has a value when frames have come since the last check
	frames  atomic.Uint64
	busy    atomic.Bool // a frame is being processed

	over   chan struct{} // closed by finish
	once   sync.Once
	result error
}

// refusalKey is the trailer with the one-word reason of a refused stream.
const refusalKey = "holdfast-refused"

// service is the registered gRPC service.
type service struct {
	schema.UnimplementedMembersServer
	t *Transport
}

// Link serves one stream until it is over.
func (s service) Link(stream grpc.BidiStreamingServer[schema.MemberFrame, schema.MemberReceipt]) error {
	in := &incoming{
		t: s.t, stream: stream,
		greeted: make(chan struct{}), arrived: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if err := s.t.enter(in); err != nil {
		return err
	}
	in.wait()
	s.t.forgetCaller(in) // before the caller learns of the end: its place is free then, though its reader may take an instant to end
	return in.result
}

// enter admits a stream.
func (t *Transport) enter(in *incoming) error {
	select {
	case <-t.listening:
	default:
		return status.Error(codes.Unavailable, "this member does not listen yet")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return status.Error(codes.Unavailable, "this member is leaving")
	case len(t.incoming) >= t.config.Peers:
		return t.count(transport.Limit, status.Errorf(codes.ResourceExhausted, "%d members' streams are open already", t.config.Peers))
	}
	t.incoming[in] = struct{}{}
	t.work.Go(in.read)
	return nil
}

// wait returns when the stream is over, or when its member has not greeted in time.
func (in *incoming) wait() {
	patience := time.NewTimer(in.t.config.handshake())
	defer patience.Stop()
	greeted := in.greeted
	for {
		select {
		case <-in.over:
			return
		case <-in.stream.Context().Done():
			in.finish(status.FromContextError(in.stream.Context().Err()).Err())
		case <-greeted:
			greeted = nil
			patience.Stop()
		case <-patience.C:
			in.finish(in.t.count(transport.NoHello, status.Error(codes.DeadlineExceeded, "no hello")))
		}
	}
}

// finish ends the stream. The first result counts. It never blocks.
func (in *incoming) finish(result error) {
	in.once.Do(func() {
		in.result = result
		close(in.over)
	})
}

// read receives the member's frames until the stream is over.
func (in *incoming) read() {
	defer in.t.forgetCaller(in)
	frame := &schema.MemberFrame{}
	if err := in.greet(frame); err != nil {
		in.finish(err)
		return
	}
	close(in.greeted)
	in.t.work.Go(in.confirm)
	for {
		if err := in.stream.RecvMsg(frame); err != nil {
			in.finish(in.judge(err))
			return
		}
		in.t.config.Observer.FrameReceived()
		in.busy.Store(true)
		in.frames.Add(1)
		select {
		case in.arrived <- struct{}{}:
		default: // it is known
		}
		err := in.deliver(frame)
		in.busy.Store(false)
		if err != nil {
			in.finish(err)
			return
		}
	}
}

// greet reads the hello, and answers it.
func (in *incoming) greet(frame *schema.MemberFrame) error {
	if err := in.stream.RecvMsg(frame); err != nil {
		return in.judge(err)
	}
	from, err := in.t.believe(in.stream.Context(), frame.GetHello())
	if err == nil {
		err = in.t.outlived(in.stream.Context(), from)
	}
	if err == nil {
		err = in.t.learnCaller(in, from)
	}
	var refusal *transport.Refusal
	switch {
	case errors.As(err, &refusal):
		in.t.onRefusal(err)
		in.stream.SetTrailer(metadata.Pairs(refusalKey, refusal.What))
		return status.Error(codes.FailedPrecondition, refusal.Error())
	case err != nil && !errors.Is(err, errOneself):
		return err
	}
	welcome := in.stream.Send(&schema.MemberReceipt{Welcome: in.t.hello("")})
	if err != nil { // the welcome tells it which member it has reached
		return status.Error(codes.Aborted, err.Error())
	}
	return welcome
}

// judge counts malformed input, if the member is at fault.
func (in *incoming) judge(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case status.Code(err) == codes.Internal || status.Code(err) == codes.ResourceExhausted:
		return in.garbage(err)
	}
	return err
}

// garbage logs once that a stream was closed because of its input.
func (in *incoming) garbage(err error) error {
	in.t.config.Logger.Warn("closing a member's stream: malformed frame", "name", in.from.Name, "address", in.from.Address, "error", err)
	return in.t.count(transport.Garbage, status.Errorf(codes.InvalidArgument, "a frame that does not decode: %v", err))
}

// deliver passes on the contents of a frame. If any part of a frame does not decode, none of it is delivered.
func (in *incoming) deliver(frame *schema.MemberFrame) error {
	defer func() { clear(in.events) }()
	in.events = in.events[:0]
	for rest := frame.GetMessages(); len(rest) > 0; {
		port, message, after, err := codec.Decode(rest)
		if err != nil {
			return in.garbage(err)
		}
		in.events = append(in.events, protocol.Event{Kind: protocol.Receive, From: in.from.ID, Port: port, Fact: message})
		rest = after
	}
	select {
	case <-in.over:
		return nil // the stream has ended
	default:
	}
	for i := range in.events {
		in.t.config.Observer.Received(in.events[i].Port, in.events[i].Fact.(protocol.Message))
	}
	if len(in.events) > 0 {
		in.t.deliver(in.events)
	}
	for _, packet := range frame.GetPackets() {
		if in.t.packets != nil {
			in.t.packets(in.from.Address, packet)
		}
	}
	return nil
}

// confirm sends receipts: soon after a frame, and repeatedly while one is being processed.
func (in *incoming) confirm() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-in.arrived:
		case <-in.over:
			return
		}
		pause.Reset(in.from.deadline / 8)
		select {
		case <-pause.C:
		case <-in.over:
			return
		}
		if err := in.stream.Send(&schema.MemberReceipt{Frames: in.frames.Load(), Policy: in.t.policy()}); err != nil {
			return // the reader learns of it too
		}
		if in.busy.Load() {
			select {
			case in.arrived <- struct{}{}:
			default: // it is known
			}
		}
	}
}
