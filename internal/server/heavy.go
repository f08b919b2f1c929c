package server

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
)

// heavy limits how many goroutines do heavy work at a time: decode a large message, encode one, or step the driver with
// many calls. The others wait in order. Otherwise one client with many streams of deep frames keeps every processor busy
// with its work, and a goroutine that holds the driver's mutex waits behind all of them for a processor. Light work
// never waits here.
type heavy struct{ slots chan struct{} }

// What is heavy: bytes of a message, and operations.
const (
	heavyBytes      = 16 << 10
	heavyOperations = 16
)

func newHeavy() *heavy { return &heavy{make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))} }

// begin waits for a slot, if the work is heavy.
func (h *heavy) begin(is bool) {
	if is {
		h.slots <- struct{}{}
	}
}

// end gives the slot back.
func (h *heavy) end(is bool) {
	if is {
		<-h.slots
	}
}

// What a refusal by a quota costs: the client's turn is kept for so long. So a client that asks on and on for more than
// its quota is refused 20,000 requests and 200 sessions a second, and the processors are left to others.
const (
	refusedRequest = 50 * time.Microsecond
	refusedSession = 5 * time.Millisecond
)

// pay keeps the client's turn for a while, which the caller has, or until the call has ended.
func pay(price time.Duration, ended <-chan struct{}) {
	if price == 0 {
		return
	}
	timer := time.NewTimer(price)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ended:
	}
}

// isOverQuota reports whether an error is the refusal of a quota.
func isOverQuota(err error) bool {
	_, is := errors.AsType[*session.OverQuota](err)
	return is
}

// turnOf returns the turn of a client in which it makes a number of requests.
func (s *service) turnOf(c *client, requests int) sync.Locker {
	if requests <= heavyOperations {
		return &c.turn
	}
	return heavyTurn{c, s.heavy}
}

// heavyTurn is the turn of a client, with a slot for heavy work.
type heavyTurn struct {
	client *client
	heavy  *heavy
}

// Lock waits for both.
func (t heavyTurn) Lock() {
	t.client.turn.Lock()
	t.heavy.begin(true)
}

// Unlock gives both back.
func (t heavyTurn) Unlock() {
	t.heavy.end(true)
	t.client.turn.Unlock()
}

// heavyCodec is the codec of the gRPC port: large messages are heavy work.
type heavyCodec struct {
	*frames.Codec
	heavy *heavy
}

// Marshal returns the bytes of v.
func (c heavyCodec) Marshal(v any) (mem.BufferSlice, error) {
	frame, is := v.(*schema.ServerFrame)
	is = is && len(frame.Events) > heavyOperations
	c.heavy.begin(is)
	defer c.heavy.end(is)
	return c.Codec.Marshal(v)
}

// Unmarshal decodes data into v.
func (c heavyCodec) Unmarshal(data mem.BufferSlice, v any) error {
	is := data.Len() >= heavyBytes
	c.heavy.begin(is)
	defer c.heavy.end(is)
	return c.Codec.Unmarshal(data, v)
}
