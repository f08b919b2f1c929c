package client

import (
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// serveAdmin lets admin answer operators until the test ends, and returns where.
func serveAdmin(t *testing.T, admin schema.AdminServer) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	schema.RegisterAdminServer(server, admin)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
