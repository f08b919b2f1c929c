package main

import (
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
)

// listenAt listens on an address. localhost means every loopback address of the machine, at one port, because programs
// differ in which of them they try.
func listenAt(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return net.Listen("tcp", address)
	}
	for tries := 1; ; tries++ {
		l, err := listenLocal(port)
		if port != "0" || tries == localTries || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
}

// localTries is the number of attempts to find a port that is free for both IPv4 and IPv6.
const localTries = 10

// listenLocal listens on a port of 127.0.0.1 and of ::1. A machine may have only one of them.
func listenLocal(port string) (net.Listener, error) {
	four, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
	switch {
	case lacksFamily(err):
		return net.Listen("tcp6", net.JoinHostPort("::1", port))
	case err != nil:
		return nil, err
	}
	_, port, err = net.SplitHostPort(four.Addr().String())
	if err != nil {
		return nil, errors.Join(err, four.Close())
	}
	six, err := net.Listen("tcp6", net.JoinHostPort("::1", port))
	switch {
	case lacksFamily(err):
		return four, nil
	case err != nil:
		return nil, errors.Join(err, four.Close())
	}
	return joinListeners(four, six), nil
}

// lacksFamily reports whether an address was refused because the machine does not have its kind.
func lacksFamily(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// listeners combines several listeners into one, which share the bound of the port. Its address is that of the first.
type listeners struct {
	all      []net.Listener
	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
	work     sync.WaitGroup
}

type accepted struct {
	conn net.Conn
	err  error
}

func joinListeners(all ...net.Listener) *listeners {
	l := &listeners{all: all, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, one := range all {
		l.work.Go(func() { l.take(one) })
	}
	return l
}

// take passes on accepted connections of one listener, until it is closed.
func (l *listeners) take(from net.Listener) {
	for {
		conn, err := from.Accept()
		select {
		case l.accepted <- accepted{conn, err}:
		case <-l.closed:
			if conn != nil {
				_ = conn.Close() // it came too late to be served
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept waits for the next connection to any of them.
func (l *listeners) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close closes all of them.
func (l *listeners) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		for _, one := range l.all {
			err = errors.Join(err, one.Close())
		}
		l.work.Wait()
	})
	return err
}

// Addr returns the address of the first.
func (l *listeners) Addr() net.Addr { return l.all[0].Addr() }
