package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// childArgument makes the test program a child of itself.
const childArgument = "be-a-child"

// TestMain looks for goroutines that outlive what began them. A probe of memberlist's
// that is under way at its end cannot be ended: it waits for its own deadline, and goes.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != childArgument {
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
		return
	}
	folder := os.Args[2]
	if folder == "-" {
		folder = ""
	}
	go Leash(os.Stdin, os.Stdout, folder)
	switch kind := os.Args[3]; kind {
	case EchoServer, LimitServer:
		if err := Serve(context.Background(), os.Args[3:], os.Stdout); err != nil {
			os.Exit(70)
		}
	case "fall-over":
		_, _ = os.Stderr.WriteString("it was too much\n")
		os.Exit(3)
	default: // serve and its flags: a member that does not get ready
		select {}
	}
}

func command(t *testing.T) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{program, childArgument}
}

func limitedContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func harness(t *testing.T) *Harness {
	t.Helper()
	b, err := NewHarness(limitedContext(t), Config{Child: command(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is left: %v", err)
		}
	})
	return b
}

// window is how long TestRun measures each row.
const window = 50 * time.Millisecond

// TestRun: what needs no member is measured with real processes, and exclusive.
func TestRun(t *testing.T) {
	b := harness(t)
	targets, err := b.Targets([]string{"limit-queued", "local", "local-grantor", "limit", "raw"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := load.Run(limitedContext(t), load.Config{
		Targets: targets, Workers: []int{1, 8}, Think: []time.Duration{0}, Rounds: 1, Duration: window,
		Waiters: 100, Locks: 20_000, Machine: b,
	})
	if err != nil || result.FirstError != nil {
		t.Fatal(err, result)
	}
	want := map[string]int{"raw": 2, "limit": 6, "limit-queued": 6, "local": 6, "local-grantor": 6}
	for _, row := range result.Rows {
		want[row.Target]--
		for _, metric := range metricsOf(row) {
			if value, ok := row.Figure(metric); !ok || value <= 0 {
				t.Errorf("%s, %v: %s is %v, %v", row.Target, row.Cell, metric, value, ok)
			}
		}
	}
	for name, missing := range want {
		if missing != 0 {
			t.Errorf("%d rows of %s too few", missing, name)
		}
	}
	if n := result.Sum(load.Violations) + result.Sum(load.Errors); n > 0 {
		t.Errorf("%v violations and errors", n)
	}
	now, err := ownCPUs()
	if err != nil || now != b.mine {
		t.Errorf("this process may use %v afterwards, %v before: %v", now, b.mine, err)
	}
}

// metricsOf are those that must have a value. Workers that were fast at first clock every 16th of their cycles: where they
// have had fewer of them then, because the machine was busy, none may have been clocked.
func metricsOf(row *load.Row) []load.Metric {
	metrics := []load.Metric{load.OpsPerS}
	if row.Cell.Workload == load.Hold {
		return append(metrics, load.BytesPerLock)
	}
	if rate, _ := row.Figure(load.OpsPerS); rate*window.Seconds() < float64(16*row.Cell.Workers) {
		return metrics
	}
	return append(metrics, load.P50, load.Max, load.PingMicros)
}

// TestTargets: names are known or refused, and come in the usual order.
func TestTargets(t *testing.T) {
	b := &Harness{}
	reversed := Names()
	slices.Reverse(reversed)
	targets, err := b.Targets(reversed)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, target := range targets {
		names = append(names, target.Name())
	}
	if !slices.Equal(names, Names()) {
		t.Errorf("%v, want %v", names, Names())
	}
	if _, err := b.Targets([]string{"zookeeper"}); err == nil || !strings.Contains(err.Error(), `"zookeeper" is no target; raw, limit,`) {
		t.Errorf("%v", err)
	}
}

// TestChildFails: the error of a server that ends before it serves has its last words.
func TestChildFails(t *testing.T) {
	c, err := startChild("it", append(command(t), "-", "fall-over"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.awaitReady(limitedContext(t)); err == nil || !strings.Contains(err.Error(), "wait until it is ready: it has ended: it was too much") {
		t.Errorf("%v", err)
	}
	if err := c.stop(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
}

// TestNotReady: a server that does not get ready is waited for only as long as wanted,
// and ends all the same.
func TestNotReady(t *testing.T) {
	b := harness(t)
	for _, name := range []string{"remote", "central", "grantor", "grantor-own", "permission-3"} {
		targets, err := b.Targets([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if err := targets[0].Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// TestOrders: what a child answers to orders, right and wrong.
func TestOrders(t *testing.T) {
	var s servant
	for order, want := range map[string]string{
		"procs":   `order "procs": want a number from 1 to 1024`,
		"procs 0": `order "procs 0": want a number from 1 to 1024`,
		"dance":   `order "dance" is unknown`,
		"":        `order "" is unknown`,
	} {
		if got := s.obey(order); got.Error != want {
			t.Errorf("%q is answered with %q", order, got.Error)
		}
	}
	if a := s.obey(orderUsage); a.CPU <= 0 || a.Heap != 0 || a.Error != "" {
		t.Errorf("%+v", a)
	}
	if a := s.obey(orderSettle); a.CPU <= 0 || a.Heap <= 0 || a.Error != "" {
		t.Errorf("%+v", a)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	if a := s.obey("procs 3"); a.Procs != before || runtime.GOMAXPROCS(0) != 3 {
		t.Errorf("it ran on %d before, which was %d; then on %d", a.Procs, before, runtime.GOMAXPROCS(0))
	}
}

// TestLeash: when the leash ends, as it does when the bench dies, a child removes the
// folder and ends.
func TestLeash(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "harness")
	if err := os.MkdirAll(filepath.Join(folder, "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := append(command(t), folder, EchoServer)
	c := exec.Command(args[0], args[1:]...)
	leash, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if a := readAnswer(t, said); a.Event != "ready" || a.Listen == "" {
		t.Errorf("%+v", a)
	}
	if err := leash.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestPing: the ping-pong takes some time, and ends with its context.
func TestPing(t *testing.T) {
	b := harness(t)
	if d, err := b.Ping(limitedContext(t), time.Millisecond); err != nil || d <= 0 || d > time.Minute {
		t.Errorf("%v, %v", d, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Ping(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// readAnswer reads one answer of a child.
func readAnswer(t *testing.T, from io.Reader) (a answer) {
	t.Helper()
	line, err := bufio.NewReader(from).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}
