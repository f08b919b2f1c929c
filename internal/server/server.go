package server

import (
	"context"
	"net"
	"sync"
)

// Server serves one member's lockspaces on both ports. It is safe for concurrent use.
type Server struct {
	service *service
	web     *web
	rpc     *grpcServer

	once     sync.Once
	watching sync.WaitGroup
}

// New returns a Server that is not serving yet. The error names the invalid field of c, and the allowed values.
// Shutdown frees its resources.
func New(c Config) (*Server, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	service, err := newService(c)
	if err != nil {
		return nil, err
	}
	if err := service.register(); err != nil {
		service.close()
		return nil, err
	}
	s := &Server{service: service, web: newWeb(c, service), rpc: newGRPC(c, service)}
	s.watching.Go(service.watchSpaces)
	if c.AuditLocks {
		s.watching.Go(service.auditLocks)
	}
	return s, nil
}

// AcceptHTTP serves HTTP requests on the connections of l, encrypted if the Config requires it, until Shutdown, and
// then returns nil. It closes l.
func (s *Server) AcceptHTTP(l net.Listener) error { return s.web.accept(l) }

// AcceptGRPC serves gRPC calls on the connections of l, encrypted if the Config requires it, until Shutdown, and then
// returns nil. It closes l.
func (s *Server) AcceptGRPC(l net.Listener) error { return s.rpc.serve(l) }

// Shutdown stops the service gracefully: it accepts no new connections, refuses waiting requests as unavailable, and
// answers those under way. If ctx ends first, the remaining connections are closed, and the error is the context's.
// Sessions and their locks belong to the driver, and stay. The Observer's Source sends nothing more to other members.
// Afterwards nothing of this server runs.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	s.once.Do(func() {
		s.service.stop()
		var both sync.WaitGroup
		both.Go(func() { s.rpc.stop(ctx) })
		err = s.web.stop(ctx)
		both.Wait()
		s.service.close()
		s.watching.Wait()
	})
	return err
}
