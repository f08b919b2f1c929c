package client

import (
	"context"
	"crypto/tls"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/turns"
)

const (
	// mostStreams is the maximum number of streams on one connection: half of what a member allows.
	mostStreams = 500
	// trusted is how long after its latest frame a connection gets further streams. One that has been silent for longer
	// may be dead, and a new stream would wait until that is found.
	trusted = time.Second
	// phases is the upper bound for a link's random phase.
	phases = time.Hour
)

// link is one connection to a place. It carries the streams of those Clients of this process that connect to the place
// with the same settings. Their heartbeats are due at the same moments, so that the system and the member handle one
// packet for all of them.
//
// A link never reconnects: when it breaks, or a stream on it is late, it gets no further stream. Its existing streams
// continue, each until its own Client doubts it.
type link struct {
	door
	of       linkKey
	material *certificate.Material // certificates it was made with; nil in plain text
	conn     *grpc.ClientConn
	phase    time.Duration // phase of the heartbeat times

	heard  atomic.Int64       // when it was made, or its latest frame arrived, on the clock of the key
	late   context.Context    // ends when a stream on it is late
	doubts context.CancelFunc // ends late

	streams int  // the links' mutex guards this and the next field
	closed  bool // accepts no further stream
}

// linkKey identifies a connection: Clients with equal keys may share it.
type linkKey struct {
	place api.Address
	tls   *tls.Config
	files Files
	clock clock.Clock
	as    string // a member's name
}

// links is the set of connections that accept further streams.
type links struct {
	turns *turns.Turns // turns to connect: Clients with a session first

	mu     sync.Mutex
	open   map[linkKey][]*link
	shared map[linkKey][]*shared
}

// mostMade is the maximum number of connections that the Clients of this process make at a time. A silent address
// delays the others in the queue no longer than it delays the Client's next address.
const mostMade = 64

func newLinks() *links {
	return &links{turns: turns.New(mostMade, session.RaceDelay), open: map[linkKey][]*link{}, shared: map[linkKey][]*shared{}}
}

// ours has the connections of all Clients of this process: the only state that Clients share, like the connections of
// net/http's DefaultTransport.
var ours = newLinks()

// join returns a connection to a place for one more stream, or nil if there is none.
func (all *links) join(s *settings, place api.Address) *link {
	key, material := s.linkTo(place), s.material()
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.find(key, material)
}

// enter joins a connection to a place, or makes one.
func (all *links) enter(s *settings, place api.Address) (l *link, made bool, err error) {
	key, material := s.linkTo(place), s.material()
	all.mu.Lock()
	defer all.mu.Unlock()
	if l := all.find(key, material); l != nil {
		return l, false, nil
	}
	l = &link{door: door{place: place}, of: key, material: material, phase: s.draw(phases), streams: 1}
	l.hears()
	if l.conn, err = connect(s, &l.door, session.FreshAttempt); err != nil {
		return nil, false, err
	}
	l.late, l.doubts = context.WithCancel(context.Background())
	all.open[key] = append(all.open[key], l)
	return l, true, nil
}

// find is join with the mutex held.
func (all *links) find(key linkKey, material *certificate.Material) *link {
	for _, l := range all.open[key] {
		if l.takes(material) {
			l.streams++
			return l
		}
	}
	return nil
}

func (s *settings) linkTo(place api.Address) linkKey {
	key := linkKey{place: place, tls: s.tls, clock: s.clock, as: s.member}
	if s.files != nil {
		key.files = *s.files
	}
	return key
}

func (s *settings) material() *certificate.Material {
	if s.store == nil {
		return nil
	}
	return s.store.Material()
}

// takes reports whether the connection accepts another stream, from a Client that would connect with material.
func (l *link) takes(material *certificate.Material) bool {
	same := l.material == material || l.material != nil && material != nil && l.material.Same(material)
	return same && l.streams < mostStreams && l.of.clock.Now()-time.Duration(l.heard.Load()) < trusted
}

// hears records the arrival of a frame.
func (l *link) hears() { l.heard.Store(int64(l.of.clock.Now())) }

// retire stops a connection from accepting further streams.
func (all *links) retire(l *link) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(l)
}

// doubt retires a connection that has not answered in time, and releases the Clients that wait on it for a welcome to
// try elsewhere.
func (all *links) doubt(l *link) {
	all.retire(l)
	l.doubts()
}

func (all *links) remove(l *link) {
	if l.closed {
		return
	}
	l.closed = true
	if all.open[l.of] = slices.DeleteFunc(all.open[l.of], func(other *link) bool { return other == l }); len(all.open[l.of]) == 0 {
		delete(all.open, l.of)
	}
}

// leave takes a stream off a connection, and closes the connection with its last stream.
func (all *links) leave(l *link) error {
	all.mu.Lock()
	l.streams--
	last := l.streams == 0
	if last {
		all.remove(l)
	}
	all.mu.Unlock()
	if !last {
		return nil
	}
	l.doubts() // frees the context: nothing waits on it any more
	return l.conn.Close()
}
