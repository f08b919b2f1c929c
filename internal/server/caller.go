package server

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/protocol"
)

// caller is the identity of the caller as established by the port: by a certificate, or by the system for a Unix
// socket. The zero value is an unknown caller.
type caller struct {
	name     string // for people
	identity string // for comparison: only its opener may use a session
}

// called returns the client's name in listings and logs: the established one, or else the one that it gives itself.
func (v caller) called(itself string) string { return cmp.Or(v.name, itself) }

// known is an edge's knowledge of a call besides its request.
type known struct {
	caller  caller
	arrived protocol.Time // 0: now
}

type knownKey struct{}

// arrived returns when a call reached this member.
func (s *service) arrived(ctx context.Context) protocol.Time {
	if v, is := ctx.Value(knownKey{}).(known); is && v.arrived != 0 {
		return v.arrived
	}
	return s.now()
}

// callerOf returns the caller of a call.
func callerOf(ctx context.Context) caller {
	if v, is := ctx.Value(knownKey{}).(known); is {
		return v.caller
	}
	if v := secure.Of(ctx); v != nil {
		return caller{v.Name, v.Identity}
	}
	return caller{}
}

// recognize establishes the caller of an HTTP request.
func (h *web) recognize(c *exchange) error {
	if h.certificates == nil || c.r.TLS == nil {
		return nil
	}
	name, err := h.certificates.Client(c.r.TLS)
	if err != nil {
		return api.Fail(api.CodeUnauthenticated, err.Error())
	}
	if name != "" {
		c.caller = caller{name, secure.CertificateIdentity(name)}
	}
	return nil
}

// admitUnary admits clients, regardless of what else may connect to the port.
func (g *grpcServer) admitUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	wasGreeted(ctx)
	if err := g.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// admitStream is admitUnary for streams.
func (g *grpcServer) admitStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if v, is := g.passedOn(stream.Context()); is {
		stream = &passedOn{stream, context.WithValue(stream.Context(), knownKey{}, known{caller: v})}
	} else if err := g.admit(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	if info.FullMethod != schema.Sessions_Open_FullMethodName { // which records itself when it was greeted
		wasGreeted(stream.Context())
	}
	return handler(server, stream)
}

// passedOn is a stream passed on by another member: its context has the caller.
type passedOn struct {
	grpc.ServerStream
	context context.Context
}

func (p *passedOn) Context() context.Context { return p.context }

// passedOn returns the original caller if a certificate proves that a member passes a call on, or calls for itself;
// otherwise false.
func (g *grpcServer) passedOn(ctx context.Context) (v caller, is bool) {
	first := func(key string) string {
		if all := metadata.ValueFromIncomingContext(ctx, key); len(all) > 0 {
			return all[0]
		}
		return ""
	}
	member, itself := first(forwarderKey), first(secure.MemberKey)
	if name := cmp.Or(member, itself); name == "" || g.certificates == nil || g.certificates.Member(secure.State(ctx), name) != nil {
		return v, false
	}
	if member == "" {
		return caller{itself, secure.MemberIdentity(itself)}, true
	}
	return caller{first(callerKey), first(identityKey)}, true
}

// admit refuses a caller that is not a client. The members' service decides whether it is a member.
func (g *grpcServer) admit(ctx context.Context, method string) error {
	v := secure.Of(ctx)
	if v == nil || v.Refusal == nil || ofMembers(method) {
		return nil
	}
	g.service.observer.refused(api.CodeUnauthenticated)
	return api.ToStatus(failed("connect", "", "", api.Fail(api.CodeUnauthenticated, v.Refusal.Error())))
}

// ofMembers reports whether a method is for members.
func ofMembers(method string) bool {
	return strings.HasPrefix(method, "/"+schema.Members_ServiceDesc.ServiceName+"/")
}
