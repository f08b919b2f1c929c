package gossip_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport/gossip"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stranger is the only other one, and says what the fuzzer says.
type stranger struct {
	packets func(string, []byte)
	streams func(net.Conn)
	heard   chan []byte

	mu    sync.Mutex
	hints []protocol.Hint
}

func (s *stranger) Gossip(packets func(string, []byte), streams func(net.Conn)) {
	s.packets, s.streams = packets, streams
}

func (s *stranger) SendPacket(address string, packet []byte) {
	if address == strangerAddress {
		select {
		case s.heard <- packet:
		default: // no reader waits for it
		}
	}
}

func (s *stranger) DialGossip(context.Context, string) (net.Conn, error) {
	return nil, errors.New("no member opens connections to it")
}

func (s *stranger) deliver(events []protocol.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		s.hints = append(s.hints, ev.Fact.(protocol.Hint))
	}
}

const (
	ownAddress      = "127.0.0.1:4040"
	strangerAddress = "127.0.0.2:4040"
)

// The first bytes of memberlist's messages, and a ping by the member at strangerAddress.
const (
	pingType     = 0
	ackType      = 2
	suspectType  = 3
	aliveType    = 4
	deadType     = 5
	pushPullType = 6
	compoundType = 7
	userType     = 8
	compressType = 9
	crcType      = 12
)

// encoded is a map of texts, as msgpack has it.
func encoded(kind byte, pairs ...string) []byte {
	b := []byte{kind, 0x80 | byte(len(pairs)/2)}
	for _, text := range pairs {
		b = append(append(b, 0xa0|byte(len(text))), text...)
	}
	return b
}

// ping asks for an answer with a number of its own, which fits one byte.
func ping(number byte) []byte {
	b := append([]byte{pingType, 0x83, 0xa5}, "SeqNo"...)
	b = append(b, number)
	b = append(append(b, 0xa4), "Node"...)
	b = append(append(b, 0xa0|byte(len(url.PathEscape(ownAddress)))), url.PathEscape(ownAddress)...)
	b = append(append(b, 0xaa), "SourceNode"...)
	return append(append(b, 0xa0|byte(len(url.PathEscape(strangerAddress)))), url.PathEscape(strangerAddress)...)
}

// FuzzGossip: a member may gossip anything, in packets and on connections. The member
// that hears it goes on answering, closes what it was not said anything on, and passes
// on hints of addresses alone, never of its own.
func FuzzGossip(f *testing.F) {
	alive := encoded(aliveType, "Node", "127.0.0.3%3A4040", "Addr", "\x7f\x00\x00\x03", "Meta", "", "Vsn", "\x01\x05\x02\x00\x00\x00")
	for _, said := range [][]byte{
		{}, {0xff}, ping(1), alive, encoded(suspectType, "Node", "a", "From", "b"), encoded(deadType, "Node", url.PathEscape(ownAddress), "From", "b"),
		encoded(aliveType, "Node", "%zz", "Addr", "\x7f\x00\x00\x04"), {pushPullType, 0x83}, append([]byte{pushPullType}, encoded(0, "Nodes", "x")[1:]...),
		append([]byte{compoundType, 2, 0, byte(len(alive)), 0, 1}, append(alive, 0)...), {compoundType, 255}, {userType, 1}, {compressType, 0x82}, {crcType, 0, 0, 0, 0, 1},
		{ackType, 0x80}, {244, 5, 'l', 'a', 'b'},
	} {
		f.Add(said, said)
	}
	s := &stranger{heard: make(chan []byte, 64)}
	g, err := gossip.Start(gossip.Config{Links: s, Deliver: s.deliver, Address: ownAddress, Lease: time.Minute})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := g.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, packet, stream []byte) {
		s.packets(strangerAddress, packet)
		near, far := net.Pipe()
		s.streams(far)
		if err := near.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, _ = near.Write(stream) // it may be closed before all was read
		if err := near.Close(); err != nil {
			t.Error(err)
		}
		answered := false
		for !answered {
			s.packets(strangerAddress, ping(0x7f))
			select {
			case said := <-s.heard:
				answered = len(said) > 0
			case <-time.After(time.Minute):
				t.Fatal("it does not answer any more")
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, hint := range s.hints {
			if hint.Address == ownAddress {
				t.Errorf("a hint of itself: %+v", hint)
			}
		}
		s.hints = nil
	})
}
