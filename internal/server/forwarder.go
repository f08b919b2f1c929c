package server

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// forwarder passes on clients' requests at a member that has no part in the spaces that are kept on disks: a guest
// without a folder, or one that was not added yet. They go to members that have. A session's stream is passed on
// unchanged, frame by frame, so the client has its session at the other member, with the same promises as without this
// one: deadlines count from the client's sending, and forwarding only delays it. Single calls are made again
// (forwarder_calls.go).
//
// A forwarding member names the original caller; the other one believes it only if a certificate proves that it is a
// member. In plain text clients have no identity at either member.
type forwarder struct {
	service *service
	where   func() []string // the members that have a part; empty if this one has
	open    func(address string, dialer *socket.Dialer) (*grpc.ClientConn, error)
	// patience is the time limit for a client's hello.
	patience time.Duration

	mu     sync.Mutex
	closed bool
	next   int            // where the next search among where begins, to spread the load
	ways   map[string]way // by address
	passes map[*pass]struct{}
}

// way is a connection to an insider.
type way struct {
	conn   *grpc.ClientConn
	dialer *socket.Dialer
}

// pass is one stream or call being passed on.
type pass struct {
	address string
	conn    *grpc.ClientConn
	end     context.CancelCauseFunc
}

const (
	// Metadata by which a forwarder identifies itself and the client. They go between members.
	forwarderKey = "holdfast-nonmember"
	callerKey    = "holdfast-visitor"
	identityKey  = "holdfast-identity"
	groupsKey    = "holdfast-groups" // once for each group
	nearKey      = "holdfast-near"
	addressKey   = "holdfast-address"

	insiderNext  = 250 * time.Millisecond // after this the next member is tried as well
	insiderLimit = 2 * time.Second        // without a connection by then, the client is refused
)

func newForwarder(c Config, s *service) *forwarder {
	o := &forwarder{service: s, where: c.Insiders, patience: c.Limits.Header, ways: map[string]way{}, passes: map[*pass]struct{}{}}
	if o.where == nil {
		o.where = func() []string { return nil }
	}
	o.open = func(address string, dialer *socket.Dialer) (*grpc.ClientConn, error) {
		return grpc.NewClient("passthrough:///"+address,
			grpc.WithTransportCredentials(secure.Calling(c.Certificates)), grpc.WithContextDialer(dialer.Dial),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(frames.NewCodec()), grpc.MaxCallRecvMsgSize(memberFrame+int(outboxBytes))),
			grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
			grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: insiderLimit}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 2 * time.Second}))
	}
	return o
}

// unreached explains, for each address, why there is no connection.
func (o *forwarder) unreached(addresses []string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, address := range addresses {
		reason := fmt.Sprintf("no answer within %v", insiderLimit)
		if way, is := o.ways[address]; is && way.dialer.Reason() != nil {
			reason = way.dialer.Reason().Error()
		}
		all = append(all, address+": "+reason)
	}
	return strings.Join(all, "; ")
}

// passesOn reports whether clients are served by other members.
func (o *forwarder) passesOn() bool { return len(o.where()) > 0 }

// begin finds a member, and begins to pass something on to it. About determines which member is tried first. The
// context ends when ctx does, when that member is no longer listed, and by finish, which must be called.
func (o *forwarder) begin(ctx context.Context, by caller, about about) (*pass, context.Context, error) {
	if forwarders := metadata.ValueFromIncomingContext(ctx, forwarderKey); len(forwarders) > 0 {
		return nil, nil, &holdfast.UnavailableError{Why: fmt.Sprintf("member %s has no part in the spaces that are kept on disks either, as member %.64q, which has passed the request on", o.service.identity().Member.GetName(), forwarders[0])}
	}
	p := &pass{}
	if err := o.find(ctx, p, o.order(about)); err != nil {
		return nil, nil, err
	}
	ctx, p.end = context.WithCancelCause(ctx)
	pairs := []string{forwarderKey, o.service.identity().Member.GetName()}
	if by.name != "" {
		pairs = append(pairs, callerKey, by.name)
	}
	if by.identity() != "" {
		pairs = append(pairs, identityKey, by.identity())
	}
	for _, group := range by.subject.Also {
		pairs = append(pairs, groupsKey, group)
	}
	if by.subject.Near {
		pairs = append(pairs, nearKey, "true")
	}
	if by.address != "" {
		pairs = append(pairs, addressKey, by.address)
	}
	ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs(pairs...))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		p.end(nil)
		return nil, nil, errForwarderClosed
	}
	o.passes[p] = struct{}{}
	return p, ctx, nil
}

var errForwarderClosed = &holdfast.UnavailableError{Why: "this member is leaving"}

func (o *forwarder) finish(p *pass) {
	p.end(nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.passes, p)
}

// about is the subject of a forwarded call: a session, which the member that opened it knows best, and alone if members
// have spaces in memory as well; or a request with an id, which acts once at one member. Both are "" if it is neither.
type about struct{ session, request string }

// order returns the order in which members are tried. The first is the member of the session; for a request without a
// session it is always the same, as long as the members are; and otherwise it rotates.
func (o *forwarder) order(about about) []string {
	there := o.where()
	if len(there) == 0 {
		return nil
	}
	o.mu.Lock()
	o.next++
	first := o.next % len(there)
	o.mu.Unlock()
	if about.request != "" {
		h := fnv.New32a()
		h.Write([]byte(about.request))
		first = int(h.Sum32() % uint32(len(there)))
	}
	all := slices.Concat(there[first:], there[:first])
	view := o.service.view()
	id, _, _ := strings.Cut(about.session, ".") // the secret
	of, _ := lock.ParseSessionID(id)            // an invalid one is refused there
	if member, listed := view.Of(protocol.ID(of.Member)); listed && slices.Contains(all, member.Address) {
		all = append([]string{member.Address}, slices.DeleteFunc(all, func(a string) bool { return a == member.Address })...)
	}
	return all
}

// find waits until a member is connected: it tries one after the other, and takes the first that can be reached.
func (o *forwarder) find(ctx context.Context, p *pass, addresses []string) error {
	limit, done := context.WithTimeout(ctx, insiderLimit)
	defer done()
	found, failed := make(chan *pass, len(addresses)), 0
	for i, address := range addresses {
		conn, err := o.conn(address)
		if err != nil {
			return err
		}
		go func() { found <- connected(limit, address, conn) }()
		next := time.NewTimer(insiderNext)
		last := i == len(addresses)-1
		for waiting := true; waiting; {
			select {
			case got := <-found:
				if got != nil {
					next.Stop()
					p.address, p.conn = got.address, got.conn
					return nil
				}
				failed++
				waiting = last && failed < len(addresses)
			case <-next.C:
				waiting = last // the last one gets all the remaining time
			}
		}
		next.Stop()
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(addresses) > 0 {
		return &holdfast.UnavailableError{Why: fmt.Sprintf("this member has no part in the spaces that are kept on disks, and reaches none of those that have: %s", o.unreached(addresses))}
	}
	return &holdfast.UnavailableError{Why: "no member is known that has a part in the spaces that are kept on disks"}
}

// connected waits for a connection, and returns nil if it cannot be made, or ctx ends.
func connected(ctx context.Context, address string, conn *grpc.ClientConn) *pass {
	conn.ResetConnectBackoff()
	conn.Connect()
	for begun := false; ; {
		state := conn.GetState()
		switch {
		case state == connectivity.Ready:
			return &pass{address: address, conn: conn}
		case state == connectivity.TransientFailure && begun:
			return nil
		}
		begun = begun || state == connectivity.Connecting
		if !conn.WaitForStateChange(ctx, state) {
			return nil
		}
	}
}

func (o *forwarder) conn(address string) (*grpc.ClientConn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errForwarderClosed
	}
	if way, is := o.ways[address]; is {
		return way.conn, nil
	}
	dialer := &socket.Dialer{}
	conn, err := o.open(address, dialer)
	if err != nil {
		return nil, fmt.Errorf("%w: pass on to %s: %w", holdfast.ErrUnavailable, address, err)
	}
	o.ways[address] = way{conn, dialer}
	return conn, nil
}

// moved ends the forwarding to members that are no longer listed: their clients move to another one, through this one
// or not.
func (o *forwarder) moved() {
	there := o.where()
	if len(there) == 0 {
		return // this member has a part by now: forwarding under way continues
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range o.passes {
		if !slices.Contains(there, p.address) {
			p.end(&holdfast.UnavailableError{Why: "the member at " + p.address + " is lost"})
		}
	}
	for address, way := range o.ways {
		if !slices.Contains(there, address) {
			delete(o.ways, address)
			_ = way.conn.Close() // it fails if it is already closed
		}
	}
}

// close ends all forwarding.
func (o *forwarder) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for p := range o.passes {
		p.end(errForwarderClosed)
	}
	for _, way := range o.ways {
		_ = way.conn.Close() // it fails if it is already closed
	}
}

// stream forwards a session's stream. Its error is a status.
func (o *forwarder) stream(stream grpc.ServerStream) error {
	first, err := o.first(stream)
	if err != nil {
		return err
	}
	p, ctx, err := o.begin(stream.Context(), callerOf(stream.Context()), about{session: sessionOf(first)})
	if err != nil {
		first.Bytes.Free()
		return api.ToStatus(failed("connect", "", "", err))
	}
	defer o.finish(p)
	there, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, schema.Sessions_Open_FullMethodName)
	if err == nil {
		err = there.SendMsg(first)
	}
	if err != nil && !errors.Is(err, io.EOF) { // then RecvMsg returns the reason
		return o.broken(ctx, p, err)
	}
	o.service.background.Go(func() { o.forth(p, stream, there) })
	for greeted := false; ; greeted = true {
		frame := &frames.Raw{}
		switch err := there.RecvMsg(frame); {
		case errors.Is(err, io.EOF):
			stream.SetTrailer(there.Trailer())
			return nil
		case err != nil:
			stream.SetTrailer(there.Trailer())
			return o.broken(ctx, p, err)
		}
		if !greeted {
			wasGreeted(stream.Context())
		}
		if err := stream.SendMsg(frame); err != nil {
			return err
		}
	}
}

// first receives a client's first frame, which has its hello, within a time limit.
func (o *forwarder) first(stream grpc.ServerStream) (*frames.Raw, error) {
	frame, received := &frames.Raw{}, make(chan error, 1)
	o.service.background.Go(func() { received <- stream.RecvMsg(frame) })
	late := time.NewTimer(o.patience)
	defer late.Stop()
	select {
	case err := <-received:
		if errors.Is(err, io.EOF) {
			err = api.ToStatus(failed("connect", "", "", api.Fail(api.CodeBadRequest, "the first operation of a stream must be hello")))
		}
		return frame, err
	case <-o.service.life.Done():
		return nil, api.ToStatus(failed("connect", "", "", errForwarderClosed))
	case <-late.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "no hello within %v", o.patience)
	}
}

// sessionOf returns the session that a hello resumes; "" for a new one, or if the frame cannot be read: the other
// member reports that.
func sessionOf(frame *frames.Raw) string {
	operations := &frames.Operations{}
	defer operations.Release()
	if frames.NewCodec().Unmarshal(frame.Bytes, operations) != nil || len(operations.List()) == 0 {
		return ""
	}
	return operations.List()[0].GetHello().GetSession()
}

// forth forwards the client's frames, until it has sent all or the stream ends.
func (o *forwarder) forth(p *pass, stream grpc.ServerStream, there grpc.ClientStream) {
	for {
		frame := &frames.Raw{}
		switch err := stream.RecvMsg(frame); {
		case errors.Is(err, io.EOF):
			if err := there.CloseSend(); err != nil {
				p.end(err)
			}
			return
		case err != nil:
			p.end(err)
			return
		}
		if there.SendMsg(frame) != nil {
			return // RecvMsg returns the reason
		}
	}
}

// broken returns why the forwarding ended: the other member's answer, or its loss.
func (o *forwarder) broken(ctx context.Context, p *pass, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(cause, holdfast.ErrUnavailable) {
		return api.ToStatus(failed("connect", "", "", cause))
	}
	if s := status.Convert(err); s.Code() != codes.Unavailable || len(s.Details()) > 0 {
		return err
	}
	return api.ToStatus(failed("connect", "", "", &holdfast.UnavailableError{
		Why: fmt.Sprintf("this member has no part in the spaces that are kept on disks, and the connection to the one at %s is lost: %s", p.address, status.Convert(err).Message()),
	}))
}
