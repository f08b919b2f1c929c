package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// runningWatcher is a `holdfast locks --watch` in the background.
type runningWatcher struct {
	command *exec.Cmd
	ended   chan struct{}
	log     bytes.Buffer // since ended

	mu   sync.Mutex
	out  bytes.Buffer
	more chan struct{} // closed and replaced when out has grown
}

func scriptWatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! watch")
	}
	program, err := exec.LookPath(name)
	ts.Check(err)
	w := &runningWatcher{ended: make(chan struct{}), more: make(chan struct{})}
	observes := len(args) > 0 && args[0] == "observe"
	if !observes {
		args = append([]string{"locks", "--watch"}, args...)
	}
	w.command = exec.Command(program, args...)
	w.command.Env = append(backgroundOf(ts).environment(ts), "HOLDFAST_SERVER="+ts.Getenv("HOLDFAST_SERVER"))
	w.command.Stderr = &w.log
	out, err := w.command.StdoutPipe()
	ts.Check(err)
	ts.Check(w.command.Start())
	go func() {
		w.read(out)
		_ = w.command.Wait() // ProcessState says how it ended
		close(w.ended)
	}()
	ts.Defer(func() {
		_ = w.command.Process.Kill() // it may have ended already
		<-w.ended
	})
	backgroundOf(ts).watcher = w
	if !observes { // it shows the present state
		w.provoke(ts)
	}
}

func (w *runningWatcher) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		w.mu.Lock()
		w.out.WriteString(lines.Text() + "\n")
		close(w.more)
		w.more = make(chan struct{})
		w.mu.Unlock()
	}
}

// printed returns what it has printed, and what is closed when that is more.
func (w *runningWatcher) printed() (string, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String(), w.more
}

// probe is the name with which a watcher is provoked.
const probe = "watch/probe"

// probed is a grant of it, in either form of an event.
var probed = regexp.MustCompile("granted.*" + probe)

// provoke makes things happen until the watcher has shown a grant.
func (w *runningWatcher) provoke(ts *testscript.TestScript) {
	c := scriptRequest{name: probe}.open(ts)
	for {
		held, err := c.Lock(context.Background(), probe)
		ts.Check(err)
		ts.Check(held.Unlock(context.Background()))
		if out, _ := w.printed(); probed.MatchString(out) {
			return
		}
		select {
		case <-w.ended:
			ts.Fatalf("the watcher ended with %d:\n%s", statusOf(w.command.ProcessState), w.log.String())
		default:
		}
	}
}

func scriptWatchSee(ts *testscript.TestScript, neg bool, args []string) {
	w := backgroundOf(ts).watcher
	if neg || len(args) != 1 || w == nil {
		ts.Fatalf("usage, after watch: watch-see PATTERN")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for {
		out, more := w.printed()
		if wanted.MatchString(out) {
			return
		}
		select {
		case <-more:
		case <-w.ended:
			ts.Fatalf("the watcher ended with %d before it had shown that:\n%s", statusOf(w.command.ProcessState), out)
		}
	}
}

func scriptWatchStop(ts *testscript.TestScript, neg bool, args []string) {
	w := backgroundOf(ts).watcher
	if neg || len(args) == 0 || len(args) > 2 || w == nil {
		ts.Fatalf("usage, after watch: watch-stop CODE [SIGNAL]")
	}
	if len(args) == 2 {
		ts.Check(w.command.Process.Signal(signalNamed(ts, args[1])))
	}
	<-w.ended
	if got := statusOf(w.command.ProcessState); strconv.Itoa(got) != args[0] {
		ts.Fatalf("the watcher ended with %d, want %s:\n%s", got, args[0], w.log.String())
	}
	out, _ := w.printed()
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), w.log.String())
}
