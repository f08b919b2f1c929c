package secure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/sparing"
)

// Peer is the member or client that has connected to a port.
type Peer struct {
	credentials.CommonAuthInfo
	// TLS is the state of the connection; nil if it is not encrypted.
	TLS *tls.ConnectionState
	// Local is the process at the other end of a socket; nil on other connections.
	Local *socket.Peer
	// Name identifies the client for people: the name in its certificate, or the user and the process at the other end
	// of a socket. Empty means unknown.
	Name string
	// Identity is the subject of the client, the same on all its connections: of its certificate, or of the user at the
	// other end of a socket. Empty means unknown.
	Identity string
	// Refusal is the reason why it is not admitted as a client; it may be a member.
	Refusal error
}

// AuthType names the kind of authentication.
func (v *Peer) AuthType() string {
	switch {
	case v.TLS != nil:
		return "tls"
	case v.Identity != "":
		return "socket"
	}
	return "none"
}

// Of returns the peer that makes a call; nil if the port does not know it.
func Of(ctx context.Context) *Peer {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	v, _ := p.AuthInfo.(*Peer)
	return v
}

// State returns the TLS state of a call's connection, nil if it is not encrypted.
func State(ctx context.Context) *tls.ConnectionState {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	switch info := p.AuthInfo.(type) {
	case *Peer:
		return info.TLS
	case credentials.TLSInfo:
		return &info.State
	}
	return nil
}

// Door configures how a port accepts connections.
type Door struct {
	// Certificates encrypt the port. Nil means plain text.
	Certificates *certificate.Store
	// Encryption is the TLS configuration of its connections. Nil means the one of Certificates for a port of members
	// and clients.
	Encryption *tls.Config
	// Refused receives the reason for a refused connection. It may be nil.
	Refused func(why string)
	// Logger is the port's logger. Nil discards.
	Logger *slog.Logger
}

// Accept returns the credentials of a server.
func Accept(d Door) credentials.TransportCredentials {
	a := &accept{door: d}
	if d.Certificates != nil {
		if d.Encryption == nil {
			d.Encryption = d.Certificates.Shared()
		}
		a.encrypted = credentials.NewTLS(d.Encryption)
	}
	return a
}

// MemberKey is the metadata, with the member's name, of a call by a member that has no part in a space and acts as a
// client. It is believed if the certificate of the connection proves it.
const MemberKey = "holdfast-member"

// MemberIdentity is the subject of a member with that name, as a client.
func MemberIdentity(name string) string { return "member:" + name }

// accept admits clients and members.
type accept struct {
	door      Door
	encrypted credentials.TransportCredentials // nil in plain text
	log       sparing.Log
}

// ServerHandshake authenticates a connection.
func (a *accept) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	who, local, err := socket.Of(raw)
	switch {
	case err != nil:
		return nil, nil, a.refuse(raw, "socket", err)
	case local:
		return raw, &Peer{
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
			Local:          &who, Name: who.String(), Identity: who.Subject(),
		}, nil
	case a.encrypted == nil:
		return raw, &Peer{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
	}
	conn, info, err := a.encrypted.ServerHandshake(raw)
	if err != nil {
		return nil, nil, a.refuse(raw, "tls", certificate.ExplainAccepting(err))
	}
	known, ok := info.(credentials.TLSInfo)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("a TLS handshake returned %T", info), conn.Close())
	}
	v := &Peer{CommonAuthInfo: known.CommonAuthInfo, TLS: &known.State}
	if v.Name, v.Refusal = a.door.Certificates.Client(v.TLS); v.Name != "" {
		v.Identity = certificate.Subject(v.TLS.PeerCertificates[0])
	}
	return conn, v, nil
}

// refuse reports a refused connection. A port scanner must not fill the log, so errors unrelated to certificates are at
// level debug, and the rest is logged once a minute.
func (a *accept) refuse(raw net.Conn, why string, err error) error {
	if a.door.Refused != nil {
		a.door.Refused(why)
	}
	if a.door.Logger != nil {
		level := slog.LevelDebug
		if certificate.Worth(err) {
			if news, _ := a.log.News(err.Error()); news {
				level = slog.LevelWarn
			}
		}
		a.door.Logger.Log(context.Background(), level, "a connection is refused: "+err.Error(), "from", raw.RemoteAddr().String())
	}
	return err
}

// ClientHandshake fails: this end accepts.
func (a *accept) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials accept connections")
}

// Info implements credentials.TransportCredentials.
func (a *accept) Info() credentials.ProtocolInfo {
	if a.encrypted != nil {
		return a.encrypted.Info()
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

// Clone returns the credentials: they have no state.
func (a *accept) Clone() credentials.TransportCredentials { return a }

// OverrideServerName has no effect: this end accepts.
func (a *accept) OverrideServerName(string) error { return nil }
