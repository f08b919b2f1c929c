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

// Client returns a client's credentials for connections to members. A nil store means plain text. ServerName is the
// name that the members' certificates must have, if not the dialled host. A Unix socket is never encrypted.
func Client(store *certificate.Store, serverName string) credentials.TransportCredentials {
	if store == nil {
		return plain{insecure.NewCredentials()}
	}
	return &dial{store: store, serverName: serverName, begin: func() credentials.TransportCredentials {
		return credentials.NewTLS(store.Dialling())
	}}
}

// Calling returns a member's credentials for connections to others. A nil store means plain text.
func Calling(store *certificate.Store) credentials.TransportCredentials {
	if store == nil {
		return plain{insecure.NewCredentials()}
	}
	return &dial{store: store, begin: func() credentials.TransportCredentials { return credentials.NewTLS(store.Calling()) }}
}

// dial makes TLS connections, each with the current certificates.
type dial struct {
	store      *certificate.Store
	serverName string // "" means the dialled host
	begin      func() credentials.TransportCredentials
}

// ClientHandshake performs the handshake with a server.
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

// Info implements credentials.TransportCredentials.
func (d *dial) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone returns the credentials: they have no state.
func (d *dial) Clone() credentials.TransportCredentials { return d }

// OverrideServerName has no effect: the name is set when the credentials are made.
func (d *dial) OverrideServerName(string) error { return nil }

// plain makes unencrypted connections.
type plain struct {
	credentials.TransportCredentials
}

// ClientHandshake performs no handshake, and explains early errors.
func (p plain) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, _, err := p.TransportCredentials.ClientHandshake(ctx, authority, raw)
	info := inPlainText{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}, isNear(raw.RemoteAddr())}
	if _, local := raw.(*net.UnixConn); local || err != nil {
		return conn, info, err
	}
	return &explaining{Conn: conn, explain: explainPlain}, info, nil
}

// inPlainText describes an unencrypted connection.
type inPlainText struct {
	credentials.CommonAuthInfo
	near bool // it does not leave this machine
}

// AuthType names the kind of authentication, as gRPC's own credentials do.
func (inPlainText) AuthType() string { return "insecure" }

// isNear reports whether a peer's address is on this machine.
func isNear(at net.Addr) bool {
	switch at := at.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return at.IP.IsLoopback()
	}
	return false
}

// IsPrivate reports whether a connection that was made with these credentials may carry a secret: it is encrypted, or
// does not leave this machine.
func IsPrivate(info credentials.AuthInfo) bool {
	switch info := info.(type) {
	case inPlainText:
		return info.near
	case credentials.TLSInfo:
		return true
	}
	return false
}

// Clone returns the credentials: they have no state.
func (p plain) Clone() credentials.TransportCredentials { return p }

// explainPlain explains why the other side of a plain text connection has hung up at once.
func explainPlain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New(hungUp + "; a member with TLS needs --tls-ca FILE")
	}
	return err
}

// HungUp reports whether an error, which may have come through gRPC as text, means that the other side has closed the
// connection before anything was exchanged. If an earlier connection of the same kind worked, that says nothing about
// encryption.
func HungUp(err error) bool {
	text := err.Error()
	for _, said := range []string{hungUp, "it closed the connection during the TLS handshake", syscall.ECONNRESET.Error(), syscall.EPIPE.Error()} {
		if strings.Contains(text, said) {
			return true
		}
	}
	return false
}

// hungUp is the error of a plain text connection that is closed at once.
const hungUp = "it closed the connection at once"

// farewellLimit is how long to wait for the other side's last message when nothing can be written any more.
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

// Write writes to the connection. If that fails, the reason is the other side's last message before it closed the
// connection, if there is one.
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
