package session_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestPromisesEndBeforeTheSpacesDo: regardless of what a client asks, and of when spaces confirm or lose beats,
// its belief ends before any lasting space may end its session. The clocks of the member, the client and the
// leader of the space differ by the drift, in whichever way is worst.
func TestPromisesEndBeforeTheSpacesDo(t *testing.T) {
	confirmed := 0
	rapid.Check(t, func(rt *rapid.T) {
		// How fast the clocks of leader and client go, by that of the member.
		rates := rapid.SampledFrom([][2]float64{{1.05, 1}, {1, 1 / 1.05}, {1.024, 1 / 1.025}}).Draw(rt, "rates")
		b := &believer{machine: newLasting(t, 7), leader: rates[0], client: rates[1], kept: map[protocol.Port]protocol.Time{}}
		ttl := rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 25).Draw(rt, "ttl")) * 100 * time.Millisecond
		})
		b.opened = b.open(1, session.Stream, ttl.Draw(rt, "open")+100*time.Millisecond)
		b.believe(b.now, b.opened.TTL)
		port := rapid.SampledFrom([]protocol.Port{vaultPort, secondPort})
		rt.Repeat(map[string]func(*rapid.T){
			"wait": func(rt *rapid.T) {
				b.at(b.now + time.Duration(rapid.IntRange(1, 700).Draw(rt, "ms"))*time.Millisecond)
				b.hear()
			},
			"renew": func(rt *rapid.T) {
				arrived := max(b.now-time.Duration(rapid.IntRange(0, 1500).Draw(rt, "ms"))*time.Millisecond, time.Second)
				b.renewals = append(b.renewals, renewal{b.call(1, protocol.Below, &session.Renew{ID: b.opened.ID, Proven: true, TTL: ttl.Draw(rt, "ttl"), Arrived: arrived}), arrived})
				b.hear()
			},
			"resume without a lease": func(rt *rapid.T) {
				b.order(order{verb: "lease", span: 0})
				call := b.call(1, protocol.Below, &session.Resume{ID: b.opened.ID, Secret: b.opened.Secret, Identity: "i"})
				b.renewals = append(b.renewals, renewal{call, b.now})
				b.hear()
				b.order(order{verb: "lease", span: 24 * time.Hour})
			},
			"lock": func(rt *rapid.T) {
				at := port.Draw(rt, "port")
				b.calls++
				b.lock(1, at, b.opened.ID, b.calls, "a")
				b.hear()
			},
			"mute": func(rt *rapid.T) {
				v := b.space(port.Draw(rt, "port"))
				v.mute = !v.mute
			},
			"confirm": func(rt *rapid.T) {
				at := port.Draw(rt, "port")
				v := b.space(at)
				if len(v.waiting) == 0 {
					rt.Skip("nothing waits")
				}
				i := rapid.IntRange(0, len(v.waiting)-1).Draw(rt, "which")
				b.in(at, func(v *vault, out *protocol.Effects) {
					v.answer(&v.waiting[i], out)
					v.waiting = append(v.waiting[:i:i], v.waiting[i+1:]...)
				})
				b.hear()
			},
			"": func(rt *rapid.T) {
				for at, until := range b.kept {
					if b.until > until+time.Microsecond { // for rounding
						rt.Fatalf("believed until %v, kept by the space at %d until %v", b.until, at, until)
					}
				}
			},
		})
		confirmed += b.confirmed
	})
	if confirmed < 10 {
		t.Errorf("%d renewals were confirmed by a space in all runs", confirmed)
	}
}

// believer is the client of a session, and what its spaces are sure to keep.
type believer struct {
	*machine
	opened         *session.Opened
	leader, client float64
	until          protocol.Time                   // when its belief ends
	kept           map[protocol.Port]protocol.Time // when the session may end, by space
	renewals       []renewal
	confirmed      int
}

type renewal struct {
	call    protocol.CallID
	arrived protocol.Time
}

func (b *believer) space(port protocol.Port) *vault {
	if port == vaultPort {
		return b.vault
	}
	return b.second
}

// believe takes an answer to what was sent as late as it can have been.
func (b *believer) believe(sent protocol.Time, ttl time.Duration) {
	if b.now < b.until || b.until == 0 { // a client whose deadline has passed never uses the session again
		b.until = max(b.until, sent+time.Duration(float64(ttl)/b.client))
	}
}

// hear takes what was answered.
func (b *believer) hear() {
	for _, port := range []protocol.Port{vaultPort, secondPort} {
		v := b.space(port)
		if who, enrolled := v.enrolled[b.opened.ID]; enrolled {
			b.kept[port] = v.kept + time.Duration(1.05*float64(who.TTL)/b.leader)
		}
	}
	for _, renewal := range b.renewals {
		if r := answered[*session.Renewed](b.machine, renewal.call); r != nil && r.Err == nil {
			if len(b.kept) > 0 {
				b.confirmed++
			}
			b.believe(renewal.arrived, r.TTL)
		}
	}
}
