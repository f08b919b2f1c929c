package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// The gossip that finds members travels on the members' connections: its packets in the frames of their links, after
// the messages and dropped before them; its connections as separate streams next to a link.

// Gossip sets the receivers of the gossip's packets and connections: each packet comes with the address of its sender.
// Neither function may block. It is called before Listen.
func (t *Transport) Gossip(packets func(from string, packet []byte), streams func(net.Conn)) {
	t.packets, t.streams = packets, streams
}

// SendPacket sends a packet of the gossip to the member at an address. It never blocks, and does not guarantee
// delivery. The transport keeps the packet.
func (t *Transport) SendPacket(address string, packet []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, why := t.peerAt(address)
	if p == nil || len(packet) > packetBytes {
		if p != nil {
			why = transport.Unsendable
		}
		t.config.Observer.DroppedPacket(why)
		return
	}
	dropped, queued := p.queue.putPacket(packet)
	if dropped {
		t.config.Observer.DroppedPacket(transport.Full)
	}
	if queued {
		p.queue.signal()
	}
}

// DialGossip opens a connection of the gossip to the member at an address, once there is a link. The context bounds
// only the opening.
func (t *Transport) DialGossip(ctx context.Context, address string) (net.Conn, error) {
	l, err := t.awaitLink(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("dial member at %s: %w", address, err)
	}
	life, cancel := context.WithCancel(l.life)
	stream, err := schema.NewMembersClient(l.conn).Gossip(life)
	if err == nil {
		err = stream.Send(&schema.MemberChunk{Hello: t.hello(address)})
	}
	if err != nil || !t.begin() {
		cancel()
		return nil, fmt.Errorf("dial member at %s: %w", address, errors.Join(err, t.life.Err()))
	}
	near, far := net.Pipe()
	l.riders.Add(1)
	go func() {
		defer t.work.Done()
		defer l.riders.Add(-1)
		defer cancel()
		stop := context.AfterFunc(life, func() { abandon(far) })
		defer stop()
		var reading sync.WaitGroup
		reading.Go(func() {
			take(far, stream)
			abandon(far)
		})
		give(far, stream)
		_ = stream.CloseSend() // the other end of the stream learns of it either way
		reading.Wait()
	}()
	return near, nil
}

// awaitLink returns the link to the member at an address, as soon as there is one.
func (t *Transport) awaitLink(ctx context.Context, address string) (*link, error) {
	for {
		t.mu.Lock()
		p, why := t.peerAt(address)
		if p == nil {
			t.mu.Unlock()
			return nil, fmt.Errorf("no peer there: %s", why)
		}
		l, linked := p.link, p.linked
		if l == nil {
			p.queue.signal()
		}
		t.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-linked:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.life.Done():
			return nil, net.ErrClosed
		}
	}
}

// Gossip serves one connection of the gossip until either side has closed it.
func (s service) Gossip(stream grpc.BidiStreamingServer[schema.MemberChunk, schema.MemberChunk]) error {
	t := s.t
	if err := t.enterGossip(); err != nil {
		return err
	}
	greeted, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer t.leaveGossip()
		defer close(over)
		if t.hearGossip(stream) {
			close(greeted)
			t.relay(stream)
		}
	}()
	// Returning ends the stream, even if the others are blocked.
	patience := time.NewTimer(t.config.handshake())
	defer patience.Stop()
	select {
	case <-greeted:
		select {
		case <-over:
		case <-stream.Context().Done():
		case <-t.life.Done():
		}
	case <-over:
	case <-stream.Context().Done():
	case <-t.life.Done():
	case <-patience.C:
		return t.count(transport.NoHello, status.Error(codes.DeadlineExceeded, "no hello"))
	}
	return nil
}

// relay is the member's end of a connection, until it is closed at either end.
func (t *Transport) relay(stream chunks) {
	near, far := net.Pipe()
	t.work.Go(func() {
		take(far, stream)
		abandon(far)
	})
	t.streams(near)
	give(far, stream)
	abandon(far)
}

// enterGossip admits a connection.
func (t *Transport) enterGossip() error {
	select {
	case <-t.listening:
	default:
		return status.Error(codes.Unavailable, "this member does not listen yet")
	}
	if t.streams == nil {
		return status.Error(codes.Unimplemented, "this member does not gossip")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return status.Error(codes.Unavailable, "this member is leaving")
	case t.gossips >= t.config.Peers:
		return t.count(transport.Limit, status.Errorf(codes.ResourceExhausted, "%d connections of the gossip are open already", t.gossips))
	}
	t.gossips++
	t.work.Add(1)
	return nil
}

func (t *Transport) leaveGossip() {
	t.mu.Lock()
	t.gossips--
	t.mu.Unlock()
	t.work.Done()
}

// hearGossip reads the hello of a connection, and reports whether it may continue.
func (t *Transport) hearGossip(stream chunks) bool {
	chunk, err := stream.Recv()
	if err != nil {
		return false
	}
	return t.meet(stream.Context(), chunk.GetHello()) == nil
}

// chunks is either end of the stream that carries a connection.
type chunks interface {
	Context() context.Context
	Send(*schema.MemberChunk) error
	Recv() (*schema.MemberChunk, error)
}

// give sends the data from far until that is closed.
func give(far net.Conn, stream chunks) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := far.Read(buffer)
		if n > 0 {
			if stream.Send(&schema.MemberChunk{Data: buffer[:n]}) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// take writes received data to far until either is closed.
func take(far io.Writer, stream chunks) {
	for {
		chunk, err := stream.Recv()
		if err != nil {
			return
		}
		if _, err := far.Write(chunk.GetData()); err != nil {
			return
		}
	}
}

// abandon closes one end of a pipe, which cannot fail.
func abandon(far net.Conn) { _ = far.Close() }
