package server

import (
	"net"
	"sync"
	"sync/atomic"

	transport "google.golang.org/grpc/credentials"
)

// preface is the first message of an HTTP/2 client (RFC 9113 §3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// countedCredentials counts connections that fail in the TLS handshake, or then send something other than the HTTP/2
// preface.
type countedCredentials struct {
	transport.TransportCredentials
	observer *Observer
}

// ServerHandshake performs the handshake of a connection.
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

// prefacedConn checks the first bytes of a connection. One that sends something other than the HTTP/2 preface, or only
// a part of it, is counted when it is closed.
type prefacedConn struct {
	net.Conn
	observer *Observer
	read     atomic.Int64 // number of the preface's bytes received
	odd      atomic.Bool  // other bytes were received
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
