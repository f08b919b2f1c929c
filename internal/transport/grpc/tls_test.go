package grpc

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// testPKI has an authority for members and one for clients.
type testPKI struct {
	t                *testing.T
	members, clients *issuer.Authority
}

func newTestPKI(t *testing.T) *testPKI {
	t.Helper()
	b := &testPKI{t: t}
	for _, made := range []struct {
		name string
		to   **issuer.Authority
	}{{"the members' authority", &b.members}, {"the clients' authority", &b.clients}} {
		var err error
		if *made.to, err = issuer.New(made.name); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// config is that of a member that shows a certificate.
func (b *testPKI) config(by *issuer.Authority, request issuer.Request) *tls.Config {
	b.t.Helper()
	c, err := by.Issue(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{c.TLS()}, RootCAs: b.members.Pool()}
}

// presents lets a member show a certificate for a name.
func (b *testPKI) presents(by *issuer.Authority, request issuer.Request) func(*Config) {
	return func(config *Config) {
		store, err := certificate.Fixed(b.config(by, request))
		if err != nil {
			b.t.Fatal(err)
		}
		config.Certificates = store
	}
}

func memberRequest(name string) issuer.Request { return issuer.Request{Name: name, Member: true} }

// TestTLS: members that have certificates of the members' authority for their own names
// speak, at every address where they are reached. No other process is heard or spoken
// to.
func TestTLS(t *testing.T) {
	b := newTestPKI(t)
	with := func(c *tls.Config) func(*Config) { return func(config *Config) { config.TLS = c } }
	one := start(t, 1, with(b.config(b.members, memberRequest("m1"))))
	two := start(t, 2, with(b.config(b.members, memberRequest("m2"))))
	meet(t, one, two)
	for id, tt := range map[protocol.ID]struct {
		change func(*Config)
		says   []string // in the log of either side
	}{
		3: {b.presents(b.members, memberRequest("m2")), []string{"not believed", "m3 shows a certificate for m2", "DNS name m3"}},
		4: {b.presents(b.members, issuer.Request{Name: "m4"}), []string{"not believed", "no member's", "serverAuth"}},
		5: {b.presents(b.clients, memberRequest("m5")), nil},
		6: {nil, nil},
	} {
		c := start(t, id, tt.change)
		c.Send(at(one.identity.Address, 100+int(id)))
		c.counts.await(t, "dropped unreachable", 1)
		one.Send(at(c.identity.Address, 200+int(id)))
		if tt.says != nil {
			one.log.await(t, tt.says...)
			c.log.await(t, tt.says...)
			one.counts.await(t, "refused certificate", 1)
		}
		c.stop()
		if heard := c.inbox.all(); len(heard) != 0 {
			t.Errorf("member %d has heard %q", id, heard)
		}
	}
	if n := one.counts.get("received"); n != 1 {
		t.Errorf("heard %q", one.inbox.all())
	}
}

// TestGossipAndEventsAreForMembers: the other streams of the members' service want the
// same proof as a link.
func TestGossipAndEventsAreForMembers(t *testing.T) {
	b := newTestPKI(t)
	one := start(t, 1, func(c *Config) { c.TLS = b.config(b.members, memberRequest("m1")) })
	other := prepare(t, identityAt(2, listenAgain(t, "127.0.0.1:0")), b.presents(b.members, memberRequest("m9")))
	other.served <- nil // it only calls
	other.Listen(other.inbox.deliver)
	t.Cleanup(other.stop)
	if _, err := one.believe(t.Context(), other.hello(one.identity.Address)); err == nil || !strings.Contains(err.Error(), "shows no certificate") {
		t.Errorf("a call that came over no TLS: %v", err)
	}
	other.Send(at(one.identity.Address, 1))
	other.counts.await(t, "dropped unreachable", 1)
	one.counts.await(t, "refused certificate", 1)
}

// TestOwnCertificate: a transport whose certificate does not do for its own member is not
// made.
func TestOwnCertificate(t *testing.T) {
	b := newTestPKI(t)
	for want, c := range map[string]*tls.Config{
		"for m2 and does not carry this member's own name m1": b.config(b.members, memberRequest("m2")),
		"lacks serverAuth":        b.config(b.members, issuer.Request{Name: "m1"}),
		"RootCAs is nil":          {Certificates: b.config(b.members, memberRequest("m1")).Certificates},
		"there is no certificate": {RootCAs: b.members.Pool()},
	} {
		l := listenAgain(t, "127.0.0.1:0")
		identity := identityAt(1, l)
		_, err := New(Config{Identity: func() transport.Identity { return identity }, TLS: c})
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
