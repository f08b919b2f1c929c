package client

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
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
	c.stop() // it asks no address
	defer c.alarms.stop()
	on := c.newContact(&session.Contact{Place: api.Address{Network: "tcp", Place: "a:1"}})
	on.link = &link{of: linkKey{clock: c.clock}, doubts: func() {}}
	c.notify(session.Greet, on)
	c.hear(on, session.Event{Kind: session.Answered, Said: []*schema.Event{welcomed("a-1", testTTL*1000)}})
	if c.stream != on {
		b.Fatal(on.refusal)
	}
	want, out := must(holdfast.NewRequest("x")), &session.Frame{}
	grant, release := []*schema.Event{granted(0, 1)}, []*schema.Event{released(0, nil)}
	b.ReportAllocs()
	for b.Loop() {
		r, err := c.enter(b.Context(), holdfast.DefaultSpace, want, clock.Never)
		if err != nil {
			b.Fatal(err)
		}
		c.fill(out, on)
		grant[0].Id = out.Message.Operations[0].Id
		c.hear(on, session.Event{Kind: session.Heard, Said: grant})
		got := <-r.outcome
		c.outcomes.Put(r.outcome)
		if err := got.lock.UnlockAsync(); err != nil {
			b.Fatal(err)
		}
		c.fill(out, on)
		release[0].Id = grant[0].Id
		c.hear(on, session.Event{Kind: session.Heard, Said: release})
	}
}
