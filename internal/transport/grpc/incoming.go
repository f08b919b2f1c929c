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

// incoming is one stream from a member. Three goroutines share it: the handler, which
// waits for its end (returning from it is what wakes the others, even if they are
// blocked), one that reads and delivers, and one that confirms.
type incoming struct {
	t      *Transport
	stream grpc.BidiStreamingServer[schema.MemberFrame, schema.MemberReceipt]
	from   greeting // set once, by its reader, under the transport's mutex: the handler may see the end of it while it greets
	events []protocol.Event

	greeted chan struct{} // closed when the member has been welcomed
	arrived chan struct{} // has a value when frames have come since it was looked
	frames  atomic.Uint64
	busy    atomic.Bool // a frame is being dealt with

	over   chan struct{} // closed by finish
	once   sync.Once
	result error
}

// refusalKey is where the trailer of a stream that is refused says in a word why.
const refusalKey = "holdfast-refused"

// service is what a server registers.
type service struct {
	schema.UnimplementedMembersServer
	t *Transport
}

// Link hears one stream until it is over.
func (s service) Link(stream grpc.BidiStreamingServer[schema.MemberFrame, schema.MemberReceipt]) error {
	in := &incoming{
		t: s.t, stream: stream,
		greeted: make(chan struct{}), arrived: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if err := s.t.enter(in); err != nil {
		return err
	}
	in.wait()
	s.t.forgetCaller(in) // before the caller hears of the end: its place is free then, though its reader may have an instant to go
	return in.result
}

// enter lets a stream begin.
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

// read takes the member's frames until the stream is over.
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

// greet hears the hello, and answers it.
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
	if err != nil { // it knows from the welcome which member it has reached
		return status.Error(codes.Aborted, err.Error())
	}
	return welcome
}

// judge counts what came instead of a frame, where that is the member's fault.
func (in *incoming) judge(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case status.Code(err) == codes.Internal || status.Code(err) == codes.ResourceExhausted:
		return in.garbage(err)
	}
	return err
}

// garbage says once that a stream was closed for what came on it.
func (in *incoming) garbage(err error) error {
	in.t.config.Logger.Warn("closing a member's stream: malformed frame", "name", in.from.Name, "address", in.from.Address, "error", err)
	return in.t.count(transport.Garbage, status.Errorf(codes.InvalidArgument, "a frame that does not decode: %v", err))
}

// deliver passes on what a frame has. A frame of which anything does not decode is
// not delivered at all.
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
		return nil // it is not heard any more
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

// confirm sends receipts: soon after a frame, and on and on while one is being dealt
// with.
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
		if err := in.stream.Send(&schema.MemberReceipt{Frames: in.frames.Load()}); err != nil {
			return // the reader hears of it too
		}
		if in.busy.Load() {
			select {
			case in.arrived <- struct{}{}:
			default: // it is known
			}
		}
	}
}
