package soak

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// proxy forwards connections to a member, and can cut them.
type proxy struct {
	listener net.Listener
	behind   api.Address
	work     sync.WaitGroup

	mu    sync.Mutex
	over  bool
	pairs map[*pair]struct{}
}

// pair is a connection, with the one behind the proxy.
type pair struct{ front, back net.Conn }

// listen starts a proxy on a free port of the loopback.
func listen(behind string) (*proxy, error) {
	targets, err := api.ParseTarget(behind)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for connections to cut: %w", err)
	}
	p := &proxy{listener: listener, behind: targets[0], pairs: map[*pair]struct{}{}}
	p.work.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		front, err := p.listener.Accept()
		if err != nil {
			return // it was closed
		}
		p.work.Go(func() { p.carry(front) })
	}
}

// carry copies bytes both ways until one side ends.
func (p *proxy) carry(front net.Conn) {
	back, err := net.Dial(p.behind.Network, p.behind.Place)
	if err != nil {
		_ = front.Close() // the client detects it, and reports it
		return
	}
	both := &pair{front, back}
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		both.close()
		return
	}
	p.pairs[both] = struct{}{}
	p.mu.Unlock()
	var way sync.WaitGroup
	for _, one := range []struct{ from, to net.Conn }{{front, back}, {back, front}} {
		way.Go(func() {
			_, _ = io.Copy(one.to, one.from) // it ends as the connection does
			both.close()
		})
	}
	way.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, both)
}

// close ends both; data in transit is lost, which is the purpose.
func (b *pair) close() {
	_ = b.front.Close()
	_ = b.back.Close()
}

// cut ends all connections, and returns their number.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for both := range p.pairs {
		both.close()
	}
	count := len(p.pairs)
	clear(p.pairs)
	return count
}

// close ends the proxy.
func (p *proxy) close() error {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.cut()
	p.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
