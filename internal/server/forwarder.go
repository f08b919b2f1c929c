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

// forwarder passes on what clients ask of a member that has no part in the spaces that are kept on disks: a guest without a folder, or one
// that was not added yet. It goes to members that have. A session's stream is passed on as it is, frame by frame, so the client
// has its session at the other member, and all that is promised to it is what it would be without this one: deadlines
// count from when the client has sent, and what is passed on comes later only. Calls in one go are made anew (forwarder_calls.go).
//
// A member that passes on says who has asked; the other one believes that only if a certificate proves that it is a member. In plain
// text nothing is known of clients, here or there.
type forwarder struct {
	service *service
	where   func() []string // the members that have a part; empty where this one has
	open    func(address string, dialer *socket.Dialer) (*grpc.ClientConn, error)
	// patience is how long a client may take to say hello.
	patience time.Duration

	mu     sync.Mutex
	closed bool
	next   int            // where the next search among where begins: not all go to the same one
	ways   map[string]way // by address
	passes map[*pass]struct{}
}

// way is a connection to an insider.
type way struct {
	conn   *grpc.ClientConn
	dialer *socket.Dialer
}

// pass is one stream or call that is passed on.
type pass struct {
	address string
	conn    *grpc.ClientConn
	end     context.CancelCauseFunc
}

const (
	// What a forwarder says of itself and of the client. The words go between members.
	forwarderKey = "holdfast-nonmember"
	callerKey    = "holdfast-visitor"
	identityKey  = "holdfast-identity"

	insiderNext  = 250 * time.Millisecond // a member that is not connected by then is not waited for alone
	insiderLimit = 2 * time.Second        // when no member is connected by then, the client is refused
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

// unreached says of each address why there is no connection.
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

// begin finds a member, and begins to pass something on to it. About says which member is tried first. The context ends when
// ctx does, when that member is not there any more, and by finish, which is to be called.
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
	if by.identity != "" {
		pairs = append(pairs, identityKey, by.identity)
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

// about is the subject of a call that is passed on: a session, which the member that it was opened at knows best, and alone where members have
// spaces in memory as well; or a request with an id, which acts once at one member. Both are "" where it is neither.
type about struct{ session, request string }

// order is in which order members are tried. The first is the member of the session; for a request without one it is the same each time, as
// long as the members are; and otherwise each time another one.
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
	of, _ := lock.ParseSessionID(id)            // what is none is refused there
	if member, listed := view.Of(protocol.ID(of.Member)); listed && slices.Contains(all, member.Address) {
		all = append([]string{member.Address}, slices.DeleteFunc(all, func(a string) bool { return a == member.Address })...)
	}
	return all
}

// find waits until a member is connected: one after the other is tried, and the first that can be reached is taken.
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
				waiting = last // the last one is waited for as long as any
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

// connected waits until a connection is there, and returns nil when it cannot be made, or ctx ends.
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

// moved ends what is passed on to members that are not there any more: their clients go to another one, through this one or not.
func (o *forwarder) moved() {
	there := o.where()
	if len(there) == 0 {
		return // this member has a part by now: what is under way goes on
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
			_ = way.conn.Close() // it fails when it is closed already
		}
	}
}

// close ends all that is passed on.
func (o *forwarder) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for p := range o.passes {
		p.end(errForwarderClosed)
	}
	for _, way := range o.ways {
		_ = way.conn.Close() // it fails when it is closed already
	}
}

// stream passes a session's stream on. Its error is a status.
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
	if err != nil && !errors.Is(err, io.EOF) { // then RecvMsg says why
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

// first receives the first frame of a client, which has its hello. A client that says nothing is not waited for.
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

// sessionOf returns the session that a hello goes on with; "" for a new one, and where the frame cannot be read: the member that it
// is passed on to reports that.
func sessionOf(frame *frames.Raw) string {
	operations := &frames.Operations{}
	defer operations.Release()
	if frames.NewCodec().Unmarshal(frame.Bytes, operations) != nil || len(operations.List()) == 0 {
		return ""
	}
	return operations.List()[0].GetHello().GetSession()
}

// forth passes on what the client says, until it has said all or the stream ends.
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
			return // RecvMsg says why
		}
	}
}

// broken says why something is passed on no more: what the other member has said, or that it is lost.
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
