package cluster

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// testPKI has an authority for members and one for clients, and a folder for what they
// sign.
type testPKI struct {
	t                *testing.T
	folder           string
	members, clients *issuer.Authority
}

func newTestPKI(t *testing.T) *testPKI {
	t.Helper()
	b := &testPKI{t: t, folder: t.TempDir()}
	b.members, b.clients = b.authority("members"), b.authority("clients")
	return b
}

func (b *testPKI) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// authority makes one, and writes it into a file of its name, in the place of an earlier
// one.
func (b *testPKI) authority(name string) *issuer.Authority {
	b.t.Helper()
	a, err := issuer.New(name)
	b.must(err)
	_, err = a.Write(b.folder, name)
	b.must(err)
	return a
}

// issue writes a certificate into files of a name, in the place of an earlier one.
func (b *testPKI) issue(by *issuer.Authority, base string, request issuer.Request) {
	b.t.Helper()
	c, err := by.Issue(request)
	b.must(err)
	_, err = c.Write(b.folder, base)
	b.must(err)
}

func (b *testPKI) path(base string) string { return filepath.Join(b.folder, base+".pem") }

// flags are those of a member with a name.
func (b *testPKI) flags(name string) []string {
	return []string{
		"--tls-cert", b.path(name), "--tls-key", b.path(name + "-key"),
		"--tls-ca", b.path("members"), "--tls-client-ca", b.path("clients"),
	}
}

func (b *testPKI) files(name string) client.Option {
	return client.TLSFiles(client.Files{CA: b.path("members"), Cert: b.path(name), Key: b.path(name + "-key")})
}

// prepareTLS makes a cluster under mutual TLS that has not started, whose members have a
// lease.
func prepareTLS(t *testing.T, lease time.Duration) (*testPKI, *harness) {
	t.Helper()
	t.Parallel()
	b := newTestPKI(t)
	addresses := loopback(t, 3)
	for i, name := range []string{"a", "b", "c"} {
		host, _, _ := strings.Cut(addresses[i], ":")
		b.issue(b.members, name, issuer.Request{Name: name, Hosts: []string{host}, Member: true})
	}
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	return b, prepare(t, clustertest.Settings{Addresses: addresses, Lease: lease, FlagsOf: b.flags, Options: []client.Option{b.files("job-7")}})
}

// TestAuthorityIsReplaced: three members under mutual TLS change the clients' authority,
// and their own certificates, while a lock is held, and no process has to restart.
func TestAuthorityIsReplaced(t *testing.T) {
	b, c := prepareTLS(t, steady())
	c.check(c.cluster.Start(c.ctx))
	locks, err := client.Dial(c.ctx, c.cluster.Servers(0), b.files("job-7"))
	c.check(err)
	defer locks.Close()
	lock, err := locks.Lock(c.ctx, "held throughout")
	c.check(err)

	former := b.clients
	b.issue(former, "old-job", issuer.Request{Name: "old-job"})
	b.clients = b.authority("clients")
	b.issue(b.clients, "new-job", issuer.Request{Name: "new-job"})
	for _, m := range c.cluster.Members {
		host, _, _ := strings.Cut(m.Address, ":")
		b.issue(b.members, m.Name, issuer.Request{Name: m.Name, Hosts: []string{host, "renewed.example"}, Member: true})
	}
	for _, m := range c.cluster.Members {
		admin, err := client.DialAdmin(m.Address, b.files("new-job"))
		c.check(err)
		defer admin.Close()
		c.persist("member "+m.Name+" to know the new authority", func(ctx context.Context) bool {
			_, err := admin.Status(ctx)
			return err == nil
		})
		stale, err := client.DialAdmin(m.Address, b.files("old-job"))
		c.check(err)
		defer stale.Close()
		if _, err := stale.Status(c.ctx); err == nil || !strings.Contains(err.Error(), "does not know the authority clients") {
			t.Errorf("member %s: a client signed by the former authority: %v", m.Name, err)
		}
	}
	// Its connection was there before, and lives on.
	c.check(lock.Check())
	if _, err := locks.TryLock(c.ctx, "another"); err != nil {
		t.Errorf("the client that was there before: %v", err)
	}
	for _, m := range c.cluster.Members {
		m.Options = []client.Option{b.files("new-job")}
	}
	// A member that starts again meets the others under the new certificates. It is none
	// that the lock depends on: neither its authority nor the one that the client goes through.
	last := c.another(c.coordinator(), c.cluster.Members[0])
	c.check(last.Kill())
	c.check(last.Start())
	c.check(last.AwaitReady(c.ctx))
	c.check(c.cluster.AwaitView(c.ctx, last, c.cluster.Members...))
	c.check(lock.Check())
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	if again, err := client.Dial(c.ctx, c.cluster.Servers(1), b.files("job-7")); err != nil {
		t.Error(err)
	} else {
		c.check(again.Close())
	}
}

// persist asks until the answer is yes.
func (b *harness) persist(what string, yes func(context.Context) bool) {
	b.Helper()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		is := yes(ctx)
		cancel()
		if is {
			again.Stop()
			return
		}
		select {
		case <-again.C:
		case <-b.ctx.Done():
			b.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestWrongName: a member whose certificate carries another member's name does not start,
// and one that does so all the same is refused by the others, who say both names.
func TestWrongName(t *testing.T) {
	b, c := prepareTLS(t, *lease)
	one, two, odd := c.cluster.Members[0], c.cluster.Members[1], c.cluster.Members[2]
	b.issue(b.members, "c", issuer.Request{Name: "impostor", Member: true})
	c.check(odd.Start())
	err := odd.AwaitEnd(c.ctx)
	if err == nil || !strings.Contains(err.Error(), "exit status 78") || !strings.Contains(err.Error(), "is for impostor and does not carry this member's own name c") {
		t.Errorf("a member with another one's certificate: %v", err)
	}
	c.check(one.Start())
	c.check(two.Start())

	ours, err := b.members.Issue(issuer.Request{Name: "impostor", Member: true})
	c.check(err)
	proof, err := certificate.Fixed(&tls.Config{Certificates: []tls.Certificate{ours.TLS()}, RootCAs: b.members.Pool()})
	c.check(err)
	careless, err := host.Start(c.ctx, host.Config{
		Name: "c", Address: odd.Address, Join: []string{one.Address, two.Address, odd.Address}, Expect: 3, Lease: *lease, Patience: *lease / 10,
		Peers: func(introduce func() transport.Identity) (transport.Transport, error) {
			return host.NewTransport(introduce, host.Link{Certificates: proof, Patience: *lease / 10})
		},
	})
	c.check(err)
	for _, m := range []*clustertest.Member{one, two} {
		c.persist("member "+m.Name+" to refuse it", func(context.Context) bool {
			return strings.Contains(m.Log(), "c shows a certificate for impostor, which does not carry its name")
		})
	}
	c.check(careless.Close())
	// There is no first view without the third founder: it was none.
	b.issue(b.members, "c", issuer.Request{Name: "c", Member: true})
	c.check(odd.Start())
	for _, m := range c.cluster.Members {
		c.check(m.AwaitReady(c.ctx))
	}
}
