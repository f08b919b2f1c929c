package sim

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestTheJudgeSeesWhoIsNotWaitedFor checks that a client's belief in a session whose tenure has lost its place is a
// violation.
func TestTheJudgeSeesWhoIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(w *world, v *protocol.View, p *presence)
		promise string
	}{
		"it is in the view":          {func(*world, *protocol.View, *presence) {}, ""},
		"another tenure is":          {func(_ *world, _ *protocol.View, p *presence) { p.tenure.Incarnation-- }, "P3"},
		"no member has ever had it":  {func(w *world, _ *protocol.View, p *presence) { p.tenure.Incarnation--; clear(w.tenures) }, ""},
		"it stands for nothing held": {func(_ *world, _ *protocol.View, p *presence) { p.tenure.Incarnation--; p.id.Number = 2 }, ""},
		"its session has ended":      {func(_ *world, _ *protocol.View, p *presence) { p.tenure.Incarnation--; p.End(1) }, ""},
		"it is waited for": {func(w *world, v *protocol.View, p *presence) {
			p.tenure.Incarnation--
			v.Dropped = []protocol.Dropped{{ID: protocol.ID(p.id.Member), Tenure: p.tenure, Free: time.Hour}}
		}, ""},
		"it was waited for": {func(w *world, v *protocol.View, p *presence) {
			p.tenure.Incarnation--
			v.Dropped = []protocol.Dropped{{ID: protocol.ID(p.id.Member), Tenure: p.tenure, Free: 1}}
		}, "P3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 3, 0)
			p := user(t, w, follower(w)).stream.session
			p.id.Number = 1
			m := w.coordinator()
			v := *m.view
			m.view = &v
			before := p.tenure
			before.Incarnation--
			w.tenures[tenancy{protocol.ID(p.id.Member), before}] = true
			tt.change(w, &v, p)
			w.checkBacking(m)
			judgedAs(t, w.judge, tt.promise)
		})
	}
}

// TestSomeRunsAreRestless checks that in protocols without locks some runs are restless, and others are not.
func TestSomeRunsAreRestless(t *testing.T) {
	locks, sessions := config("central"), config("election")
	restless := 0
	const seeds = 40
	for seed := uint64(1); seed <= seeds; seed++ {
		if drawn(&locks, seed).restless > 0 {
			t.Errorf("seed %d: clients of a protocol that grants are restless", seed)
		}
		if drawn(&sessions, seed).restless > 0 {
			restless++
		}
	}
	if restless < seeds/4 || restless > seeds*3/4 {
		t.Errorf("%d of %d runs are restless", restless, seeds)
	}
}
