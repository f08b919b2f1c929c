package host_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// relay is the way to a member that is far: bytes arrive later, each way, in order.
type relay struct {
	to      string // a socket
	delay   time.Duration
	calls   net.Listener
	ended   chan struct{}
	working sync.WaitGroup
}

// startRelay listens at a socket for members that want to reach the one at another.
func startRelay(t *testing.T, at, to string, delay time.Duration) {
	t.Helper()
	calls, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{to: to, delay: delay, calls: calls, ended: make(chan struct{})}
	r.working.Go(r.listen)
	t.Cleanup(func() {
		close(r.ended)
		if err := r.calls.Close(); err != nil {
			t.Error(err)
		}
		r.working.Wait()
	})
}

func (r *relay) listen() {
	for {
		caller, err := r.calls.Accept()
		if err != nil {
			return // closed
		}
		member, err := net.Dial("unix", r.to)
		if err != nil { // it does not listen yet, or no more
			hangUp(caller)
			continue
		}
		r.working.Go(func() { r.carry(caller, member) })
	}
}

// carry lets two ends of a way hear each other until either has closed it.
func (r *relay) carry(caller, member net.Conn) {
	over := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(over)
		hangUp(caller)
		hangUp(member)
	})
	defer end()
	r.working.Go(func() {
		select {
		case <-r.ended:
			end()
		case <-over:
		}
	})
	var back sync.WaitGroup
	back.Go(func() {
		defer end()
		r.say(member, caller, over)
	})
	r.say(caller, member, over)
	end()
	back.Wait()
}

// said is what was sent at once, and when it arrives.
type said struct {
	data []byte
	at   time.Time
}

// say carries what comes from one end to the other.
func (r *relay) say(from, to net.Conn, over <-chan struct{}) {
	way := make(chan said, 1<<12)
	r.working.Go(func() {
		for next := range way {
			select {
			case <-time.After(time.Until(next.at)):
			case <-over:
				return
			}
			if _, err := to.Write(next.data); err != nil {
				return // it is gone: the one that reads there hears of it
			}
		}
	})
	defer close(way)
	for buffer := make([]byte, 1<<16); ; {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case way <- said{bytes.Clone(buffer[:n]), time.Now().Add(r.delay)}:
			case <-over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hangUp closes an end, which the other one may have closed.
func hangUp(conn net.Conn) { _ = conn.Close() }

// TestClusterFarApart: members with the default lease and patience, between which a message takes 200 ms, form a view,
// keep their connections, and grant through each of them. The log says that links are slow.
func TestClusterFarApart(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	const far = 200 * time.Millisecond
	c, folder := &cluster{}, t.TempDir()
	log := &journal{}
	names := []string{"a", "b", "c"}
	place := func(name, of string) string { return filepath.Join(folder, name+"."+of) }
	var join []string
	for _, name := range names {
		startRelay(t, place(name, "far"), place(name, "near"), far)
		join = append(join, "unix://"+place(name, "far"))
	}
	t.Cleanup(func() {
		var all sync.WaitGroup
		for i := range c.nodes {
			all.Go(func() { c.stop(t, i) })
		}
		all.Wait()
	})
	for i, name := range names {
		c.configs, c.nodes = append(c.configs, host.Config{
			Name: name, Listen: "unix://" + place(name, "near"), Address: join[i], Join: join, Expect: len(names),
			State: place(name, "state"), Logger: slog.New(slog.NewTextHandler(log, nil)),
		}), append(c.nodes, nil)
		c.start(t, i)
	}
	c.ready(t)
	var last holdfast.Token
	for range 2 {
		for _, n := range c.nodes {
			l := take(t, n, "orders/42")
			if l.Token() <= last {
				t.Errorf("token %v follows %v", l.Token(), last)
			}
			last = l.Token()
			if err := l.Unlock(bounded(t)); err != nil && !errors.Is(err, holdfast.ErrLost) { // a busy machine may have let a lease end
				t.Error(err)
			}
		}
	}
	warned := func(line string) bool {
		return strings.Contains(line, "links are slow") && strings.Contains(line, "patience=250ms") && strings.Contains(line, "lease=3s")
	}
	if said := log.String(); !slices.ContainsFunc(strings.Split(said, "\n"), warned) {
		t.Errorf("no log says that links are slow:\n%s", said)
	}
}
