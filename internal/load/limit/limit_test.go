package limit

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that ends with the test, and returns it with its address.
func serve(t testing.TB) (*Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(listener)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, listener.Addr().String()
}

func dial(t testing.TB, address string, options ...Option) *Client {
	t.Helper()
	c, err := Dial(context.Background(), address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // some tests have closed it
	return c
}

func lock(t testing.TB, c *Client, name string) *Hold {
	t.Helper()
	h, err := c.Lock(limited(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// limited bounds what a broken server would never answer.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func unlock(t testing.TB, h *Hold) {
	t.Helper()
	if err := h.Unlock(limited(t)); err != nil {
		t.Fatal(err)
	}
}

// enqueue starts to wait for a name, and returns when the server has queued that.
func enqueue(t *testing.T, c *Client, ctx context.Context, name string) <-chan error {
	t.Helper()
	announced, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		h, err := c.LockAnnounced(ctx, name, func() { close(announced) })
		if err == nil {
			err = h.Unlock(context.Background())
		}
		ended <- err
	}()
	select {
	case <-announced:
	case err := <-ended:
		t.Fatalf("not queued: %v", err)
	}
	return ended
}

// TestExclusionAndOrder: one at a time, in the order of arrival, over two connections.
func TestExclusionAndOrder(t *testing.T) {
	s, address := serve(t)
	clients := []*Client{dial(t, address), dial(t, address, Queued())}
	held := lock(t, clients[0], "n")
	const waiters = 40
	var mu sync.Mutex
	var order []int
	var work sync.WaitGroup
	var inside atomic.Int32
	for i := range waiters {
		announced := make(chan struct{})
		work.Go(func() {
			h, err := clients[i%2].LockAnnounced(limited(t), "n", func() { close(announced) })
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two have it at once")
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			inside.Add(-1)
			if err := h.Unlock(context.Background()); err != nil {
				t.Error(err)
			}
		})
		<-announced
	}
	unlock(t, held)
	work.Wait()
	for i, who := range order {
		if who != i {
			t.Fatalf("they had it in the order %v", order)
		}
	}
	unlock(t, lock(t, clients[1], "n")) // what was on its way has arrived before this
	if n := s.held(); n > 1 {
		t.Errorf("%d names are held", n)
	}
}

// TestStress: many workers, few names, both kinds of clients, never two holders.
func TestStress(t *testing.T) {
	s, address := serve(t)
	var inside [3]atomic.Int32
	var work sync.WaitGroup
	for _, c := range []*Client{dial(t, address), dial(t, address), dial(t, address, Queued())} {
		for worker := range 16 {
			work.Go(func() {
				for i := range 200 {
					n := (i + worker) % len(inside)
					h, err := c.Lock(context.Background(), "n"+string(rune('0'+n)))
					if err != nil {
						t.Error(err)
						return
					}
					if inside[n].Add(1) != 1 {
						t.Error("two have it at once")
					}
					inside[n].Add(-1)
					if err := h.Unlock(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	// The last releases of the client that does not wait may be under way still: a lock of
	// each name comes after them.
	c := dial(t, address)
	for n := range inside {
		unlock(t, lock(t, c, "n"+string(rune('0'+n))))
	}
	if n := s.held(); n != 0 {
		t.Errorf("%d names are held", n)
	}
}

// TestBrokenConnection: what it had goes to the next, its waits go, and who it was for
// hears of its end.
func TestBrokenConnection(t *testing.T) {
	_, address := serve(t)
	broken, other := dial(t, address), dial(t, address)
	lock(t, broken, "n")
	hold := lock(t, broken, "m")
	waiting := enqueue(t, other, context.Background(), "n")
	behind := enqueue(t, broken, context.Background(), "n")
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the next: %v", err)
	}
	if err := <-behind; !errors.Is(err, ErrClosed) {
		t.Errorf("a wait of the broken one ended with %v", err)
	}
	if err := hold.Unlock(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("an unlock ended with %v", err)
	}
	if _, err := broken.Lock(context.Background(), "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("a lock ended with %v", err)
	}
	unlock(t, lock(t, other, "n"))
	unlock(t, lock(t, other, "m"))
}

// TestCancel: a wait that was given up is not granted to any client, nor keeps its place.
func TestCancel(t *testing.T) {
	_, address := serve(t)
	c := dial(t, address)
	held := lock(t, c, "n")
	ctx, cancel := context.WithCancel(context.Background())
	first := enqueue(t, c, ctx, "n")
	second := enqueue(t, c, context.Background(), "n")
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	unlock(t, held)
	if err := <-second; err != nil {
		t.Error(err)
	}
	unlock(t, lock(t, c, "n"))
}

// TestCancelCrossesGrant: a wait is given up while its grant is under way, many times.
func TestCancelCrossesGrant(t *testing.T) {
	s, address := serve(t)
	a, b := dial(t, address), dial(t, address)
	for range 300 {
		held := lock(t, a, "n")
		ctx, cancel := context.WithCancel(context.Background())
		waiting := enqueue(t, b, ctx, "n")
		go cancel()
		unlock(t, held)
		if err := <-waiting; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	unlock(t, lock(t, b, "n"))
	unlock(t, lock(t, a, "n"))
	if n := s.held(); n != 0 {
		t.Errorf("%d names are held", n)
	}
}

// TestGarbage: a client that breaks the rules is disconnected, and loses what it had.
func TestGarbage(t *testing.T) {
	_, address := serve(t)
	long := make([]byte, MaxName+1)
	for name, garbage := range map[string][]byte{
		"HTTP":               []byte("GET / HTTP/1.1\r\n\r\n"),
		"too short":          {0, 4, byte(acquire), 0, 0, 0},
		"too long":           appendRequest(nil, acquire, 2, string(long)),
		"unknown operation":  appendRequest(nil, 99, 2, "x"),
		"an answer":          appendRequest(nil, granted, 2, "x"),
		"no name":            appendRequest(nil, acquire, 2, ""),
		"release of a name":  appendRequest(nil, release, 1, "held"),
		"an id out of range": appendRequest(nil, acquire, MaxRequests, "x"),
		"an id that is held": appendRequest(nil, acquire, 1, "x"),
		"a free id":          appendRequest(nil, release, 2, ""),
		"an id never seen":   appendRequest(nil, release, 77, ""),
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			if _, err := raw.Write(appendRequest(nil, acquire, 1, "held")); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, answerBytes)
			if _, err := io.ReadFull(raw, answer); err != nil || operation(answer[0]) != granted || binary.BigEndian.Uint32(answer[1:]) != 1 {
				t.Fatalf("answer %v, %v", answer, err)
			}
			if _, err := raw.Write(garbage); err != nil {
				t.Fatal(err)
			}
			if n, err := raw.Read(answer); err == nil {
				t.Fatalf("it answered %v", answer[:n])
			}
			unlock(t, lock(t, dial(t, address), "held"))
		})
	}
}

// TestPieces: requests that come byte by byte are read as well.
func TestPieces(t *testing.T) {
	_, address := serve(t)
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, b := range append(appendRequest(nil, acquire, 3, "name"), appendRequest(nil, release, 3, "")...) {
		if _, err := raw.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	want := appendAnswer(appendAnswer(nil, granted, 3), released, 3)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(raw, got); err != nil || string(got) != string(want) {
		t.Errorf("answers %v, %v; want %v", got, err, want)
	}
}

// TestLyingServer: a client ends when the server breaks the rules.
func TestLyingServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		accepted, err := listener.Accept()
		if err != nil {
			return // the test has failed already
		}
		defer accepted.Close()
		_, _ = accepted.Write(appendAnswer(nil, granted, 9)) // whether it is taken is the test
		_, _ = io.Copy(io.Discard, accepted)
	}()
	c := dial(t, listener.Addr().String())
	if _, err := c.Lock(limited(t), "n"); !errors.Is(err, ErrClosed) {
		t.Errorf("ended with %v", err)
	}
}

// TestNames: a name of no or too many bytes is refused before anything is sent.
func TestNames(t *testing.T) {
	_, address := serve(t)
	c := dial(t, address)
	for _, name := range []string{"", string(make([]byte, MaxName+1))} {
		if _, err := c.Lock(context.Background(), name); err == nil {
			t.Errorf("a name of %d bytes is taken", len(name))
		}
	}
	unlock(t, lock(t, c, string(make([]byte, MaxName))))
}

func FuzzRequest(f *testing.F) {
	f.Add(appendRequest(nil, acquire, 1, "orders/42"))
	f.Add(appendRequest(nil, release, 1<<19, ""))
	f.Add([]byte{0xff, 0xff, 1, 2, 3})
	f.Fuzz(func(t *testing.T, read []byte) {
		r, rest, whole, err := cutRequest(read)
		if whole && err != nil {
			t.Fatalf("whole, and %v", err)
		}
		if whole && string(appendRequest(nil, r.op, r.id, string(r.name)))+string(rest) != string(read) {
			t.Fatalf("%v and %v of %v", r, rest, read)
		}
	})
}

// held is how many names are held.
func (s *Server) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.table.entries)
}
