package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/lock"
)

// Limits of the port that are not configurable.
const (
	maxStreams     = 1_000            // sessions and calls of one connection at once
	maxHeaderBytes = 16 << 10         // of one call
	pingAfter      = 20 * time.Second // after this an idle connection is pinged
	pingAtMost     = 5 * time.Second  // minimum interval of clients' pings
	outboxEvents   = 100_000          // maximum of unread answers of a client
	outboxBytes    = 16 << 20
	unsentBytes    = 256 << 20 // of all clients
	unsentShare    = 64 << 10  // of each, when that is exceeded
	memberFrame    = 2 << 20   // maximum frame of another member

	// Flow control windows of a stream and of a connection. With explicit values gRPC does not measure the connection's
	// bandwidth, for which it would send a ping with nearly every frame.
	streamWindow     = 256 << 10
	connectionWindow = 1 << 20
)

// grpcServer serves port 4040: package schema over HTTP/2. Sessions are streams, see stream; the service has all single
// calls.
type grpcServer struct {
	schema.UnimplementedSessionsServer

	service *service
	rpc     *grpc.Server
	// certificates identify members. Nil without TLS.
	certificates *certificate.Store
	// patience is the time limit for a client to begin: for the handshake of a connection, and the hello of a stream.
	// It is also how long its last answer waits to be read.
	patience    time.Duration
	edge        edge.Config
	connections int
	stile       *turnstile

	ending    context.Context // ends when the server stops
	leave     context.CancelFunc
	live      liveStreams
	occupants occupants
	work      sync.WaitGroup // the goroutines of the streams
	frames    sync.Pool      // of *frame
	scratches sync.Pool      // of *edge.Effects
}

// newGRPC returns the server of port 4040 for a Config that was resolved.
func newGRPC(c Config, s *service) *grpcServer {
	g := &grpcServer{
		service:      s,
		certificates: c.Certificates,
		patience:     c.Limits.Header,
		edge:         s.edge(),
		connections:  c.Limits.Connections,
		stile:        newTurnstile(greetedAtOnce, greetingLine, greetingLimit),
		live:         liveStreams{all: map[*stream]struct{}{}},
		occupants:    occupants{bySession: map[lock.SessionID]*stream{}},
		frames:       sync.Pool{New: func() any { return newFrame() }},
		scratches:    sync.Pool{New: func() any { return &edge.Effects{} }},
	}
	g.ending, g.leave = context.WithCancel(context.Background())
	g.rpc = grpc.NewServer(g.options(c)...)
	schema.RegisterSessionsServer(g.rpc, g)
	g.rpc.RegisterService(g.oneShot(schema.Locks_ServiceDesc), s)
	g.rpc.RegisterService(g.oneShot(schema.Admin_ServiceDesc), s)
	if c.Members != nil {
		c.Members.Register(g.rpc)
	}
	grpc_health_v1.RegisterHealthServer(g.rpc, &grpcHealth{service: s, ending: g.ending, every: time.Second})
	reflection.Register(g.rpc)
	s.moved = g.live.announce
	return g
}

func (g *grpcServer) options(c Config) []grpc.ServerOption {
	atLeast := c.Limits.MessageBytes
	if c.Members != nil {
		atLeast = max(atLeast, memberFrame)
	}
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(min(atLeast, math.MaxInt32))),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(c.Limits.Header),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: c.Limits.Idle, Time: pingAfter, Timeout: c.Limits.Header}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingAtMost, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ForceServerCodecV2(heavyCodec{frames.NewCodec(), g.service.heavy}),
		grpc.UnknownServiceHandler(g.unknownCall),
		grpc.ChainUnaryInterceptor(g.recoverUnary, g.admitUnary),
		grpc.ChainStreamInterceptor(g.recoverStream, g.admitStream, g.endMembers),
		grpc.Creds(countedCredentials{secure.Accept(secure.Door{Certificates: c.Certificates, Logger: c.Logger}), c.Observer}),
	}
}

// serve serves the connections of l until stop. The error is nil after stop.
func (g *grpcServer) serve(l net.Listener) error {
	within := bound(l, g.connections, g.service.observer).as("grpc").among(g.service.doors)
	err := g.rpc.Serve(inTurn{within, g.stile})
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC on %v: %w", l.Addr(), err)
	}
	return nil
}

// stop ends every stream with unavailable, so that clients go elsewhere, waits for the calls under way until ctx ends,
// and then ends those, too. Afterwards nothing of this server runs.
func (g *grpcServer) stop(ctx context.Context) {
	g.service.observer.source.End()
	g.service.stop()
	g.leave()
	g.service.forwarder.close()
	g.live.close(status.Error(codes.Unavailable, "this member is leaving"))
	done := make(chan struct{})
	go func() {
		g.rpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		g.rpc.Stop()
		<-done
	}
	g.work.Wait()
}
