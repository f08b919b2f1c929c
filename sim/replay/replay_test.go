package replay_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/replay"
)

// run replays a valid trace.
func run(t testing.TB, text []byte, c replay.Config) *replay.Result {
	t.Helper()
	result, err := replay.Run(bytes.NewReader(text), c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// recorded simulates a seed and returns the traces of its members.
func recorded(t testing.TB, protocol string, seed uint64, duration time.Duration) map[string]*bytes.Buffer {
	t.Helper()
	p, known := sim.Find(protocol)
	if !known {
		t.Fatalf("there is no protocol %s", protocol)
	}
	records := map[string]*bytes.Buffer{}
	result, err := sim.Run(sim.Config{Protocol: p, Faults: sim.Within, Duration: duration, MemberTrace: func(member string) io.Writer {
		if records[member] == nil {
			records[member] = &bytes.Buffer{}
		}
		return records[member]
	}}, seed, nil)
	if err != nil || result.Outcome != sim.OK {
		t.Fatalf("seed %d: %v %v %v", seed, result.Outcome, result.Violation, err)
	}
	return records
}

// TestSimulatedMembersReplay checks that fresh machines repeat all that a seed does to its members, with crashes,
// restarts, lost disks and pauses, and that recording changes nothing.
func TestSimulatedMembersReplay(t *testing.T) {
	for _, protocol := range []string{"central", "election", "grantor", "permission", "bakery", "consensus"} {
		if testing.Short() && protocol != "central" && protocol != "consensus" {
			continue
		}
		steps, lives, restarts := 0, 0, 0
		for seed := uint64(1); seed <= 8; seed++ {
			for member, text := range recorded(t, protocol, seed, 20*time.Second) {
				result := run(t, text.Bytes(), replay.Config{})
				if result.Difference != nil {
					t.Fatalf("%s, seed %d, member %s:\n%v", protocol, seed, member, result.Difference)
				}
				steps += result.Steps()
				lives += len(result.Lives)
				restarts += len(result.Lives) - 1
			}
		}
		if steps < 5_000 || restarts < 10 {
			t.Errorf("%s: %d steps of %d lives, %d of them restarts, show little", protocol, steps, lives, restarts)
		}
	}
}

// TestTracingChangesNothing checks that a run is the same, line by line, with and without recording.
func TestTracingChangesNothing(t *testing.T) {
	for _, protocol := range []string{"central", "bakery"} { // which draws an option
		p, _ := sim.Find(protocol)
		c := sim.Config{Protocol: p, Faults: sim.Within, Duration: 10 * time.Second}
		var with, without bytes.Buffer
		for seed := uint64(20); seed < 23; seed++ {
			c.MemberTrace = nil
			if _, err := sim.Run(c, seed, &without); err != nil {
				t.Fatal(err)
			}
			c.MemberTrace = func(string) io.Writer { return io.Discard }
			if _, err := sim.Run(c, seed, &with); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(with.Bytes(), without.Bytes()) {
			t.Errorf("%s: a recorded run has another trace", protocol)
		}
	}
}

// TestEveryValueIsReadBack checks that every value in a trace can be read, and is written again in the same form, for
// inputs and effects of machines.
func TestEveryValueIsReadBack(t *testing.T) {
	codec, err := trace.NewCodec(sim.Nodes(sim.Protocols()...))
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, protocol := range []string{"central", "election", "grantor", "permission", "bakery"} {
		for _, text := range recorded(t, protocol, 4, 20*time.Second) {
			for line := range strings.Lines(text.String()) {
				_, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), " at 0 ")
				if !is {
					_, value, is = strings.Cut(strings.TrimSuffix(line, "\n"), " at 1 ")
				}
				if rest, raise := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  raise "); raise {
					value, is = rest, true
				}
				if !is {
					continue
				}
				values++
				v, err := codec.Parse(value)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if again, err := codec.Append(nil, v, nil); err != nil || string(again) != value {
					t.Fatalf("%s becomes %s, %v", value, again, err)
				}
			}
		}
	}
	if values < 2000 {
		t.Errorf("%d values show little", values)
	}
}

// TestDifferences checks that every alteration is reported at its step, with both lines.
func TestDifferences(t *testing.T) {
	text := recorded(t, "central", 1, 5*time.Second)["a"].String()
	for _, tt := range []struct {
		old, new string // the first occurrence of old is altered
		what     string
	}{
		{"  wake ", "  wake 1h", "wake"},
		{"  send ", "  send 1", "send"},
		{"  reply ", "  reply 9", "reply"},
		{"  raise &protocol.", "  raise protocol.", "raise"},
		{"  note \"", "  note \"!", "note"},
		{"  drew ", "  drew 7\n  drew ", "drew"},
		{"Incarnation: 1", "Incarnation: 2", "member"},
		{"Drawn: [", "Drawn: [5, ", "member"},
		{"]\nName: ", ", 5]\nName: ", "drew"},
	} {
		before, after, found := strings.Cut(text, tt.old)
		if !found {
			t.Fatalf("the trace has no %q", tt.old)
		}
		line := strings.Count(before, "\n") + 1
		d := run(t, []byte(before+tt.new+after), replay.Config{}).Difference
		if d == nil || d.What() != tt.what {
			t.Errorf("%q for %q: %v", tt.new, tt.old, d)
			continue
		}
		// The step's own line is the last unindented one before the altered one.
		var event string
		at := 0
		for i, l := range strings.Split(text, "\n")[:line] {
			if l != "" && l[0] >= '0' && l[0] <= '9' {
				event, at = l, i+1
			}
		}
		if d.Step != 0 && (d.Event != event || d.Line != at || d.Life != 1) {
			t.Errorf("%q for %q in line %d is reported at line %d, %s; want line %d, %s", tt.new, tt.old, line, d.Line, d.Event, at, event)
		}
		if got := d.String(); d.Step != 0 && tt.what != "drew" && !strings.Contains(got, "\n- "+strings.TrimPrefix(tt.new, "  ")) || !strings.Contains(got, "\n+ ") {
			t.Errorf("%q for %q is reported so:\n%s", tt.new, tt.old, got)
		}
	}
}

// TestLostEvents checks that a trace with a missing or duplicated event is rejected.
func TestLostEvents(t *testing.T) {
	text := recorded(t, "central", 1, 5*time.Second)["a"].String()
	second := strings.Index(text, "\n2 ") + 1
	third := strings.Index(text, "\n3 ") + 1
	for altered, want := range map[string]string{
		text[:second] + text[third:]:                     "step 3 at ",
		text[:third] + text[second:]:                     "step 2 at ",
		strings.Replace(text, "\n2 ", "\n2 -", 1):        "is no time",
		strings.Replace(text, "central", "paxos", 2):     `space "default" has protocol "paxos"`,
		strings.Replace(text, "Lease: ", "Lease: -", 1):  "make the machines of",
		strings.Replace(text, "\nName: ", "\nNome: ", 1): `"Nome" is no field`,
		strings.Replace(text, "trace 1", "script 1", 1):  "it is no trace",
	} {
		if _, err := replay.Run(strings.NewReader(altered), replay.Config{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCutTracesReplay checks that a trace cut at any point replays up to there.
func TestCutTracesReplay(t *testing.T) {
	text := recorded(t, "central", 2, 5*time.Second)["b"].Bytes()
	total := run(t, text, replay.Config{}).Steps()
	begin := bytes.Index(text, []byte("\n\n")) + 2
	for size := begin; size < len(text); size += 1 + len(text)/25 {
		result := run(t, text[:size], replay.Config{})
		if result.Difference != nil {
			t.Fatalf("of %d bytes:\n%v", size, result.Difference)
		}
		if steps := result.Steps(); steps > total {
			t.Fatalf("of %d bytes: %d steps, and there are %d", size, steps, total)
		}
	}
}

// TestOutput checks that the requested steps are printed as in the trace.
func TestOutput(t *testing.T) {
	text := recorded(t, "central", 2, 5*time.Second)["b"].Bytes()
	life, _, _ := bytes.Cut(text[1:], []byte("holdfast trace"))
	var shown bytes.Buffer
	run(t, append([]byte("h"), life...), replay.Config{Output: &shown, From: 3, To: 4})
	third, fifth := bytes.Index(text, []byte("\n3 "))+1, bytes.Index(text, []byte("\n5 "))+1
	var want bytes.Buffer
	for line := range bytes.Lines(text[third:fifth]) {
		if !bytes.HasPrefix(line, []byte("  drew ")) {
			want.Write(line)
		}
	}
	if shown.String() != want.String() {
		t.Errorf("it shows %q, want %q", &shown, &want)
	}
}

// TestGolden checks that the traces of earlier versions replay. If a machine's behaviour has changed for a good reason,
// -rewrite records them again.
func TestGolden(t *testing.T) {
	const path = "testdata/central.txt"
	if golden.Rewrites() {
		begin := recorded(t, "central", 6, 2*time.Second)["a"].Bytes()[:80_000]
		size := bytes.LastIndexByte(begin, '\n') + 1
		if err := os.WriteFile(path, begin[:size], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	result := run(t, text, replay.Config{})
	if result.Difference != nil {
		t.Fatalf("%s:\n%v\nif that is meant: go test ./sim/replay -rewrite", path, result.Difference)
	}
	if result.Steps() < 50 {
		t.Errorf("%s has %d steps", path, result.Steps())
	}
}

// BenchmarkReplay measures one recorded step: read, fed and compared.
func BenchmarkReplay(b *testing.B) {
	text := recorded(b, "central", 1, 20*time.Second)["a"].Bytes()
	steps := 0
	for steps < b.N {
		steps += run(b, text, replay.Config{}).Steps()
	}
	b.SetBytes(int64(len(text) / run(b, text, replay.Config{}).Steps()))
}
