package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// Watch sends the events of a space, or of all, as they happen. Its header marks the moment from which no event is
// missing without a report.
func (s *service) Watch(r *schema.WatchRequest, stream grpc.ServerStreamingServer[schema.WatchEvent]) error {
	return endOf(stream.Context(), s.follow(stream.Context(), r, grpcFeed{stream}))
}

// Observe sends the states of a name. Its header says that it has begun.
func (s *service) Observe(r *schema.ObserveRequest, stream grpc.ServerStreamingServer[schema.Observed]) error {
	ctx := stream.Context()
	return endOf(ctx, s.observeFor(ctx, callerOf(ctx), r, grpcObserver{stream}))
}

// endOf returns the status with which a stream of answers ends.
func endOf(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, errLeaving):
		return status.Error(codes.Unavailable, errLeaving.Error())
	}
	return err
}

// grpcObserver is the stream of an observer.
type grpcObserver struct {
	stream grpc.ServerStreamingServer[schema.Observed]
}

func (o grpcObserver) begin() error { return o.stream.SendHeader(metadata.MD{}) }

// idle sends a state without a name: the connection may be alive where this process does not run.
func (o grpcObserver) idle() error { return o.stream.Send(&schema.Observed{}) }

func (o grpcObserver) states(states []*schema.Observed) error {
	for _, state := range states {
		if err := o.stream.Send(state); err != nil {
			return err
		}
	}
	return nil
}

// grpcFeed is the stream of a watcher.
type grpcFeed struct {
	stream grpc.ServerStreamingServer[schema.WatchEvent]
}

func (f grpcFeed) begin() error { return f.stream.SendHeader(metadata.MD{}) }

func (grpcFeed) idle() error { return nil } // gRPC keeps its connections alive

// send sends events: each was encoded once for all watchers.
func (f grpcFeed) send(ctx context.Context, turn *feedTurn, happened []*events.Batch) error {
	var parts [][]byte
	for _, batch := range happened {
		for _, item := range batch.Items {
			part, err := item.Wire.Of(func() ([]byte, error) { return proto.Marshal(item.WatchEvent) })
			if err != nil {
				return fmt.Errorf("encode an event: %w", err)
			}
			parts = append(parts, part)
		}
	}
	turn.wait(ctx, parts...)
	for _, part := range parts {
		if err := f.stream.SendMsg(&frames.Raw{Bytes: mem.BufferSlice{mem.SliceBuffer(part)}}); err != nil {
			return err
		}
	}
	return nil
}
