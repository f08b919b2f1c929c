package client_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/client"
)

// countingListener counts the connections that it has accepted.
type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

func (c *countingListener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}

// crowd dials so many Clients, together of them at a time, each of which locks a name of its own.
func crowd(tb testing.TB, address string, size, together int, options ...client.Option) []*client.Client {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	clients, failures := make([]*client.Client, size), make([]error, size)
	each(size, together, func(i int) {
		if clients[i], failures[i] = client.Dial(ctx, address, options...); failures[i] == nil {
			_, failures[i] = clients[i].Lock(ctx, fmt.Sprint("crowd/", i))
		}
	})
	for i, err := range failures {
		if err != nil {
			tb.Fatalf("client %d of %d: %v", i, size, err)
		}
	}
	return clients
}

// each does something with each number below size, together of them at a time.
func each(size, together int, do func(int)) {
	next := make(chan int)
	var work sync.WaitGroup
	for range together {
		work.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range size {
		next <- i
	}
	close(next)
	work.Wait()
}

// disperse closes Clients.
func disperse(tb testing.TB, clients []*client.Client) {
	tb.Helper()
	each(len(clients), 100, func(i int) {
		if err := clients[i].Close(); err != nil {
			tb.Error(err)
		}
	})
}

// TestManyClientsOfAProcess: many Clients that a process dials at once are all served, over a few connections.
func TestManyClientsOfAProcess(t *testing.T) {
	const many = 1500
	l := &countingListener{Listener: loopback(t)}
	serveMember(t, l, nil)
	clients := crowd(t, l.Addr().String(), many, many, client.TTL(time.Minute))
	sessions := map[string]bool{}
	for _, c := range clients {
		sessions[c.Session()] = true
	}
	if len(sessions) != many {
		t.Errorf("%d sessions of %d clients", len(sessions), many)
	}
	// Three would do. A machine that is so busy that nothing is heard on them for a while makes some more.
	if made := l.accepted.Load(); made < 3 || made > many/10 {
		t.Errorf("%d connections for %d clients, want a few", made, many)
	}
	disperse(t, clients)
}
