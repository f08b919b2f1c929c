package server

import (
	"reflect"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Members returns the observer of messages between members, for the Config of their transport: it counts received and
// dropped messages, and refused members by reason. Observe counts sent messages.
func (o *Observer) Members() transport.Observer { return membersObserver{o: o} }

type membersObserver struct {
	transport.Silent
	o *Observer
}

// heard are the counters of messages from other members, by space and type. There are as many types as the codec knows.
type heard struct {
	mu       sync.RWMutex
	counters map[heardKey]prometheus.Counter
}

// heardKey has the type of a message; brings is the type of the message that it carries, if any.
type heardKey struct {
	port    protocol.Port
	message reflect.Type
	brings  string
}

// Received counts one message.
func (m membersObserver) Received(port protocol.Port, message protocol.Message) {
	h, key := &m.o.heard, heardKey{port: port, message: reflect.TypeOf(message)}
	if bringing, is := message.(interface{ Kind() string }); is {
		key.brings = bringing.Kind()
	}
	h.mu.RLock()
	counter := h.counters[key]
	h.mu.RUnlock()
	if counter == nil {
		counter = m.o.messages.WithLabelValues(m.o.spaceAt(port), typeName(message), received)
		if int(port) <= len(m.o.spaces) { // otherwise it is for no machine here, and port may be anything
			h.mu.Lock()
			h.counters[key] = counter
			h.mu.Unlock()
		}
	}
	counter.Inc()
}

// Dropped counts one message that was never sent.
func (m membersObserver) Dropped(_ protocol.Port, _ protocol.Message, why transport.Drop) {
	m.o.dropped.WithLabelValues(string(why)).Inc()
}

// DroppedPacket counts one packet of the gossip that was never sent.
func (m membersObserver) DroppedPacket(why transport.Drop) {
	m.o.dropped.WithLabelValues("packet_" + string(why)).Inc()
}

// Refused counts a refused member.
func (m membersObserver) Refused(why string) {
	if !strings.Contains(why, "member") {
		why = "member_" + why
	}
	m.o.refused(why)
}
