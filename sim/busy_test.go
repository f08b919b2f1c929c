package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestABusyMemberHearsWhatHasCome checks that in some runs heartbeats reach a paused member before their sessions end,
// and that none of these has ended when they are read; without the rule one has.
func TestABusyMemberHearsWhatHasCome(t *testing.T) {
	manySeeds(t)
	defer mutation.Switch("")
	run := func() (came, broken int) {
		c := config("central")
		c.Faults, c.Coverage = 1<<Pause, true
		for seed := uint64(1); seed <= 80; seed++ {
			result, err := Run(c, seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			came += result.counts.busy
			if v := result.Violation; v != nil {
				broken++
				if v.Promise != "P5" || !strings.Contains(v.Detail, "a heartbeat of which came before its end") {
					t.Fatalf("seed %d: %v", seed, v)
				}
			}
		}
		return came, broken
	}
	if came, broken := run(); came == 0 || broken > 0 {
		t.Errorf("%d heartbeats came to paused members, and %d runs are broken", came, broken)
	}
	mutation.Switch("a session is ended before what has come for it is heard")
	if _, broken := run(); broken == 0 {
		t.Error("no run is broken without the rule")
	}
}

// TestTheJudgeSeesWhoIsNotHeard checks that a session with an unread heartbeat may end only for another reason.
func TestTheJudgeSeesWhoIsNotHeard(t *testing.T) {
	for name, tt := range map[string]struct {
		why     error
		waiting int
		promise string
	}{
		"not heard":               {nil, 1, "P5"},
		"heard":                   {nil, 0, ""},
		"ended by something else": {session.ErrForeign, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 1, 0)
			m := w.members[0]
			id := lock.SessionID{Member: 1, Number: 1}
			m.busy.beats = map[lock.SessionID]int{id: 1}
			for range 1 - tt.waiting {
				m.busy.hears(id)
			}
			m.expired(id, tt.why)
			judgedAs(t, w.judge, tt.promise)
		})
	}
}
