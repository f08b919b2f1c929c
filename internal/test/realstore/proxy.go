package realstore

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a network between clients and one server: it connects clients at its address to the server. Its faults apply
// to all connections, present and future. Its methods may be called from any goroutine.
type Proxy struct {
	t       testing.TB
	target  string
	address string
	work    sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while it refuses
	links    map[*link]bool
	changed  chan struct{} // closed, and replaced, when hold changes
	hold     bool
	deaf     bool
	delay    time.Duration
	armed    bool
	left     int // while armed: bytes of answers until the cut
	cuts     int
	closed   bool
}

// link is a client's connection and the one to the server.
type link struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
}

// NewProxy returns a proxy for the server at target, as host:port. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, links: map[*link]bool{}, changed: make(chan struct{})}
	if err := p.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// Address is the address for clients: host:port.
func (p *Proxy) Address() string { return p.address }

func (p *Proxy) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p.listener, p.address = listener, listener.Addr().String()
	p.work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			p.work.Go(func() { p.connect(client) })
		}
	})
	return nil
}

func (p *Proxy) connect(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close() // like a server that cannot be reached
		return
	}
	l := &link{client: client, server: server, ended: make(chan struct{})}
	p.mu.Lock()
	if p.closed || p.listener == nil {
		p.mu.Unlock()
		l.end()
		return
	}
	p.links[l] = true
	p.mu.Unlock()
	p.work.Go(func() { p.pass(l, server, client, true) })
	p.pass(l, client, server, false)
}

// end closes both connections.
func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		l.client.Close()
		l.server.Close()
	})
}

// pass copies one direction, until either connection ends.
func (p *Proxy) pass(l *link, from, to net.Conn, answers bool) {
	defer func() {
		l.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	}()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if err != nil || !p.wait(l) {
			return
		}
		data := piece[:n]
		if answers {
			data = p.answer(data)
		}
		if _, err := to.Write(data); err != nil {
			return
		}
	}
}

// wait delays data, and reports whether it may pass.
func (p *Proxy) wait(l *link) bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.ended:
			return false
		}
	}
	for {
		p.mu.Lock()
		hold, changed := p.hold, p.changed
		p.mu.Unlock()
		if !hold {
			return true
		}
		select {
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}

// answer returns the part of an answer that passes. It cuts all connections if the time has come.
func (p *Proxy) answer(data []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf {
		return nil
	}
	if !p.armed {
		return data
	}
	if len(data) <= p.left {
		p.left -= len(data)
		return data
	}
	p.armed = false
	p.cut()
	return nil
}

func (p *Proxy) cut() {
	for l := range p.links {
		p.cuts++
		l.end()
	}
}

// Cut closes all connections now. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// CutAnswers closes all connections, once, when the server has sent more than after further bytes of answers, of which
// at most after bytes pass: with 0 at the next answer. The server has then executed the request, and the client does
// not know.
func (p *Proxy) CutAnswers(after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.left = true, after
}

// Cuts is the number of cut connections, by any method.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// DropAnswers lets requests pass and drops the answers, while on.
func (p *Proxy) DropAnswers(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = on
}

// Delay delays every piece of a request and of an answer. Zero ends it.
func (p *Proxy) Delay(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Blackhole holds back all data, in both directions, while on. Afterwards it passes.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = on
	close(p.changed)
	p.changed = make(chan struct{})
}

// Refuse cuts all connections and closes the listener, while on.
func (p *Proxy) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on == (p.listener == nil) {
		return nil
	}
	if !on {
		return p.listen(p.address)
	}
	err := p.listener.Close()
	p.listener = nil
	p.cut()
	return err
}

func (p *Proxy) close() {
	p.mu.Lock()
	var err error
	if p.closed = true; p.listener != nil {
		err = p.listener.Close()
	}
	for l := range p.links {
		l.end()
	}
	p.mu.Unlock()
	p.work.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		p.t.Errorf("end the proxy: %v", err)
	}
}
