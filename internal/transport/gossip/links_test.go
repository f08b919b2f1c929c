package gossip_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/gossip"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestOverMembersConnections: the gossip finds members over their own connections,
// with no port of its own, and ends with them.
func TestOverMembersConnections(t *testing.T) {
	const members = 3
	hints := make(chan string, 1000)
	var first string
	var stops []func()
	for i := range members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		self := transport.Identity{ID: protocol.ID(i + 1), Incarnation: 1, Name: fmt.Sprint("m", i), Address: l.Addr().String()}
		links, err := grpc.New(grpc.Config{Identity: func() transport.Identity { return self }, Deadline: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		deliver := func(events []protocol.Event) {
			for _, ev := range events {
				if hint := ev.Fact.(protocol.Hint); hint.Alive {
					hints <- self.Address + " finds " + hint.Address
				}
			}
		}
		join := []string{self.Address} // the first knows no other, the others know the first
		if i > 0 {
			join = append(join, first)
		}
		g, err := gossip.Start(gossip.Config{Links: links, Deliver: deliver, Address: self.Address, Join: join})
		if err != nil {
			t.Fatal(err)
		}
		links.Listen(deliver)
		served := make(chan error, 1)
		go func() { served <- links.Serve(l) }()
		stops = append(stops, func() {
			for _, err := range []error{g.Close(), links.Close(), <-served} {
				if err != nil {
					t.Error(err)
				}
			}
		})
		if i == 0 {
			first = self.Address
		}
	}
	found := map[string]bool{}
	late := time.After(30 * time.Second)
	for len(found) < members*(members-1) {
		select {
		case hint := <-hints:
			found[hint] = true
		case <-late:
			t.Fatalf("found only %v", found)
		}
	}
	for _, stop := range stops {
		stop()
	}
}
