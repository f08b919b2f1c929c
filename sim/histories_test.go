package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/sim/history"
)

// recorded makes a judge record histories of one name, and compares them with a model.
func recorded(happens func(*witness)) history.Result {
	h := newWitness()
	h.histories = newHistories(h.judge)
	happens(h)
	log := h.histories.names["n"]
	log.look(h.now)
	return log.Check(history.ReentrantFencedMutex(), 0)
}

// TestTheJudgeRecordsHistories checks that the judge's records are complete, and contain nothing that did not happen.
func TestTheJudgeRecordsHistories(t *testing.T) {
	send := func(h *witness, s uint64) { h.requested(key(s), caller("user"), wantedLock{name: "n"}) }
	for name, tt := range map[string]struct {
		want    history.Result
		happens func(*witness)
	}{
		"one after the other": {history.Linearizable, func(h *witness) {
			send(h, 1)
			g := hold(1, 1)
			h.noteHolder(g)
			h.ended(g, "")
			send(h, 2)
			h.noteHolder(hold(2, 2))
		}},
		"the first has ended by its own clock": {history.Linearizable, func(h *witness) {
			send(h, 1)
			send(h, 2)
			h.noteHolder(hold(1, 1, till(time.Second)))
			h.at(time.Second).noteHolder(hold(2, 2))
		}},
		"the first ends by its own clock too late": {history.Violated, func(h *witness) {
			send(h, 1)
			send(h, 2)
			h.noteHolder(hold(1, 1, till(time.Second)))
			h.at(time.Second - 1).noteHolder(hold(2, 2))
		}},
		"the first hears of its loss too late": {history.Violated, func(h *witness) {
			send(h, 1)
			send(h, 2)
			g := hold(1, 1)
			h.noteHolder(g)
			h.noteHolder(hold(2, 2))
			h.ended(g, holdfast.Broken)
		}},
		"a token goes back": {history.Violated, func(h *witness) {
			send(h, 1)
			g := hold(1, 9)
			h.noteHolder(g)
			h.ended(g, "")
			send(h, 2)
			h.noteHolder(hold(2, 8))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			// P1 also objects to a grant while others believe, and would be first: this test is about the histories.
			if got := recorded(func(h *witness) { tt.happens(h); h.violation = nil }); got != tt.want {
				t.Errorf("it is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRunsAreLinearizable checks that runs are linearizable, and that the comparison does not change them.
func TestRunsAreLinearizable(t *testing.T) {
	c := config("central")
	plain, err := RunMany(c, 1, 12, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Linearizable = true
	s, err := RunMany(c, 1, 12, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Worst != nil || s.counts.histories == 0 || s.counts.undecided > 0 {
		t.Errorf("%v, %d histories, %d undecided", s.Worst, s.counts.histories, s.counts.undecided)
	}
	if plain.counts.histories != 0 {
		t.Errorf("%d histories are compared though the run does not ask for that", plain.counts.histories)
	}
	if s.Steps != plain.Steps || s.Grants() != plain.Grants() {
		t.Errorf("%d steps and %d grants, compared %d and %d", plain.Steps, plain.Grants(), s.Steps, s.Grants())
	}
	if !strings.Contains(s.String(), "histories compared with a lock, 0 undecided") {
		t.Errorf("the summary does not say so: %s", s)
	}
}

// TestALogThatIsTooLongIsGivenUp checks that a log that is too long is given up, and counts as undecided.
func TestALogThatIsTooLongIsGivenUp(t *testing.T) {
	c := config("central")
	c.Linearizable = true
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, nil, newCounts(false))
	name := w.settings.names[0].name
	for s := range uint64(mostAcquisitions) {
		w.judge.requested(key(s+1), caller("user"), wantedLock{name: name})
	}
	h := w.judge.histories
	if len(h.of) != mostAcquisitions || h.names[name].full {
		t.Errorf("of as many as may be recorded %d are", len(h.of))
	}
	w.judge.requested(key(mostAcquisitions+1), caller("user"), wantedLock{name: name})
	w.judge.requested(key(mostAcquisitions+2), caller("user"), wantedLock{name: name})
	if err := w.checkHistories(); err != nil {
		t.Fatal(err)
	}
	if len(h.of) != 0 || w.count.histories != 1 || w.count.undecided != 1 {
		t.Errorf("%d are kept; of %d histories %d are undecided", len(h.of), w.count.histories, w.count.undecided)
	}
}

// TestAViolatedHistoryIsWritten checks that a violated history is written to the trace, and names the promise.
func TestAViolatedHistoryIsWritten(t *testing.T) {
	var trace bytes.Buffer
	c := config("central")
	c.Linearizable = true
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, &trace, newCounts(false))
	if w.judge.histories == nil {
		t.Fatal("seed 1 has sides, and no histories")
	}
	name := w.settings.names[0].name
	for s, token := range []holdfast.Token{9, 8} {
		g := hold(uint64(s+1), token, func(g *grant) { g.name = name })
		w.judge.requested(key(uint64(s+1)), caller("user"), wantedLock{name: name})
		w.judge.histories.grant(&g)
		w.judge.histories.ended(&g, "")
	}
	var page bytes.Buffer
	w.page = &page
	if err := w.checkHistories(); err != nil || !strings.Contains(page.String(), "under token 9") {
		t.Errorf("the page does not show it: %v", err)
	}
	judgedAs(t, w.judge, "P2")
	if text := trace.String(); !strings.Contains(text, "#0 user exclusive, asked 0s, granted 0s under token 9, ended 0s (unlock)") {
		t.Errorf("the trace does not end with the history:\n%s", text)
	}
}
