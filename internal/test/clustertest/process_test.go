package clustertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes the test program a worker that follows orders, if asked.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "puppet" {
		echo()
		return
	}
	if len(os.Args) > 2 && os.Args[1] == defaulted {
		os.Exit(startShell(os.Args[2]))
	}
	DefaultSignals()
	goleak.VerifyTestMain(m)
}

// echo reports its arguments, and then every line that it reads.
func echo() {
	fmt.Println(`{"kind":"ready"}`)
	var line string
	for {
		if _, err := fmt.Scanln(&line); err != nil {
			return
		}
		if line == "die" {
			fmt.Fprintln(os.Stderr, "told to")
			os.Exit(3)
		}
		fmt.Println(line)
	}
}

func newGroup(t *testing.T) (context.Context, *Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx, NewGroup([]string{os.Args[0], "puppet"}, t.TempDir()+"/register")
}

func is(kind Kind) func(Event) bool { return func(e Event) bool { return e.Kind == kind } }

// TestGroup checks that workers' reports arrive in order, that a stopped one is seen as stopped, and that all end when
// their input does.
func TestGroup(t *testing.T) {
	ctx, c := newGroup(t)
	var heard []Event
	c.Heard = func(e Event) { heard = append(heard, e) }
	for range 2 {
		if _, err := c.Start("nowhere", false); err != nil {
			t.Fatal(err)
		}
	}
	one, two := c.Workers()[0], c.Workers()[1]
	mark := c.Mark()
	if err := two.Order(`{"kind":"entered","at":7,"name":"n","token":"9"}`); err != nil {
		t.Fatal(err)
	}
	e, err := c.Await(ctx, "a word", mark, is(Entered))
	if err != nil || e.Worker != 2 || e.At != 7 || e.Name != "n" {
		t.Fatalf("heard %+v, %v", e, err)
	}
	for _, want := range []bool{true, false} {
		step := one.Continue
		if want {
			step = one.Stop
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if stopped, err := one.Stopped(); want && !stopped || err != nil {
			t.Errorf("stopped %v, %v; want %v", stopped, err, want)
		}
	}
	if err := c.Kill(one); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}
	var ends int
	for _, e := range c.History(0) {
		if e.Kind == Gone && e.Why == "" {
			ends++
		}
	}
	if all := len(c.History(0)); ends != 2 || len(heard) != all {
		t.Errorf("%d ends, %d events of which %d were shown", ends, all, len(heard))
	}
}

// TestWorkerFails checks that Await returns an error when a worker fails.
func TestWorkerFails(t *testing.T) {
	ctx, c := newGroup(t)
	w, err := c.Start("nowhere", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Order("die"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Await(ctx, "a grant", 0, is(Entered))
	if err == nil || !strings.Contains(err.Error(), "wait for a grant: worker 1: exit status 3: told to") {
		t.Errorf("got %v", err)
	}
	if err := c.Finish(); err != nil {
		t.Error(err)
	}
	if err := c.Kill(w); err == nil || !strings.Contains(err.Error(), "ended by itself before") {
		t.Errorf("killing what is dead: %v", err)
	}
}

// TestMemberThatIsNotReady checks that a member that ends, or prints something else, is not ready.
func TestMemberThatIsNotReady(t *testing.T) {
	ctx, _ := newGroup(t)
	m := &Member{Name: "a", Command: []string{"sh", "-c", "echo no >&2; echo '{}'; exit 4"}}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	if err := m.AwaitReady(ctx); err == nil || !strings.Contains(err.Error(), "member a ended before it was ready") {
		t.Errorf("got %v", err)
	}
	if err := m.AwaitEnd(ctx); err == nil || !strings.Contains(err.Error(), "exit status 4: no") {
		t.Errorf("got %v", err)
	}
}
