package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// saying is one word of a worker; at counts seconds.
type saying struct {
	worker int
	kind   kind
	name   string
	token  uint64
	at     float64
}

func history(sayings ...saying) *judge {
	j := newJudge(poolCapacity)
	for _, s := range sayings {
		j.hear(event{At: time.Duration(s.at * float64(time.Second)), Kind: s.kind, Name: s.name, Token: holdfast.Token(s.token), worker: s.worker})
	}
	return j
}

// good is a history in which all happened that should.
func good() []saying {
	return []saying{
		{1, entered, registerName, 5, 1}, {1, wrote, registerName, 5, 1.1}, {1, left, registerName, 5, 2},
		{2, entered, registerName, 6, 2}, {2, lost, registerName, 6, 4},
		{3, entered, registerName, 7, 4.1}, {3, wrote, registerName, 7, 4.2}, {2, refused, registerName, 6, 5}, {3, left, registerName, 7, 6},
		{1, entered, poolName, 1, 1}, {2, entered, poolName, 2, 1}, {2, left, poolName, 2, 2}, {3, entered, poolName, 3, 2},
		{1, left, poolName, 1, 3}, {3, left, poolName, 3, 3},
		{4, entered, registerName, 8, 6},
	}
}

func TestJudge(t *testing.T) {
	second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for _, tt := range []struct {
		name    string
		history []saying
		writes  uint64
		killed  bool
		want    string
		because string
	}{
		{"all well", good(), 2, true, "demo: ok grants=8 handoffs=6 failover_gap=1.50s stale_refused=1 violations=0", ""},
		{"two have the register", append(good(), saying{5, entered, registerName, 9, 5.5}), 2, true, "FAILED", "worker 5 entered under token 9 while worker 3 was in under 7"},
		{"three have the pool", append(good(), saying{6, entered, poolName, 9, 1.5}), 2, true, "FAILED", "demo/pool: worker 6 entered"},
		{"a token falls", append(good(), saying{5, entered, registerName, 4, 9}), 2, true, "FAILED", "token 4 followed token"},
		{"a write is missing", good(), 1, true, "FAILED", "the register has taken 1 writes"},
		{"a worker fails", append(good(), saying{5, failed, "", 0, 7}), 2, true, "FAILED", "worker 5: "},
		{"nobody was killed", good(), 2, false, "FAILED", "no holder was killed"},
		{"nothing happened", nil, 0, true, "FAILED", "no lock changed hands"},
		{"no stale write", good()[:3], 1, true, "FAILED", "no stale write was refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := history(tt.history...)
			if tt.killed {
				j.killed(4, second(7))
				j.hear(event{At: second(8.5), Kind: entered, Name: registerName, Token: 10, worker: 1})
			}
			if tt.name == "nothing happened" {
				j.stays = nil
			}
			v := j.verdict(tt.writes)
			if got := v.String(); !strings.Contains(got, tt.want) || v.good() != (tt.want != "FAILED") {
				t.Errorf("verdict %q (%v %v), want %q", got, v.violations, v.missing, tt.want)
			}
			if all := strings.Join(append(v.violations, v.missing...), "\n"); !strings.Contains(all, tt.because) {
				t.Errorf("it says %q, and should say %q", all, tt.because)
			}
		})
	}
}

func TestRegisterRefusesStaleTokens(t *testing.T) {
	r := Register{t.TempDir() + "/register"}
	for _, step := range []struct {
		token uint64
		stale bool
	}{{3, false}, {3, false}, {100000, false}, {99999, true}, {100001, false}, {3, true}} {
		if err := r.Write(holdfast.Token(step.token)); (err != nil) != step.stale {
			t.Errorf("write under %d: %v", step.token, err)
		}
	}
	if n, err := r.Writes(); n != 4 || err != nil {
		t.Errorf("%d writes, %v", n, err)
	}
}
