package server

import (
	"net"
	"sync"
	"sync/atomic"

	transport "google.golang.org/grpc/credentials"
)

// preface is what a client of HTTP/2 says first (RFC 9113 §3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// countedCredentials counts connections that fail in the handshake of their
// encryption, or send something after it that is not the beginning of HTTP/2.
type countedCredentials struct {
	transport.TransportCredentials
	observer *Observer
}

// ServerHandshake encrypts a connection.
func (c countedCredentials) ServerHandshake(raw net.Conn) (net.Conn, transport.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		c.observer.refused("handshake")
		return conn, info, err
	}
	return &prefacedConn{Conn: conn, observer: c.observer}, info, nil
}

// Clone copies the credentials.
func (c countedCredentials) Clone() transport.TransportCredentials {
	return countedCredentials{c.TransportCredentials.Clone(), c.observer}
}

// prefacedConn looks at the first bytes of a connection. One that sends others than those
// with which HTTP/2 begins, or only some of them, is counted when it is closed.
type prefacedConn struct {
	net.Conn
	observer *Observer
	read     atomic.Int64 // how many of the preface's bytes have come
	odd      atomic.Bool  // others have come
	once     sync.Once
}

// Read reads from the connection.
func (c *prefacedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if before := int(c.read.Load()); n > 0 && before < len(preface) {
		seen := min(n, len(preface)-before)
		if string(b[:seen]) != preface[before:before+seen] {
			c.odd.Store(true)
		}
		c.read.Store(int64(before + seen))
	}
	return n, err
}

// Close closes the connection.
func (c *prefacedConn) Close() error {
	c.once.Do(func() {
		if read := c.read.Load(); c.odd.Load() || 0 < read && read < int64(len(preface)) {
			c.observer.refused(malformed)
		}
	})
	return c.Conn.Close()
}
