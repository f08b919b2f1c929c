package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// shared starts member m1 on the port that it shares with clients, with one authority for both of them and a list of
// the members. It gossips and publishes events; let receives the name of each of these that it lets a caller have.
func (b *testPKI) shared(let func(string), names ...string) *peerHarness {
	b.t.Helper()
	folder := b.t.TempDir()
	own, err := b.members.Issue(issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	if err != nil {
		b.t.Fatal(err)
	}
	files, err := own.Write(folder, "m1")
	if err != nil {
		b.t.Fatal(err)
	}
	authority, err := b.members.Write(folder, "members")
	if err != nil {
		b.t.Fatal(err)
	}
	store, err := certificate.Open(certificate.Options{
		Files:      certificate.Files{Cert: files.Cert, Key: files.Key, Members: authority},
		ClientAuth: tls.RequireAndVerifyClientCert, Names: names,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	l := listenAgain(b.t, "127.0.0.1:0")
	m := prepare(b.t, identityAt(1, l), func(c *Config) { c.Certificates = store })
	m.Gossip(func(string, []byte) { let("packet") }, func(c net.Conn) {
		let("gossip")
		if err := c.Close(); err != nil {
			b.t.Error(err)
		}
	})
	m.PublishEvents(func(context.Context, *schema.MemberInterest, func(*schema.MemberEvents) error) error {
		let("events")
		return nil
	})
	m.Listen(m.inbox.deliver)
	port := grpc.NewServer(grpc.Creds(secure.Accept(secure.Door{Certificates: store})))
	m.Register(port)
	ended := make(chan error, 1)
	go func() { ended <- port.Serve(l) }()
	m.served <- nil // the port is not the transport's
	b.t.Cleanup(func() {
		m.stop()
		port.Stop()
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	})
	return m
}

// calls makes every call of the members' service with a certificate and a valid hello of member m2, and returns the
// error of each.
func (b *testPKI) calls(m *peerHarness, request issuer.Request) map[string]error {
	b.t.Helper()
	c, err := b.members.Issue(request)
	if err != nil {
		b.t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+m.identity.Address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{c.TLS()}, RootCAs: b.members.Pool(),
	})))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	hello := &schema.MemberHello{
		Version: transport.Version, Id: 2, Incarnation: 1, Cluster: 77, Name: request.Name, Address: "127.0.0.1:1", Process: 9, Dialled: m.identity.Address,
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	service, errs := schema.NewMembersClient(conn), map[string]error{}
	_, errs["Terms"] = service.Terms(ctx, &schema.MemberNewcomer{Version: transport.Version, Name: request.Name})
	link, err := service.Link(ctx)
	if err == nil {
		if err = link.Send(&schema.MemberFrame{Hello: hello}); err == nil {
			_, err = link.Recv()
		}
	}
	errs["Link"] = err
	gossip, err := service.Gossip(ctx)
	if err == nil {
		if err = gossip.Send(&schema.MemberChunk{Hello: hello}); err == nil {
			_, err = gossip.Recv() // ends without a reason for a caller that is refused
		}
	}
	errs["Gossip"] = err
	events, err := service.Events(ctx, &schema.MemberInterest{Hello: hello})
	if err == nil {
		_, err = events.Recv()
	}
	errs["Events"] = err
	return errs
}

// TestIntruders: with one authority for members and clients, no certificate but a listed member's opens any call of
// the members' service, on the port that they share (S2).
func TestIntruders(t *testing.T) {
	b := newTestPKI(t)
	var mu sync.Mutex
	let := map[string]int{}
	m := b.shared(func(what string) {
		mu.Lock()
		defer mu.Unlock()
		let[what]++
	}, "m1", "m2", "x-*")
	for _, tt := range []struct {
		what    string
		request issuer.Request
		says    string
	}{
		{"a client's", issuer.Request{Name: "m2"}, "lacks serverAuth; sign it for serverAuth and clientAuth"},
		{"without a usage", issuer.Request{Name: "m2", Unlimited: true}, "it has no extended key usage; sign it for serverAuth and clientAuth"},
		{"not listed", issuer.Request{Name: "m3", Member: true}, "tls.members does not list member m3; it has m1, m2, x-*: add the name there"},
	} {
		for call, err := range b.calls(m, tt.request) {
			if err == nil || call != "Gossip" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s with the certificate %s: %v, want %q", call, tt.what, err, tt.says)
			}
		}
	}
	m.counts.await(t, "refused certificate", 3*4)
	mu.Lock()
	if heard := m.inbox.all(); len(heard) != 0 || len(let) != 0 {
		t.Errorf("the member has heard %q, and lets them have %v", heard, let)
	}
	mu.Unlock()
	for _, name := range []string{"m2", "x-7"} {
		for call, err := range b.calls(m, issuer.Request{Name: name, Member: true}) {
			if err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s as the listed member %s: %v", call, name, err)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if let["gossip"] != 2 || let["events"] != 2 {
		t.Errorf("listed members are let have %v", let)
	}
}
