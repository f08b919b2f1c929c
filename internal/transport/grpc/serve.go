package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// Register adds the members' service to a server that serves clients too. The server must accept messages of
// FrameBytes, and pings every 10 s. Close ends the streams of this transport; the server belongs to its owner.
func (t *Transport) Register(r grpc.ServiceRegistrar) { schema.RegisterMembersServer(r, service{t: t}) }

// Serve serves only members on the connections of l, encrypted if the Config requires it, until Close, and then returns
// nil. It closes l.
func (t *Transport) Serve(l net.Listener) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(FrameBytes),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.MaxConcurrentStreams(64),
		grpc.ConnectionTimeout(max(10*time.Second, t.config.handshake())),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 2 * idle, Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
	}
	door := secure.Door{Certificates: t.config.Certificates, Refused: t.config.Observer.Refused, Logger: t.config.Logger}
	if t.config.Certificates != nil {
		door.Encryption = t.config.Certificates.Membership()
	}
	options = append(options, grpc.Creds(secure.Accept(door)))
	server := grpc.NewServer(options...)
	t.Register(server)
	if !t.begin() {
		return l.Close()
	}
	defer t.work.Done()
	stop := context.AfterFunc(t.life, server.Stop)
	defer stop()
	if err := server.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve members on %v: %w", l.Addr(), err)
	}
	return nil
}

// begin counts one more running task, unless the transport is closed.
func (t *Transport) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.work.Add(1)
	return true
}
