package server

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/protocol"
)

// caller is who makes a call, as established by the port: by a certificate, a token, or the system for a Unix socket.
// The zero value is an unknown caller.
type caller struct {
	name    string // for people; empty if only the caller itself could say it
	subject access.Subject
	address string
}

// identity returns the caller's identity for comparison: only its opener may use a session. Anonymous callers have none.
func (v caller) identity() string {
	if v.subject.Name == access.Anonymous {
		return ""
	}
	return v.subject.Name
}

// called returns the client's name in listings: the established one, or else the one that it gives itself.
func (v caller) called(itself string) string { return cmp.Or(v.name, itself) }

// actor returns who acts, for logs and for listings of what operators did: the subject, and then what the caller says of
// itself.
func (v caller) actor(itself string) string {
	switch subject := v.subject.Name; {
	case subject == "":
		return itself
	case itself == "":
		return subject
	default:
		return subject + ", " + itself
	}
}

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
	v, _ := ctx.Value(knownKey{}).(known)
	return v.caller
}

// identify finds out who calls. A failure costs the caller a while.
func (s *service) identify(ctx context.Context, name string, from guard.Caller) (caller, error) {
	subject, err := s.guard.Authenticate(ctx, from)
	if err != nil {
		return caller{}, s.unauthenticated(ctx, from.Address, err)
	}
	return caller{name: name, subject: subject, address: from.Address}, nil
}

// authLimit is what a failed authentication costs its caller.
const authLimit = 100 * time.Millisecond

// unauthenticated refuses a caller whose credentials are not valid.
func (s *service) unauthenticated(ctx context.Context, address string, err error) error {
	kind := "certificate"
	if failure, is := err.(*guard.Failure); is {
		kind = failure.Kind
	}
	s.observer.unauthenticated.WithLabelValues(kind).Inc()
	host := clientName(address, "")
	if s.strangers.news(host, s.now()) {
		s.logger.Warn("a caller is refused: its credentials are not valid", "from", host, "error", err)
	}
	s.guard.Audit().Add(audit.Entry{Event: audit.Unauthenticated, Address: address, Result: api.CodeUnauthenticated, Detail: err.Error()})
	pause := time.NewTimer(authLimit)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	case <-s.life.Done():
	}
	return api.Fail(api.CodeUnauthenticated, err.Error())
}

// bearer returns the token in an Authorization header; "" if there is none.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// isLoopback reports whether an address of a connection is on this machine.
func isLoopback(a net.Addr) bool {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Unmap().IsLoopback()
	}
	return a.Network() == "unix"
}

// ofMember reports whether an address is the host of a member in the view. It counts where no certificate can prove who
// calls.
func (s *service) ofMember(a net.Addr) bool {
	host := hostOf(a.String())
	view := s.view()
	for i := range view.Members {
		if hostOf(view.Members[i].Address) == host {
			return true
		}
	}
	return false
}

// recognize establishes the caller of an HTTP request.
func (h *web) recognize(c *exchange) error {
	local, _ := c.r.Context().Value(connectionKey{}).(net.Conn)
	var at net.Addr = httpAddress(c.r.RemoteAddr)
	if local != nil {
		at = local.RemoteAddr()
	}
	from := guard.Caller{Address: c.r.RemoteAddr, Near: isLoopback(at), Bearer: bearer(c.r.Header.Get("Authorization"))}
	name := ""
	switch {
	case h.certificates != nil && c.r.TLS != nil:
		var err error
		if name, err = h.certificates.Client(c.r.TLS); err != nil {
			return h.service.unauthenticated(c.r.Context(), c.r.RemoteAddr, err)
		}
		from.Private = true
		if name != "" {
			from.Certificate = certificate.Subject(c.r.TLS.PeerCertificates[0])
		}
	default:
		from.Private = from.Near
		from.Near = from.Near || h.service.ofMember(at)
	}
	var err error
	c.caller, err = h.service.identify(c.r.Context(), name, from)
	return err
}

// httpAddress is the address of a request's connection, for a server that does not have the connection itself.
type httpAddress string

func (httpAddress) Network() string  { return "tcp" }
func (a httpAddress) String() string { return string(a) }

// admitUnary admits clients, regardless of what else may connect to the port.
func (g *grpcServer) admitUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	wasGreeted(ctx)
	if _, err := g.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// admitStream is admitUnary for streams: the calls of clients are streams, too, and their context gets the caller.
func (g *grpcServer) admitStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	v, is := g.passedOn(stream.Context())
	if !is {
		var err error
		if v, err = g.admit(stream.Context(), info.FullMethod); err != nil {
			return err
		}
	}
	stream = &callersStream{stream, context.WithValue(stream.Context(), knownKey{}, known{caller: v})}
	if info.FullMethod != schema.Sessions_Open_FullMethodName { // which records itself when it was greeted
		wasGreeted(stream.Context())
	}
	return handler(server, stream)
}

// callersStream is a stream whose context has the caller.
type callersStream struct {
	grpc.ServerStream
	context context.Context
}

func (p *callersStream) Context() context.Context { return p.context }

// passedOn returns the original caller if a certificate proves that a member passes a call on, or calls for itself;
// otherwise false.
func (g *grpcServer) passedOn(ctx context.Context) (v caller, is bool) {
	all := func(key string) []string { return metadata.ValueFromIncomingContext(ctx, key) }
	first := func(key string) string { return cmp.Or(append(all(key), "")...) }
	member, itself := first(forwarderKey), first(secure.MemberKey)
	if name := cmp.Or(member, itself); name == "" || g.certificates == nil || g.certificates.Member(secure.State(ctx), name) != nil {
		return v, false
	}
	if member == "" {
		return caller{itself, access.Subject{Name: secure.MemberIdentity(itself), Near: true}, addressOf(ctx)}, true
	}
	subject := access.Subject{Name: cmp.Or(first(identityKey), access.Anonymous), Also: all(groupsKey), Near: first(nearKey) != ""}
	return caller{first(callerKey), subject, cmp.Or(first(addressKey), addressOf(ctx))}, true
}

// addressOf returns the address of a call's connection.
func addressOf(ctx context.Context) string {
	if p, is := peer.FromContext(ctx); is {
		return p.Addr.String()
	}
	return ""
}

// admit finds out who calls, and refuses a caller that is not a client: for health and reflection, too, which take no
// right, as at /healthz. The members' service decides whether its caller is a member.
func (g *grpcServer) admit(ctx context.Context, method string) (caller, error) {
	if ofMembers(method) {
		return caller{}, nil
	}
	from, name := guard.Caller{Address: addressOf(ctx)}, ""
	if header := metadata.ValueFromIncomingContext(ctx, "authorization"); len(header) > 0 {
		from.Bearer = bearer(header[0])
	}
	if p, is := peer.FromContext(ctx); is {
		from.Near = isLoopback(p.Addr)
	}
	v := secure.Of(ctx)
	switch {
	case v == nil:
	case v.Refusal != nil:
		g.service.observer.refused(api.CodeUnauthenticated)
		return caller{}, api.ToStatus(failed("connect", "", "", g.service.unauthenticated(ctx, from.Address, v.Refusal)))
	case v.Local != nil:
		name, from.User, from.Groups, from.Near, from.Private = v.Name, v.Local.Subject(), v.Local.Groups(), true, true
	case v.TLS != nil:
		name, from.Certificate, from.Private = v.Name, v.Identity, true
	default:
		from.Private = from.Near
		if p, is := peer.FromContext(ctx); is {
			from.Near = from.Near || g.service.ofMember(p.Addr)
		}
	}
	found, err := g.service.identify(ctx, name, from)
	if err != nil {
		g.service.observer.refused(api.CodeUnauthenticated)
		return caller{}, api.ToStatus(failed("connect", "", "", err))
	}
	return found, nil
}

// ofMembers reports whether a method is for members.
func ofMembers(method string) bool {
	return strings.HasPrefix(method, "/"+schema.Members_ServiceDesc.ServiceName+"/")
}
