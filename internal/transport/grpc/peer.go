package grpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/protocol"
)

// peer is one address that this member sends to. One goroutine connects, sends what is queued, and reconnects.
type peer struct {
	t       *Transport
	address string
	queue   queue
	called  chan struct{} // has a value when the peer has called here

	// Used only by the goroutine.
	spoken   bool        // since quiet was set
	quiet    *time.Timer // checks whether anything was sent since it was set
	pause    time.Duration
	trouble  string     // why it could not be reached, as logged
	attempts int        // since a link broke
	met      string     // advertised address of the member last reached here
	name     string     // of that member
	missed   bool       // the machine has a hint that no member is there
	outgoing []outgoing // the previous batch, for its memory
	frame    schema.MemberFrame

	notListening atomic.Bool            // no process listened there at the last dial
	refusal      atomic.Pointer[string] // why either side refused at the last dial; nil if neither did

	// Guarded by the transport's mutex.
	link   *link         // nil while it is not reached
	linked chan struct{} // closed when there is a link
}

func newPeer(t *Transport, address string) *peer {
	return &peer{
		t: t, address: address, queue: newQueue(t.config.Queue),
		called: make(chan struct{}, 1), linked: make(chan struct{}),
	}
}

// run serves the peer until nothing has been sent for a while, or the transport ends.
func (p *peer) run() {
	defer p.discard(transport.Closing)
	p.quiet = time.NewTimer(idle)
	defer p.quiet.Stop()
	if p.address == ownAddress || p.address == p.t.identity().Address {
		p.speakToOneself()
		return
	}
	for p.wait(nil) {
		link, err := p.reach()
		switch {
		case errors.Is(err, errOneself):
			p.speakToOneself()
			return
		case err != nil:
			p.logUnreachable(err)
			if !p.rest(err) {
				return
			}
		default:
			p.pause = 0
			p.logReachable(link)
			p.speak(link)
		}
	}
}

// wait returns when something is queued, and reports false when the peer is to be dropped: the transport ends, the link
// is broken, or nothing was sent for long.
func (p *peer) wait(l *link) bool {
	var broken <-chan struct{}
	if l != nil {
		broken = l.broken
	}
	for {
		select {
		case <-p.queue.wake:
			p.spoken = true
			return true
		case <-broken:
			return false
		case <-p.t.life.Done():
			return false
		case <-p.quiet.C:
			// The timer is not reset for every message: it looks back.
			p.quiet.Reset(idle)
			spoken := p.spoken
			p.spoken = false
			switch {
			case l != nil && !l.used():
				return false // the link goes first, and then the peer
			case l == nil && !spoken && p.forget():
				return false
			}
		}
	}
}

// forget removes the peer from the transport, unless something is queued after all.
func (p *peer) forget() bool {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	if !p.queue.empty() {
		return false
	}
	delete(p.t.peers, p.address)
	return true
}

// speak sends queued messages until the link is broken.
func (p *peer) speak(l *link) {
	defer p.unlink(l)
	for ok := true; ok; ok = p.wait(l) {
		if p.t.identity().Cluster != l.cluster {
			p.queue.signal() // queued messages go to the member there under the new greeting
			return
		}
		if l.life.Err() != nil {
			p.queue.signal() // queued messages go over the next one
			return
		}
		messages, packets := p.queue.take(p.outgoing)
		p.outgoing = messages
		if !p.send(l, messages, packets) {
			return
		}
	}
}

// send puts a batch in as few frames as the bound of a frame allows. It reports false when the link is broken.
func (p *peer) send(l *link, messages []outgoing, packets [][]byte) bool {
	for len(messages)+len(packets) > 0 {
		n, riding := p.fill(l, messages, packets)
		if len(p.frame.GetMessages())+len(p.frame.GetPackets()) > 0 {
			if err := l.send(&p.frame); err != nil {
				p.lost(messages, packets, transport.Unreachable)
				return false
			}
			p.t.config.Observer.FrameSent()
			for i := range messages[:n] {
				if messages[i].message != nil {
					p.t.config.Observer.Sent(messages[i].port, messages[i].message)
				}
			}
		}
		messages, packets = messages[n:], packets[riding:]
	}
	p.frame.Packets = nil
	if cap(p.frame.GetMessages()) > 4*frameBytes {
		p.frame.Messages = nil
	}
	return true
}

// fill makes a frame of the first messages, and of the first packets if there is room, and returns their numbers. A
// message that cannot be sent is crossed out.
func (p *peer) fill(l *link, messages []outgoing, packets [][]byte) (n, riding int) {
	b := p.frame.GetMessages()[:0]
	for n < len(messages) && n < frameMessages && len(b) < frameBytes {
		before, to := len(b), &messages[n]
		n++
		if to.to != protocol.AnyMember && to.to != l.peer.ID {
			p.cross(to, transport.Elsewhere)
			continue
		}
		next, err := codec.Append(b, to.port, to.message)
		if err == nil && len(next)-before > messageBytes {
			err = fmt.Errorf("%d bytes; at most %d are sent in one message", len(next)-before, messageBytes)
		}
		if err != nil {
			p.t.config.Logger.Error("a message cannot be sent", "type", fmt.Sprintf("%T", to.message), "error", err)
			p.cross(to, transport.Unsendable)
			continue
		}
		b = next
	}
	for size := len(b); riding < len(packets) && size < frameBytes; riding++ {
		size += len(packets[riding])
	}
	p.frame.Messages, p.frame.Packets = b, packets[:riding]
	return n, riding
}

// cross drops one message of a batch.
func (p *peer) cross(l *outgoing, why transport.Drop) {
	p.t.config.Observer.Dropped(l.port, l.message, why)
	l.message = nil
}

// lost counts messages and packets that could not be sent.
func (p *peer) lost(messages []outgoing, packets [][]byte, why transport.Drop) {
	for i := range messages {
		if messages[i].message != nil {
			p.t.config.Observer.Dropped(messages[i].port, messages[i].message, why)
		}
	}
	for range packets {
		p.t.config.Observer.DroppedPacket(why)
	}
}

// discard drops the queue.
func (p *peer) discard(why transport.Drop) {
	messages, packets := p.queue.take(nil)
	p.lost(messages, packets, why)
}

// speakToOneself delivers queued messages to this member itself.
func (p *peer) speakToOneself() {
	select {
	case <-p.t.listening:
	case <-p.t.life.Done():
		return
	}
	p.queue.signal() // messages that were queued when it was found out
	var events []protocol.Event
	for p.wait(nil) {
		messages, packets := p.queue.take(p.outgoing)
		p.outgoing = messages
		p.lost(nil, packets, transport.Elsewhere) // the gossip knows its own state
		events = events[:0]
		for _, l := range messages {
			if l.to != protocol.AnyMember && l.to != p.t.self {
				p.t.config.Observer.Dropped(l.port, l.message, transport.Elsewhere)
				continue
			}
			events = append(events, protocol.Event{Kind: protocol.Receive, From: p.t.self, Port: l.port, Fact: l.message})
		}
		if len(events) > 0 {
			p.t.deliver(events)
		}
		clear(events)
	}
}

// rest waits before the next attempt, unless the peer calls, and drops what would become old. It reports false when the
// transport ends.
func (p *peer) rest(err error) bool {
	defer p.insist()
	select {
	case <-p.called: // during the failed attempt
		p.pause = 0
		p.queue.signal()
		return true
	default:
	}
	p.discard(transport.Unreachable)
	p.pause = min(max(2*p.pause, firstPause), p.t.config.Retry)
	pause := p.pause
	if refused(err) {
		pause = max(pause, refusedPause)
	}
	timer := time.NewTimer(pause/2 + rand.N(pause/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.called:
		p.pause = 0
	case <-p.t.life.Done():
		return false
	}
	return true
}

// persistence is the number of attempts, after a link has broken, to find out whether its member is still there, though
// nothing is queued.
const persistence = 8

// insist schedules another attempt, if it is not yet known whether the member that was there is gone.
func (p *peer) insist() {
	if p.met == "" || p.missed || p.attempts == persistence {
		return
	}
	p.attempts++
	p.queue.signal()
}

// logUnreachable reports, once, that the peer cannot be reached: to the log, and to the machine if it was reached
// before and no member is there now.
func (p *peer) logUnreachable(err error) {
	if p.t.life.Err() != nil {
		return
	}
	if p.notListening.Load() && p.met != "" && !p.missed {
		p.missed = true
		p.t.hint(p.met, false)
	}
	var theirs *theirRefusal
	if errors.As(err, &theirs) && theirs.what == transport.OldLife {
		p.t.supersede(fmt.Errorf("another process has run as this member since, from a copy of its state folder or from an earlier state of its machine: %s", p.saidThere(theirs)))
	}
	if p.met != "" && secure.HungUp(err) {
		err = errHungUp // it spoke as this one does before: the configuration is right
	}
	text := err.Error()
	p.refusal.Store(p.refusalOf(err))
	if text == p.trouble {
		return
	}
	p.trouble = text
	switch {
	case refused(err):
		p.t.reportOnce(fmt.Sprintf("reach member at %s: %v", p.address, err))
	case p.met == "":
		p.t.config.Logger.Info("a member cannot be reached", "address", p.address, "error", err)
	default:
		p.t.config.Logger.Warn("a member cannot be reached any more", "name", p.name, "address", p.address, "error", err)
	}
}

// refusalOf returns the sentence of a refusal, and nil for any other error.
func (p *peer) refusalOf(err error) *string {
	var theirs *theirRefusal
	if !refused(err) {
		return nil
	}
	text := err.Error()
	if errors.As(err, &theirs) {
		text = p.saidThere(theirs)
	}
	return &text
}

// saidThere returns the other member's sentence about this one.
func (p *peer) saidThere(theirs *theirRefusal) string {
	return fmt.Sprintf("the member at %s says: %s", p.address, theirs.sentence)
}

var errHungUp = errors.New("it has closed the connection")

// logReachable reports that the trouble is over: to the log, and to the machine if that knows of it.
func (p *peer) logReachable(l *link) {
	p.met, p.name, p.attempts = l.peer.Address, l.peer.Name, 0
	if p.missed {
		p.missed = false
		p.t.hint(p.met, true)
	}
	p.refusal.Store(nil)
	if p.trouble != "" {
		p.trouble = ""
		p.t.config.Logger.Info("the member is reached", "address", p.address, "name", l.peer.Name)
	}
}

// unlink removes a link that is broken or no longer used.
func (p *peer) unlink(l *link) {
	l.close(context.Canceled)
	p.t.unlearnPeer(p)
	<-l.ended
	cause := l.cause()
	p.t.config.Logger.Debug("the link to a member has ended", "address", p.address, "error", cause)
	if !errors.Is(cause, context.Canceled) {
		p.queue.signal() // check at once whether it is there
	}
}

// call records that the peer has called: it is there, so the pause is over.
func (p *peer) call() {
	select {
	case p.called <- struct{}{}:
	default: // a call is already recorded
	}
}
