package clustertest

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// saying is one report of a worker; at is in seconds.
type saying struct {
	worker int
	kind   Kind
	name   string
	token  uint64
	at     float64
}

func history(sayings ...saying) (events []Event) {
	for _, s := range sayings {
		events = append(events, Event{At: seconds(s.at), Kind: s.kind, Name: s.name, Token: holdfast.Token(s.token), Worker: s.worker})
	}
	return events
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// good is a correct history.
func good(more ...saying) []saying {
	return append([]saying{
		{1, Entered, RegisterName, 5, 1}, {1, Wrote, RegisterName, 5, 1.1}, {1, Left, RegisterName, 5, 2},
		{2, Entered, RegisterName, 6, 2.1}, {2, Lost, RegisterName, 6, 4},
		{3, Entered, RegisterName, 7, 4.1}, {3, Wrote, RegisterName, 7, 4.2}, {2, Refused, RegisterName, 6, 5}, {3, Left, RegisterName, 7, 6},
		{1, Entered, PoolName, 1, 1}, {2, Entered, PoolName, 2, 1}, {2, Left, PoolName, 2, 2}, {3, Entered, PoolName, 3, 2.1},
		{1, Left, PoolName, 1, 3}, {3, Left, PoolName, 3, 3},
		{4, Entered, RegisterName, 8, 6.1},
		{0, Fault, "", 0, 7}, {4, Killed, "", 0, 7}, {1, Entered, RegisterName, 10, 8.5}, {0, Calm, "", 0, 9}, {1, Left, RegisterName, 10, 9},
	}, more...)
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name      string
		history   []saying
		writes    uint64
		violation string
	}{
		{"all well", good(), 2, ""},
		{"a write that the dead could not tell of", good(), 3, ""},
		{"two have the register", good(saying{5, Entered, RegisterName, 9, 5.5}), 2, "worker 5 entered under token 9 while worker 3 was in under 7"},
		{"a worker enters at the instant that is another's last", good(saying{5, Entered, RegisterName, 9, 6}), 2, "while worker 3 was in"},
		{"three have the pool", good(saying{6, Entered, PoolName, 9, 1.5}), 2, "demo/pool: worker 6 entered"},
		{"a token falls", good(saying{5, Entered, RegisterName, 4, 10}), 2, "token 4 followed token 10"},
		{"a token comes twice", good(saying{5, Entered, RegisterName, 10, 10}), 2, "token 10 followed token 10"},
		{"a write is missing", good(), 1, "the register has taken 1 writes"},
		{"a write too many", good(), 4, "the register has taken 4 writes"},
		{"a worker fails", good(saying{5, Failed, "", 0, 7}), 2, "worker 5: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(history(tt.history...), tt.writes)
			all := strings.Join(v.Violations, "\n")
			if !strings.Contains(all, tt.violation) || (tt.violation == "") != (len(v.Violations) == 0) {
				t.Errorf("violations %q, want %q", all, tt.violation)
			}
			if tt.violation == "" && (v.Grants != 8 || v.Handoffs != 6 || v.Stale != 1 || v.Lost != 1 || v.Gap != seconds(1.5)) {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// TestGoneByItself checks that a worker that ends on its own is a violation.
func TestGoneByItself(t *testing.T) {
	v := judge([]Event{{Kind: Gone, Worker: 1}, {Kind: Gone, Worker: 2, Why: "exit 70"}}, 0)
	if len(v.Violations) != 1 || !strings.Contains(v.Violations[0], "worker 2 ended by itself: exit 70") {
		t.Errorf("violations %q", v.Violations)
	}
}

// TestLongestGap checks that the gap is the longest time without a grant from a fault to the calm.
func TestLongestGap(t *testing.T) {
	grant := func(at float64) saying { return saying{1, Entered, PoolName, uint64(at * 10), at} }
	for _, tt := range []struct {
		name    string
		history []saying
		want    float64
	}{
		{"no fault", []saying{grant(1), grant(9)}, 0},
		{"counted from the fault", []saying{grant(1), {0, Fault, "", 0, 5}, grant(6), grant(7)}, 1},
		{"a straggler after the fault", []saying{grant(1), {0, Fault, "", 0, 5}, grant(5.1), grant(8)}, 2.9},
		{"after the calm", []saying{{0, Fault, "", 0, 5}, grant(6), {0, Calm, "", 0, 7}, grant(20)}, 1},
		{"the longest of two", []saying{{0, Fault, "", 0, 1}, grant(2), {0, Calm, "", 0, 3}, {0, Fault, "", 0, 5}, grant(8), {0, Calm, "", 0, 9}}, 3},
	} {
		if got := LongestGap(history(tt.history...)); got != seconds(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, seconds(tt.want))
		}
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
	if n, err := r.writes(); n != 4 || err != nil {
		t.Errorf("%d writes, %v", n, err)
	}
}
