package client_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// unusedAddress returns an address of this machine at which nothing listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestEmbeddedGuestOverTLS: a guest that a program embeds has a member's certificate, and locks with it at the members
// that have a part, where clients must show certificates of another authority. The members list it by its name.
func TestEmbeddedGuestOverTLS(t *testing.T) {
	t.Parallel()
	b := newTestPKI(t)
	m := &served{address: unusedAddress(t), tls: b.server("m1")}
	m.config = host.Config{
		Name: "m1", Address: m.address, Serves: true, Data: filepath.Join(t.TempDir(), "data"), Lease: steady,
		Spaces: []host.Space{{Name: "default", Protocol: "consensus"}},
	}
	m.start(t, m.config)
	t.Cleanup(func() { m.stop(t) })
	guest, err := host.Start(t.Context(), host.Config{Name: "guest", Listen: unusedAddress(t), Join: []string{m.address}, TLS: b.server("guest"), TTL: suiteTTL()})
	b.must(err)
	t.Cleanup(func() { b.must(guest.Close()) })
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	b.must(guest.WaitReady(ctx))
	held, err := guest.Lock(ctx, "x")
	b.must(err)
	shown, err := b.admin(m.address, client.TLSFiles(b.client("job-7"))).Show(ctx, "", "x")
	if err != nil || len(shown.Holders) != 1 || shown.Holders[0].Client != "guest" {
		t.Errorf("held by %+v: %v", shown, err)
	}
	b.must(held.Unlock(ctx))
	var other holdfast.Locker
	other, err = guest.Session(ctx)
	b.must(err)
	again, err := other.TryLock(ctx, "x")
	b.must(err)
	b.must(again.Unlock(ctx))
}
