package server

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recoverUnary keeps a panic in one call from ending the member: the call is answered with internal, and the stack is
// logged.
func (g *grpcServer) recoverUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			g.panicked(info.FullMethod, mistake, debug.Stack())
			answer, err = nil, errInternal()
		}
	}()
	return handler(ctx, request)
}

// recoverStream is recoverUnary for streams.
func (g *grpcServer) recoverStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			g.panicked(info.FullMethod, mistake, debug.Stack())
			err = errInternal()
		}
	}()
	return handler(server, stream)
}

// panicked logs and counts a panic.
func (g *grpcServer) panicked(method string, mistake any, stack []byte) {
	g.service.observer.refused("internal")
	g.service.logger.Error("a call has panicked", "method", method, "panic", fmt.Sprint(mistake), "stack", string(stack))
}

func errInternal() error {
	return status.Error(codes.Internal, "internal error; the member's log says more")
}
