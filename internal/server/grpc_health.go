package server

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// grpcHealth answers grpc.health.v1.Health as /readyz does. "" and the name of the Sessions service are serving when
// every space can grant, and that name followed by "/SPACE" when that space can; a member that hinders the others
// serves none.
type grpcHealth struct {
	health.UnimplementedHealthServer
	service *service
	ending  context.Context
	every   time.Duration // poll interval of a Watch
}

// check returns the health of a service; found is false for an unknown one.
func (h *grpcHealth) check(name string) (state health.HealthCheckResponse_ServingStatus, found bool) {
	spaces := h.service.spaces
	if name != "" && name != schema.Sessions_ServiceDesc.ServiceName && name != schema.Locks_ServiceDesc.ServiceName {
		one, is := strings.CutPrefix(name, schema.Sessions_ServiceDesc.ServiceName+"/")
		space := h.service.byName[one]
		if !is || space == nil {
			return health.HealthCheckResponse_SERVICE_UNKNOWN, false
		}
		spaces = []Space{*space}
	}
	for i := range spaces {
		condition, err := h.service.inspect(&spaces[i])
		if err != nil || condition.State != protocol.Ready {
			return health.HealthCheckResponse_NOT_SERVING, true
		}
	}
	if hinders(h.service.self(), spaces) {
		return health.HealthCheckResponse_NOT_SERVING, true
	}
	return health.HealthCheckResponse_SERVING, true
}

// Check returns the current health of a service.
func (h *grpcHealth) Check(_ context.Context, request *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	state, found := h.check(request.GetService())
	if !found {
		return nil, status.Errorf(codes.NotFound, "unknown service %.80q", request.GetService())
	}
	return &health.HealthCheckResponse{Status: state}, nil
}

// List returns the health of all services.
func (h *grpcHealth) List(context.Context, *health.HealthListRequest) (*health.HealthListResponse, error) {
	names := []string{"", schema.Sessions_ServiceDesc.ServiceName, schema.Locks_ServiceDesc.ServiceName}
	for _, space := range h.service.spaces {
		names = append(names, schema.Sessions_ServiceDesc.ServiceName+"/"+space.Name)
	}
	all := &health.HealthListResponse{Statuses: map[string]*health.HealthCheckResponse{}}
	for _, name := range names {
		state, _ := h.check(name)
		all.Statuses[name] = &health.HealthCheckResponse{Status: state}
	}
	return all, nil
}

// Watch sends the health of a service, and again whenever it changes.
func (h *grpcHealth) Watch(request *health.HealthCheckRequest, stream grpc.ServerStreamingServer[health.HealthCheckResponse]) error {
	look := time.NewTicker(h.every)
	defer look.Stop()
	last := health.HealthCheckResponse_UNKNOWN
	for {
		if state, _ := h.check(request.GetService()); state != last {
			last = state
			if err := stream.Send(&health.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-h.ending.Done():
			return status.Error(codes.Unavailable, "this member is leaving")
		}
	}
}
