package sim

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestTheJudgeKeepsAGrace checks that a name whose hold limit has passed is reserved for its last holder until its
// grace is over, the holder has reported that it has stopped, or the stay through which it was held has ended.
func TestTheJudgeKeepsAGrace(t *testing.T) {
	const grace = 2 * time.Second
	lost := func(loss holdfast.Loss) *lock.Decision {
		h := hold(1, 1)
		return &lock.Decision{Kind: lock.Lost, Loss: loss, Name: h.name, Session: h.session, Request: h.request, Token: h.token}
	}
	release := func(session uint64, token holdfast.Token, request uint64) *protocol.Release {
		return &protocol.Release{Name: "n", Session: hold(session, 1).session, Token: token, Request: request}
	}
	later := func(d time.Duration) func(*world, *process) {
		return func(w *world, _ *process) { w.run(w.now + d) }
	}
	says := func(r *protocol.Release) func(*world, *process) {
		return func(w *world, _ *process) { w.stops(r) }
	}
	for name, tt := range map[string]struct {
		promise string
		loss    holdfast.Loss
		happens func(*world, *process)
		next    uint64
	}{
		"granted at once":                      {"P3", holdfast.HoldLimit, later(0), 2},
		"granted a while before it is over":    {"P3", holdfast.HoldLimit, later(grace - 100*time.Millisecond), 2},
		"granted when it is over":              {"", holdfast.HoldLimit, later(grace + grace/10), 2},
		"granted to the same holder":           {"", holdfast.HoldLimit, later(0), 1},
		"what ended otherwise has none":        {"", holdfast.Broken, later(0), 2},
		"its holder has stopped":               {"", holdfast.HoldLimit, says(release(1, 1, 0)), 2},
		"its holder has cancelled its request": {"", holdfast.HoldLimit, says(release(1, 0, 1)), 2},
		"another hold was given back":          {"P3", holdfast.HoldLimit, says(release(1, 0, 7)), 2},
		"another session gives back":           {"P3", holdfast.HoldLimit, says(release(2, 1, 0)), 2},
		"its member starts again":              {"", holdfast.HoldLimit, func(w *world, m *process) { m.crash(m.life); m.start() }, 2},
	} {
		for said, grants := range map[string]func(*judge, grant){"a member": (*judge).granting, "its client": (*judge).noteHolder} {
			t.Run(name+", as "+said+" says", func(t *testing.T) {
				w := still(t, 1, 0)
				m := w.coordinator()
				w.settings.known.Grace = grace
				w.gracious(m, lost(tt.loss))
				tt.happens(w, m)
				grants(w.judge, hold(tt.next, holdfast.Token(tt.next)))
				judgedAs(t, w.judge, tt.promise)
			})
		}
	}
}
