package client

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// BenchmarkLockUnlock locks and unlocks a name at a server that is not there: what a Client does, and allocates,
// without the connection and the goroutines.
func BenchmarkLockUnlock(b *testing.B) {
	settings, err := resolve(nil)
	if err != nil {
		b.Fatal(err)
	}
	c := build(settings, []api.Address{{Network: "tcp", Place: "a:1"}})
	defer c.stop()
	defer c.alarms.stop()
	on := &stream{link: &link{of: linkKey{clock: c.clock}, doubts: func() {}}, cancel: func() {}, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	a := &contact{place: c.addresses[0]}
	c.hello(a)
	if err := c.onHello(on, a, c.clock.Now(), []*schema.Event{welcomed("a-1", testTTL*1000)}); err != nil {
		b.Fatal(err)
	}
	want, out := must(holdfast.NewRequest("x")), &frame{}
	grant, release := []*schema.Event{granted(0, 1)}, []*schema.Event{released(0, nil)}
	b.ReportAllocs()
	for b.Loop() {
		r, err := c.enter(b.Context(), holdfast.DefaultSpace, want, clock.Never)
		if err != nil {
			b.Fatal(err)
		}
		c.fill(out, on)
		grant[0].Id = out.message.Operations[0].Id
		c.onFrame(on, grant)
		got := <-r.outcome
		c.outcomes.Put(r.outcome)
		if err := got.lock.UnlockAsync(); err != nil {
			b.Fatal(err)
		}
		c.fill(out, on)
		release[0].Id = grant[0].Id
		c.onFrame(on, release)
	}
}
