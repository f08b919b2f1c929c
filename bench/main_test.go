package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/bench/peer"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs the command with arguments, in this process.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	p := &program{stdout: &out, stderr: &diagnostics}
	err := p.command().Run(t.Context(), append([]string{"bench"}, args...))
	if err != nil {
		p.say("%v", err)
	}
	return out.String(), diagnostics.String(), codeOf(err)
}

// TestRefused: wrong flags are reported, with what is allowed, before anything
// is started.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--targets zookeeper", `flag --targets: "zookeeper": want some of raw, limit, `},
		{"--workloads cold", `flag --workloads: "cold": want some of uncontended, hot, drain, hold`},
		{"--workers 0", `flag --workers: "0": want numbers from 1 to 100000, as in 1,64`},
		{"--think -1s", `flag --think: "-1s": want durations from 0 to 1m0s, as in 0,1ms`},
		{"--rounds 0", "flag --rounds: 0: want 1 to 1000"},
		{"--duration 1us", "flag --duration: 1µs: want 1ms to 1h0m0s"},
		{"--targets raw --json nowhere/figures.json", "flag --json: open nowhere/figures.json: no such file or directory"},
		{"--targets raw --holdfast nowhere", "flag --holdfast: stat "},
		{"--nothing", "flag provided but not defined: -nothing"},
		{"now", `argument "now": the command takes none`},
	} {
		if _, said, code := run(t, strings.Fields(tt.args)...); code != exitUsage || !strings.Contains(said, "bench: "+tt.want) {
			t.Errorf("%s: exit %d, %q; want %q", tt.args, code, said, tt.want)
		}
	}
}

// TestLeftOut: a service that is not installed is named and left out, and is a mistake
// only where it was asked for.
func TestLeftOut(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	p := &program{stdout: &out, stderr: &out}
	const name, want = "etcd-mutex", "etcd-mutex: no program etcd is installed: apt-get install etcd-server"
	targets, err := p.hosted(t.Context(), &order{peers: []string{name}})
	if err != nil || len(targets) != 0 || out.String() != "left out: "+want+"\n" {
		t.Errorf("%v, %v, %q", targets, err, &out)
	}
	if _, said, code := run(t, "--targets", name); code != exitUsage || !strings.Contains(said, "flag --targets: "+want) {
		t.Errorf("exit %d, %q", code, said)
	}
}

// TestReport: one table, the verdict on what is ours, and what others get wrong below it.
func TestReport(t *testing.T) {
	cell := load.Cell{Workload: load.Hot, Workers: 8}
	result := func(ownErrors, ownViolations float64) *load.Result {
		r := &load.Result{FirstError: errors.New("it was late"), Rows: []*load.Row{
			{Target: "limit", Cell: cell, Rounds: []load.Figures{{load.HandoffsPerS: 1000, load.Errors: 0, load.Violations: 0}}},
			{Target: "remote", Cell: cell, Rounds: []load.Figures{{load.HandoffsPerS: 700, load.Errors: ownErrors, load.Violations: ownViolations}}},
			{Target: "", Cell: cell, Rounds: []load.Figures{{load.HandoffsPerS: 5, load.Errors: 3, load.Violations: 0}}},
		}}
		r.Relate()
		return r
	}
	for _, tt := range []struct {
		errors, violations float64
		code               int
		last               string
	}{
		{0, 0, 0, "bench: ok in=0s"},
		{2, 0, exitInternal, "bench: FAILED errors=2 in=0s"},
		{2, 1, exitViolation, "bench: VIOLATION violations=1 errors=2 in=0s"},
	} {
		var out bytes.Buffer
		p := &program{stdout: &out}
		// A target of no service has the empty name.
		err := p.report(result(tt.errors, tt.violations), []load.Target{&peer.Target{}}, 0)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if codeOf(err) != tt.code || lines[len(lines)-1] != tt.last {
			t.Errorf("%v: exit %d, %s", tt, codeOf(err), &out)
		}
		for _, want := range []string{"OF-LIMIT", "0.70", "0.0050", ", hot, 8 workers: errors: 3", "the first error: it was late"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in %s", want, &out)
			}
		}
	}
}

// TestRun: the command builds Holdfast, measures it along with limit and the services in its flags,
// and writes the figures with their ratios.
func TestRun(t *testing.T) {
	figures := filepath.Join(t.TempDir(), "figures.json")
	command := exec.Command("go", "run", ".", "--targets", "limit,remote", "--workloads", "uncontended,hold", "--workers", "8", "--rounds", "1",
		"--duration", "50ms", "--json", figures)
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "bench: ok in=") {
		t.Errorf("the last line is %q", last)
	}
	text, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"target":"remote","workload":"uncontended","workers":8,"ops_per_s":`, `"count":100000`, `"of_limit":`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestCancelled: a run that is ended says why.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&supervise.Signalled{Signal: syscall.SIGINT})
	var out bytes.Buffer
	p := &program{stdout: &out, stderr: &out}
	err := p.command().Run(ctx, []string{"bench", "--targets", "raw"})
	if codeOf(err) != 130 || !strings.Contains(err.Error(), "ended by signal interrupt") {
		t.Errorf("%v", err)
	}
}
