package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// oneShot serves a service's unary methods as streams of one message each way. On the wire that is the same. Here it
// lets this server see malformed requests, to count them: for unary methods gRPC refuses them by itself. gRPC does not
// call interceptors for them: so they are called here.
func (g *grpcServer) oneShot(service grpc.ServiceDesc) *grpc.ServiceDesc {
	service.Streams = slices.Clone(service.Streams)
	for i := range service.Streams {
		handler, method := service.Streams[i].Handler, "/"+service.ServiceName+"/"+service.Streams[i].StreamName
		service.Streams[i].Handler = func(server any, stream grpc.ServerStream) error {
			return api.ToStatus(g.service.guardedStream(method, stream, func(stream grpc.ServerStream) error { return handler(server, stream) }))
		}
	}
	for _, method := range service.Methods {
		info := &grpc.StreamServerInfo{FullMethod: "/" + service.ServiceName + "/" + method.MethodName}
		serve := func(server any, stream grpc.ServerStream) error {
			return g.admitStream(server, stream, info, g.serveOne(method))
		}
		service.Streams = append(service.Streams, grpc.StreamDesc{
			StreamName: method.MethodName,
			Handler: func(server any, stream grpc.ServerStream) error {
				return g.recoverStream(server, stream, info, serve)
			},
		})
	}
	service.Methods = nil
	return &service
}

// serveOne serves a method with one request and one answer.
func (g *grpcServer) serveOne(method grpc.MethodDesc) grpc.StreamHandler {
	return func(server any, stream grpc.ServerStream) error {
		counted := false
		decode := func(request any) error {
			err := g.service.receiveOne(stream, request.(proto.Message))
			counted = err != nil
			return err
		}
		answer, err := method.Handler(server, stream.Context(), decode, g.admitCall)
		if err != nil && !counted {
			g.service.countRefusal(err)
		}
		if err != nil {
			return api.ToStatus(err)
		}
		return stream.SendMsg(answer)
	}
}

// receiveOne receives the request of a call.
func (s *service) receiveOne(stream grpc.ServerStream, request proto.Message) error {
	switch err := stream.RecvMsg(request); {
	case errors.Is(err, io.EOF):
		s.observer.refused(malformed)
		return api.ToStatus(api.Fail(api.CodeBadRequest, "the call has no request"))
	case err != nil:
		return s.unreceived(err)
	}
	return s.tooLarge(func() int { return proto.Size(request) })
}

// admitCall takes the tokens of a call, and makes it if its caller may.
func (g *grpcServer) admitCall(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	requests, returns := costOf(request)
	if err := g.service.admit(callerOf(ctx), requests, returns, g.service.now()); err != nil {
		return nil, err
	}
	err = g.service.guarded(ctx, info.FullMethod, request.(proto.Message), func() (err error) {
		answer, err = handler(ctx, request)
		return err
	})
	return answer, err
}

// costOf returns a request's number of new requests, and of those that keep or release, for admission.
func costOf(request any) (requests, returns int) {
	switch r := request.(type) {
	case *schema.AcquireRequest:
		return max(1, len(r.GetNames())), 0
	case *schema.ReleaseRequest, *schema.RenewRequest, *schema.EndSessionRequest:
		return 0, 1
	}
	return 1, 0
}

// tooLarge refuses a message beyond message_bytes. That is also the limit of the connection, enforced by gRPC, unless
// other members' frames, which come to the same port, may be larger.
func (s *service) tooLarge(size func() int) error {
	if s.limits.MessageBytes >= memberFrame || int64(size()) <= s.limits.MessageBytes {
		return nil
	}
	s.observer.refused(api.CodeTooLarge)
	return api.ToStatus(api.Fail(api.CodeTooLarge, fmt.Sprintf("the message has more than %d bytes, which message_bytes allows", s.limits.MessageBytes)))
}

// unreceived counts malformed input, if its sender is at fault. gRPC has reported the fault to the sender.
func (s *service) unreceived(err error) error {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		s.observer.refused(api.CodeTooLarge)
	case codes.Internal, codes.Unimplemented:
		s.observer.refused(malformed)
	}
	return err
}

// countRefusal counts the refusal of a call, as for HTTP.
func (s *service) countRefusal(err error) {
	switch code := api.Code(err); code {
	case api.CodeBadRequest, api.CodeName, api.CodeDenied:
		s.observer.refused(code)
	}
}

// unknownCall answers calls of unknown methods.
func (g *grpcServer) unknownCall(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	g.service.observer.refused(api.CodeUnknownPath)
	return status.Errorf(codes.Unimplemented, "unknown method %.200q", method)
}
