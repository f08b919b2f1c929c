package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// Token identifies the client by a bearer token: one of Holdfast, or a JWT of an issuer that the members trust. It goes
// with each stream and each call. It is sent only over TLS, to this machine, and to Unix sockets; Dial and DialAdmin
// return an [holdfast.ErrConflict] if an address of the target is none of these. The default is no token.
func Token(secret string) Option {
	return TokenSource(func(context.Context) (string, error) { return secret, nil })
}

// TokenSource is Token for a token that changes: source is called for each new stream and each call, so it should
// answer at once. It must be safe for concurrent use. While it returns an error, the client sends nothing: a call of an
// Admin fails with an ErrUnavailable that has the error's text, and a Client goes on trying, as for a member that
// cannot be reached. Nil means no token.
func TokenSource(source func(context.Context) (string, error)) Option {
	return func(s *settings) { s.token = source }
}

// mostToken bounds a token, in bytes; members accept no longer one.
const mostToken = 16 << 10

// CheckToken returns why a text cannot be sent as a token. The error does not repeat it.
func CheckToken(secret string) error {
	switch {
	case secret == "":
		return errors.New("the token is empty")
	case len(secret) > mostToken:
		return fmt.Errorf("the token has %d bytes; at most %d are accepted", len(secret), mostToken)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token has a space, a line break or a character outside of ASCII; a token is one word")
	}
	return nil
}

// checkToken returns why no token can be sent to the addresses.
func (s *settings) checkToken(addresses []api.Address) error {
	if s.token == nil || s.store != nil {
		return nil
	}
	for _, at := range addresses {
		if at.Network != "unix" && !isLoopback(at.Place) {
			return fmt.Errorf("%w: the token would go to %s without encryption; encrypt the connection with TLSFiles (--tls-ca FILE), "+
				"or connect to this machine or a Unix socket", holdfast.ErrConflict, at)
		}
	}
	return nil
}

// isLoopback reports whether an address is meant as this machine. The connection is checked, too.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, parsed := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || parsed == nil && ip.Unmap().IsLoopback())
}

// bearer sends a token with each stream or call of a connection.
type bearer struct {
	source func(context.Context) (string, error)
}

// streamOptions returns the options of a stream that carries the token. Its connection may carry streams with others.
func (s *settings) streamOptions() []grpc.CallOption {
	if s.token == nil {
		return nil
	}
	return []grpc.CallOption{grpc.PerRPCCredentials(bearer{s.token})}
}

// callOptions returns the options of a connection whose calls all carry the token.
func (s *settings) callOptions() []grpc.DialOption {
	if s.token == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithPerRPCCredentials(bearer{s.token})}
}

// GetRequestMetadata returns the token. The error ends the call.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	info, _ := credentials.RequestInfoFromContext(ctx)
	if info.Method == health.Health_Check_FullMethodName {
		return nil, nil // a member answers these without a token
	}
	if !secure.IsPrivate(info.AuthInfo) {
		return nil, status.Error(codes.PermissionDenied,
			"the token is not sent: the connection is not encrypted, and leaves this machine; encrypt it with TLSFiles (--tls-ca FILE)")
	}
	secret, err := b.source(ctx)
	if err != nil {
		return nil, status.Error(codes.Unavailable, "get the token: "+err.Error())
	}
	if err := CheckToken(secret); err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	return map[string]string{"authorization": "Bearer " + secret}, nil
}

// RequireTransportSecurity returns false: GetRequestMetadata knows which plain connections do.
func (bearer) RequireTransportSecurity() bool { return false }
