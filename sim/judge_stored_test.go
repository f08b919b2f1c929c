package sim

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestTheJudgeSeesTheStore checks the values in a store: a living holder's process has there what it knows to be set, or
// a later value, and none of another request; and no value outlives its lock, unless a write has failed.
func TestTheJudgeSeesTheStore(t *testing.T) {
	user := &request{}
	holder := grant{name: "n", token: 7, session: lock.SessionID{Member: 1, Number: 1}, request: 1, who: caller("user"), holder: always{}}
	released := grant{name: "n", token: 6, session: lock.SessionID{Member: 1, Number: 2}, request: 1, who: caller("user"), holder: user}
	owned := released
	owned.request, owned.holder = 3, &request{want: wantedLock{owner: "o"}}
	asked := released
	asked.request, asked.holder = 4, &request{again: true}
	for name, tt := range map[string]struct {
		process  string
		shown    string
		answered int
		over     bool // nothing is held any more
		fails    bool
		promise  string
	}{
		"the latest":              {"a1", "2", 2, false, false, ""},
		"one that is under way":   {"a1", "2", 1, false, false, ""},
		"none yet":                {"a1", "", 0, false, false, ""},
		"free":                    {"", "", 2, false, false, ""},
		"of another process":      {"b1", "", 2, false, false, ""},
		"an older one":            {"a1", "1", 2, false, false, "P11"},
		"none any more":           {"a1", "", 1, false, false, "P11"},
		"of a request that waits": {"a1", "5", 0, false, false, "P11"},
		"a text":                  {"a1", "x", 0, false, false, "P11"},
		"of another name":         {"a1", "6", 0, false, false, "P11"},
		"of an earlier lock":      {"a1", "4", 0, false, false, "P11"},
		"of a released lock":      {"a1", "3", 0, true, false, "P11"},
		"left by a failed write":  {"a1", "3", 0, true, true, ""},
		"of one held elsewhere":   {"b1", "3", 0, true, false, ""},
		"an owner's":              {"a1", "4", 0, true, false, ""},
		"asked for twice":         {"a1", "7", 0, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := &process{name: "a", life: 1}, &process{name: "b", life: 1}
			w := &world{protocol: &Protocol{}, judge: newWitness().judge}
			w.network = network{of: map[protocol.ID]*process{1: a, 2: b}}
			w.store = &store{world: w, table: table{}, swaps: table{}, failed: tt.fails}
			w.settings.names = []lockName{{name: "n"}}
			w.settings.stored = probe.Stored{
				Slice: func(name string, _ int64) *storage.Slice { return &storage.Slice{Key: name} },
				Shown: func([]storage.Entry, int64) (process, value string) { return tt.process, tt.shown },
			}
			if !tt.over {
				w.judge.record("n").holders = []grant{holder}
			}
			for _, of := range []grant{holder, holder, released, owned, {name: "n"}, {name: "other"}, asked} {
				w.judge.values.next(of)
			}
			for number := range tt.answered {
				w.judge.values.answered(number + 1)
			}
			w.judge.released(requestKey{released.session, released.request})
			w.judge.released(requestKey{owned.session, owned.request})
			w.judge.released(requestKey{asked.session, asked.request})
			w.checkRow("n")
			w.checkRow("no lock's row")
			judgedAs(t, w.judge, tt.promise)
		})
	}
}
