package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// closeLimit is how long this member still sends another one its events when the server ends.
const closeLimit = time.Second

// endMembers ends the streams of other members with the server: they do not end by themselves, and those members look
// for this one elsewhere or not at all. Those of events end by themselves, once the last event is sent.
func (g *grpcServer) endMembers(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !ofMembers(info.FullMethod) {
		return handler(server, stream)
	}
	done := make(chan error, 1)
	g.work.Go(func() { done <- g.recoverStream(server, stream, info, handler) })
	select {
	case err := <-done:
		return err
	case <-g.ending.Done():
	}
	if info.FullMethod == schema.Members_Events_FullMethodName {
		slow := time.NewTimer(closeLimit)
		defer slow.Stop()
		select {
		case err := <-done:
			return err
		case <-slow.C:
		}
	}
	return status.Error(codes.Unavailable, "this member is leaving")
}
