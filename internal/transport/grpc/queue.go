package grpc

import (
	"sync"

	"github.com/holdfast-locks/holdfast/protocol"
)

// outgoing is a message queued for its peer.
type outgoing struct {
	to      protocol.ID // the member that it is for; protocol.AnyMember for any member there
	port    protocol.Port
	message protocol.Message
}

// queue has the messages and gossip packets queued for one peer. At its bound it drops the oldest packet, or without
// packets the oldest message.
type queue struct {
	most int
	wake chan struct{} // has a value when there may be something to take

	mu       sync.Mutex
	outgoing []outgoing
	head     int // messages before it are gone
	packets  [][]byte
}

// keptOutgoing is the memory that a queue keeps between batches, in messages.
const keptOutgoing = 1 << 10

func newQueue(most int) queue { return queue{most: most, wake: make(chan struct{}, 1)} }

// put adds a message. It returns what had to make room: a message, or a packet.
func (q *queue) put(l outgoing) (dropped outgoing, packet bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped, packet = q.makeRoom()
	if q.head > 0 && len(q.outgoing) == cap(q.outgoing) {
		n := copy(q.outgoing, q.outgoing[q.head:])
		clear(q.outgoing[n:])
		q.outgoing, q.head = q.outgoing[:n], 0
	}
	q.outgoing = append(q.outgoing, l)
	return dropped, packet
}

// putPacket adds a packet, unless that would drop messages.
func (q *queue) putPacket(b []byte) (packet, queued bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.outgoing)-q.head >= q.most {
		return true, false
	}
	_, packet = q.makeRoom()
	q.packets = append(q.packets, b)
	return packet, true
}

func (q *queue) makeRoom() (dropped outgoing, packet bool) {
	if len(q.outgoing)-q.head+len(q.packets) < q.most {
		return outgoing{}, false
	}
	if len(q.packets) > 0 {
		q.packets[0] = nil
		q.packets = q.packets[1:]
		return outgoing{}, true
	}
	dropped = q.outgoing[q.head]
	q.outgoing[q.head] = outgoing{}
	q.head++
	return dropped, false
}

// signal wakes the peer.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
}

// take returns the whole queue, and reuses the memory of the batch before.
func (q *queue) take(before []outgoing) (messages []outgoing, packets [][]byte) {
	clear(before)
	if cap(before) > keptOutgoing {
		before = nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	messages, packets = q.outgoing[q.head:], q.packets
	q.outgoing, q.head, q.packets = before[:0], 0, nil
	return messages, packets
}

// empty reports whether the queue is empty.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.outgoing) == q.head && len(q.packets) == 0
}
