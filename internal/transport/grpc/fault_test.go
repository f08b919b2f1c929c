package grpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// TestCutConnection: a path that takes packets and brings none is given up within the
// deadline, and another is made when there is one. TCP alone would wait for minutes.
func TestCutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine()
		b := line.start(t, 2, nil)
		a := line.start(t, 1, func(c *Config) { c.Deadline = 100 * time.Millisecond })
		meet(t, a, b)
		line.sever()
		cut := time.Now()
		a.Send(to(2, 2))
		line.await(t, 3) // one each way, and one anew
		if took := time.Since(cut); took < 75*time.Millisecond || took > 125*time.Millisecond {
			t.Errorf("given up after %v", took)
		}
		a.Send(to(2, 3))
		a.counts.await(t, "dropped unreachable", 1)
		if took := time.Since(cut); took > 1200*time.Millisecond {
			t.Errorf("the attempt in vain took until %v", took)
		}
		line.mend()
		a.Send(to(2, 4))
		b.inbox.await(t, heard(1, 4))
		if took := time.Since(cut); took > 1500*time.Millisecond {
			t.Errorf("reached again after %v", took)
		}
		for _, n := range []int{2, 3} {
			if ok, _ := b.inbox.has(heard(1, n)); ok {
				t.Errorf("message %d came through a line that was cut", n)
			}
		}
		a.stop()
		b.stop()
	})
}

// TestFarPeer: where a round trip takes longer than the deadline one connection carries all messages, once it
// stands; it takes longer than what a step of that may take, and is given up when nothing has come for two round trips.
func TestFarPeer(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS=%v", secure), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line, pki := newLine(), newTestPKI(t)
				line.delay = 200 * time.Millisecond
				as := func(name string) func(*Config) {
					return func(c *Config) {
						if c.Deadline = 100 * time.Millisecond; secure {
							pki.presents(pki.members, memberRequest(name))(c)
						}
					}
				}
				b := line.start(t, 2, as("m2"))
				a := line.start(t, 1, as("m1"))
				a.Send(at(b.identity.Address, 0))
				b.inbox.await(t, heard(1, 0))
				for n := range 10 {
					a.Send(to(2, n))
					b.inbox.await(t, heard(1, n))
					time.Sleep(time.Second) //nolint:forbidigo // inside a synctest bubble
				}
				if line.dials != 1 {
					t.Errorf("%d connections were made, want one", line.dials)
				}
				line.sever()
				cut := time.Now()
				a.Send(to(2, 10))
				line.await(t, 2)
				if took := time.Since(cut); took < 600*time.Millisecond || took > time.Second {
					t.Errorf("given up after %v", took)
				}
				a.Send(to(2, 11))
				a.counts.await(t, "dropped unreachable", 1)
				line.mend()
				a.Send(to(2, 12))
				b.inbox.await(t, heard(1, 12))
				a.stop()
				b.stop()
			})
		})
	}
}

// TestSlowReader: a member that does not get on with what it hears is no burden to
// others, is not given up, and loses the oldest of what waits for it; the packets of
// the gossip first.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 100
		line := newLine()
		a := line.start(t, 1, func(c *Config) { c.Queue, c.Deadline = most, 100*time.Millisecond })
		b, c := line.start(t, 2, nil), line.start(t, 3, nil)
		meet(t, a, b)
		meet(t, a, c)
		hold := make(chan struct{})
		b.inbox.mu.Lock()
		b.inbox.hold = hold
		b.inbox.mu.Unlock()
		a.Send(to(2, 1))
		b.inbox.await(t, heard(1, 1)) // and hangs
		// Fill what the network takes, and then the queue.
		large := authority.Acks{Stamp: authority.Stamp{Acks: make([]uint64, frameBytes)}}
		for a.counts.get("dropped full") == 0 {
			a.Send([]protocol.Envelope{{To: 2, Port: 1, Message: large}})
			synctest.Wait()
		}
		a.SendPacket(b.identity.Address, []byte("packet"))
		a.counts.await(t, "dropped packet full", 1)
		a.Send(to(2, 7))
		a.Send(to(3, 2))
		c.inbox.await(t, heard(1, 2))
		a.mu.Lock()
		waiting := len(a.known[2].link.queue.outgoing) - a.known[2].link.queue.head
		a.mu.Unlock()
		if waiting != most {
			t.Errorf("%d messages wait for it", waiting)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // inside a synctest bubble
		b.inbox.mu.Lock()
		b.inbox.hold = nil
		b.inbox.mu.Unlock()
		close(hold)
		b.inbox.await(t, heard(1, 7))
		if n := a.counts.get("dropped unreachable"); n != 0 {
			t.Errorf("%d messages were lost with a link that was given up", n)
		}
		for _, member := range []*peerHarness{a, b, c} {
			member.stop()
		}
	})
}

// TestIdlePeersAreLetGo: a peer that gets no messages for long is not kept, and is found again.
func TestIdlePeersAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine()
		a, b := line.start(t, 1, nil), line.start(t, 2, nil)
		meet(t, a, b)
		time.Sleep(4 * idle) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		for _, member := range []*peerHarness{a, b} {
			member.mu.Lock()
			peers, streams := len(member.peers), len(member.incoming)
			member.mu.Unlock()
			if peers != 0 || streams != 0 {
				t.Errorf("%s has %d peers and %d streams", member.identity.Name, peers, streams)
			}
		}
		a.Send(to(2, 5))
		b.inbox.await(t, heard(1, 5))
		a.stop()
		b.stop()
	})
}

// TestGossip: packets and connections of the gossip come by the same way.
func TestGossip(t *testing.T) {
	packets := make(chan string, 8)
	gossip := func(t *testing.T, id protocol.ID) *peerHarness {
		l := listenAgain(t, "127.0.0.1:0")
		b := prepare(t, identityAt(id, l), nil)
		b.Gossip(func(from string, packet []byte) { packets <- fmt.Sprintf("%s: %s", from, packet) }, echo)
		go func() { b.served <- b.Serve(l) }()
		t.Cleanup(b.stop)
		b.Listen(b.inbox.deliver)
		return b
	}
	a, b := gossip(t, 1), gossip(t, 2)
	a.SendPacket(b.identity.Address, []byte("hello"))
	if got := <-packets; got != a.identity.Address+": hello" {
		t.Errorf("%q", got)
	}
	conn, err := a.DialGossip(t.Context(), b.identity.Address)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("state"), 50_000)
	go func() {
		if _, err := conn.Write(append(want[:len(want):len(want)], '.')); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes came back: %v", len(got), len(want), err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	// One that neither side closes ends with the transport.
	left, err := a.DialGossip(t.Context(), b.identity.Address)
	if err != nil {
		t.Fatal(err)
	}
	b.stop()
	if _, err := left.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection to a member that has left: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.DialGossip(ctx, "127.0.0.1:1"); err == nil {
		t.Error("a connection to no member")
	}
}

// echo sends back what comes until a full stop, and closes.
func echo(conn net.Conn) {
	go func() {
		defer conn.Close()
		b := make([]byte, 1000)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			end := bytes.IndexByte(b[:n], '.')
			if end >= 0 {
				n = end
			}
			if _, err := conn.Write(b[:n]); err != nil || end >= 0 {
				return
			}
		}
	}()
}

// TestHungUp: a member that was reached before, and closes each connection at once, as one that was killed does, is warned of by
// its name, and not taken for one that is configured otherwise.
func TestHungUp(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS=%v", encrypted), func(t *testing.T) {
			pki := newTestPKI(t)
			change := func(name string) func(*Config) {
				if !encrypted {
					return nil
				}
				return pki.presents(pki.members, memberRequest(name))
			}
			b := start(t, 2, change("m2"))
			a := start(t, 1, change("m1"))
			meet(t, a, b)
			b.stop()
			l := listenAgain(t, b.identity.Address)
			t.Cleanup(func() { l.Close() })
			go func() {
				for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
					conn.Close()
				}
			}()
			// A message may be lost to an attempt that was refused, before the port was taken again: then another follows.
			messages := 0
			waitEither(t, "for the log to say that the connection was closed", func() (ok bool, here, there <-chan struct{}) {
				lines, logged := a.log.count("level=WARN", `msg="a member cannot be reached any more"`, "name=m2", `error="it has closed the connection"`)
				lost, dropped := a.counts.lost()
				if lines == 0 && lost >= messages {
					messages = lost + 1
					a.Send(to(2, messages))
				}
				return lines > 0, logged, dropped
			})
			a.log.mu.Lock()
			defer a.log.mu.Unlock()
			for line := range strings.Lines(a.log.text.String()) {
				if strings.Contains(line, "tls-ca") || strings.Contains(line, "TLS") {
					t.Errorf("the log has %s", line)
				}
			}
		})
	}
}
