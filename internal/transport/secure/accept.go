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
	// TLS is the state of the connection; nil where it is not encrypted.
	TLS *tls.ConnectionState
	// Name identifies the client for people: the name of its certificate, the user and the
	// process at the other end of a socket. Empty means that it cannot be known.
	Name string
	// Identity identifies the client for comparison: the same on all connections of one
	// client. Empty means that it cannot be known.
	Identity string
	// Refusal says why it is not let in as a client; it may be a member.
	Refusal error
}

// AuthType names how the peer is known.
func (v *Peer) AuthType() string {
	switch {
	case v.TLS != nil:
		return "tls"
	case v.Identity != "":
		return "socket"
	}
	return "none"
}

// Of returns who makes a call; nil where the port does not know.
func Of(ctx context.Context) *Peer {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	v, _ := p.AuthInfo.(*Peer)
	return v
}

// State returns the state of the TLS connection that a call has come or gone over, nil
// where it is not encrypted.
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
	// Certificates make the port an encrypted one. Nil means plain text.
	Certificates *certificate.Store
	// Encryption configures the encryption of its connections. Nil means what Certificates
	// has for a port of members and clients.
	Encryption *tls.Config
	// Refused gets the reason why a connection was not let in. It may be nil.
	Refused func(why string)
	// Logger gets what operators should know. Nil discards.
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

// CertificateIdentity is the identity of a caller that shows a client's certificate with that name.
func CertificateIdentity(name string) string { return "certificate " + name }

// MemberKey is the metadata of a call in which a member that has no part in a space asks as a client, and its name. That is
// believed where the certificate of the connection proves it.
const MemberKey = "holdfast-member"

// MemberIdentity is the identity of a member with that name, as a client.
func MemberIdentity(name string) string { return "member " + name }

// accept lets clients and members in.
type accept struct {
	door      Door
	encrypted credentials.TransportCredentials // nil in plain text
	log       sparing.Log
}

// ServerHandshake finds out who has connected.
func (a *accept) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	who, local, err := socket.Of(raw)
	switch {
	case err != nil:
		return nil, nil, a.refuse(raw, "socket", err)
	case local:
		return raw, &Peer{
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
			Name:           who.String(), Identity: who.Identity(),
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
		v.Identity = CertificateIdentity(v.Name)
	}
	return conn, v, nil
}

// refuse reports why a connection is not let in. A port scanner must not fill the
// log, so what has nothing to do with certificates is for debugging, and the rest is logged
// once a minute.
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

// Info tells gRPC what it is.
func (a *accept) Info() credentials.ProtocolInfo {
	if a.encrypted != nil {
		return a.encrypted.Info()
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

// Clone returns the credentials: they have no state of their own.
func (a *accept) Clone() credentials.TransportCredentials { return a }

// OverrideServerName does nothing: this end accepts.
func (a *accept) OverrideServerName(string) error { return nil }
