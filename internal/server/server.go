package server

import (
	"context"
	"net"
	"sync"
)

// Server serves one member's lockspaces on both ports. Its methods may be called
// from many goroutines.
type Server struct {
	service *service
	web     *web
	rpc     *grpcServer

	once     sync.Once
	watching sync.WaitGroup
}

// New returns a Server that serves nothing yet. The error names the field of c that
// is wrong, and what is allowed. What it uses is freed by Shutdown.
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
	return s, nil
}

// AcceptHTTP answers HTTP requests on the connections of l, encrypted if the Config
// says so, until Shutdown, and then returns nil. It closes l.
func (s *Server) AcceptHTTP(l net.Listener) error { return s.web.accept(l) }

// AcceptGRPC answers gRPC calls on the connections of l, encrypted if the Config
// says so, until Shutdown, and then returns nil. It closes l.
func (s *Server) AcceptGRPC(l net.Listener) error { return s.rpc.serve(l) }

// Shutdown ends the service in good order: no new connection is accepted, requests that
// wait are refused as unavailable, and what is under way is answered.
// When ctx ends first, the connections that remain are closed, and the error is the
// context's. Sessions and their locks are the driver's, and stay. The Observer's Source sends
// nothing more to other members. Afterwards nothing
// of this server runs.
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
