package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// Newcomer is a process that is to become a member, and has no id yet.
type Newcomer struct {
	// Name is its future name. With TLS its certificate must carry it.
	Name string
	// Certificates authenticate it and the others. Nil means plain text.
	Certificates *certificate.Store
	// Dial opens a connection to HOST:PORT or unix:///PATH. Nil means the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Terms asks the member at an address for the terms that all members of its cluster must agree on: one line each, as in
// transport.Identity. The error says that the member does not answer before ctx ends, has another version of the
// protocol, or is not a member.
func (n *Newcomer) Terms(ctx context.Context, address string) ([]string, error) {
	dialer := socket.Dialer{Through: n.Dial}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(secure.Calling(n.Certificates)), grpc.WithContextDialer(dialer.Dial),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	answer, err := schema.NewMembersClient(conn).Terms(ctx, &schema.MemberNewcomer{Version: transport.Version, Name: n.Name})
	closed := conn.Close()
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil, fmt.Errorf("its version does not report its spaces; update it, or define the same spaces here")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, errors.New("no answer in time")
	case status.Code(err) == codes.Unavailable && dialer.Reason() != nil:
		return nil, dialer.Reason()
	case err != nil:
		return nil, plain(err)
	case closed != nil:
		return nil, closed
	case answer.GetVersion() != transport.Version:
		return nil, &transport.Refusal{
			What: transport.OtherVersion, Who: fmt.Sprintf("%.64q at %.64q", answer.GetName(), address),
			Ours: fmt.Sprint(transport.Version), Theirs: fmt.Sprint(answer.GetVersion()),
		}
	}
	return answer.GetLines(), nil
}

// Terms answers a newcomer with the terms that all members must agree on.
func (s service) Terms(ctx context.Context, newcomer *schema.MemberNewcomer) (*schema.MemberTerms, error) {
	self := s.t.identity()
	if known := s.t.config.Certificates; known != nil {
		if err := known.Member(secure.State(ctx), newcomer.GetName()); err != nil {
			refusal := &transport.Refusal{What: transport.NoProof, Who: fmt.Sprintf("%.64q", newcomer.GetName()), Ours: self.String(), Theirs: err.Error()}
			s.t.onRefusal(refusal)
			return nil, status.Error(codes.PermissionDenied, refusal.Error())
		}
	}
	return &schema.MemberTerms{Version: transport.Version, Name: self.Name, Lines: self.Terms}, nil
}
