package secure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdfast-locks/holdfast/internal/certificate"
)

// Client returns what a client reaches members with. A nil store means plain text.
// ServerName is what the members' certificates must be for, if not for the host that is
// dialled. A socket of this machine is never encrypted.
func Client(store *certificate.Store, serverName string) credentials.TransportCredentials {
	if store == nil {
		return plain{insecure.NewCredentials()}
	}
	return &dial{store: store, serverName: serverName, begin: func() credentials.TransportCredentials {
		return credentials.NewTLS(store.Dialling())
	}}
}

// Calling returns what a member reaches others with. A nil store means plain text.
func Calling(store *certificate.Store) credentials.TransportCredentials {
	if store == nil {
		return plain{insecure.NewCredentials()}
	}
	return &dial{store: store, begin: func() credentials.TransportCredentials { return credentials.NewTLS(store.Calling()) }}
}

// dial makes connections over TLS, each with the certificates of its moment.
type dial struct {
	store      *certificate.Store
	serverName string // "" means the host that is dialled
	begin      func() credentials.TransportCredentials
}

// ClientHandshake reaches a server.
func (d *dial) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if _, local := raw.(*net.UnixConn); local {
		return plain{insecure.NewCredentials()}.ClientHandshake(ctx, authority, raw)
	}
	if d.serverName != "" {
		authority = d.serverName
	}
	conn, info, err := d.begin().ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, fmt.Errorf("TLS: %w", d.store.ExplainDialling(err))
	}
	return &explaining{Conn: conn, explain: d.store.ExplainDialling}, info, nil
}

// ServerHandshake fails: this end dials.
func (d *dial) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials make connections")
}

// Info tells gRPC what it is.
func (d *dial) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone returns the credentials: they have no state of their own.
func (d *dial) Clone() credentials.TransportCredentials { return d }

// OverrideServerName does nothing: the name is set where the credentials are made.
func (d *dial) OverrideServerName(string) error { return nil }

// plain makes connections that are not encrypted.
type plain struct {
	credentials.TransportCredentials
}

// ClientHandshake reaches a server.
func (p plain) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if _, local := raw.(*net.UnixConn); local || err != nil {
		return conn, info, err
	}
	return &explaining{Conn: conn, explain: explainPlain}, info, nil
}

// Clone returns the credentials: they have no state of their own.
func (p plain) Clone() credentials.TransportCredentials { return p }

// explainPlain says why who was spoken to in plain text has hung up at once.
func explainPlain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New(hungUp + "; a member with TLS needs --tls-ca FILE")
	}
	return err
}

// HungUp reports whether an error, which may have come through gRPC as text, says that the other side has closed the
// connection before it was heard. Where it was reached in the same way before, that says nothing about encryption.
func HungUp(err error) bool {
	text := err.Error()
	for _, said := range []string{hungUp, "it closed the connection during the TLS handshake", syscall.ECONNRESET.Error(), syscall.EPIPE.Error()} {
		if strings.Contains(text, said) {
			return true
		}
	}
	return false
}

// hungUp is the error of a connection in plain text that is closed at once.
const hungUp = "it closed the connection at once"

// farewellLimit is how long what the other side has said is waited for when nothing can be
// written any more.
const farewellLimit = time.Second

// explaining explains why a connection ends before anything was read from it.
type explaining struct {
	net.Conn
	explain func(error) error
	heard   atomic.Bool
}

// NetConn returns the connection.
func (c *explaining) NetConn() net.Conn { return c.Conn }

// Read reads from the connection.
func (c *explaining) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && n == 0 && !c.heard.Load() {
		return n, c.explain(err)
	}
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// Write writes to the connection. Why it cannot is what the other side has said before it
// closed the connection, if it has said anything.
func (c *explaining) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil || c.heard.Load() || c.SetReadDeadline(time.Now().Add(farewellLimit)) != nil {
		return n, err
	}
	if _, why := c.Conn.Read(make([]byte, 1)); why != nil && c.explain(why) != why {
		return n, c.explain(why)
	}
	return n, err
}
