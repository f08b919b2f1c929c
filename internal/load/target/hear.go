package target

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
)

// hear makes the TCP transport between a member in this process and others, and counts the messages of spaces. Received
// messages are delayed. The server of the address ends with the member, and the group tracks it.
func hear(address string, count *messages, delay time.Duration, hearing *sync.WaitGroup) func(func() transport.Identity) (transport.Transport, error) {
	return func(introduce func() transport.Identity) (transport.Transport, error) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		over, err := host.NewTransport(introduce, host.Link{Observer: count})
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		hearing.Go(func() {
			// If it fails the member is silent, and the measurement fails.
			_ = over.Serve(listener)
		})
		if delay == 0 {
			return over, nil
		}
		return &distant{Transport: over, delay: delay, way: make(chan parcel, parcels), ended: make(chan struct{})}, nil
	}
}

// messages counts those of spaces, both ways. Messages of memberships do not depend on locks.
type messages struct {
	transport.Silent
	count atomic.Uint64
}

func (m *messages) Sent(port protocol.Port, _ protocol.Message) { m.add(port) }

func (m *messages) Received(port protocol.Port, _ protocol.Message) { m.add(port) }

func (m *messages) add(port protocol.Port) {
	if port != protocol.Below {
		m.count.Add(1)
	}
}

// distant is a transport with a delay: messages are delivered that much later, in their order of arrival.
type distant struct {
	*grpc.Transport
	delay time.Duration
	way   chan parcel
	ended chan struct{}
	work  sync.WaitGroup
}

// parcel is a group of messages that arrived together, with its delivery time.
type parcel struct {
	due    time.Time
	events []protocol.Event
}

// parcels is the maximum number under way. Beyond it connections are not read, as on a full line.
const parcels = 1 << 14

// Listen begins to deliver.
func (d *distant) Listen(deliver transport.Deliver) {
	d.work.Go(func() { d.carry(deliver) })
	d.Transport.Listen(func(events []protocol.Event) {
		select {
		case d.way <- parcel{time.Now().Add(d.delay), slices.Clone(events)}:
		case <-d.ended:
		}
	})
}

// carry delivers each parcel when it is due.
func (d *distant) carry(deliver transport.Deliver) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case p := <-d.way:
			timer.Reset(time.Until(p.due))
			select {
			case <-timer.C:
				deliver(p.events)
			case <-d.ended:
				return
			}
		case <-d.ended:
			return
		}
	}
}

// Close closes it; messages under way are lost.
func (d *distant) Close() error {
	close(d.ended)
	err := d.Transport.Close()
	d.work.Wait()
	return err
}
