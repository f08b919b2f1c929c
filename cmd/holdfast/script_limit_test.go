package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptLimit is how long one script may take. The longest takes half a minute where nothing
// else runs. A script that waits for what never comes would otherwise wait until the test
// program's own limit, which names no script.
const scriptLimit = 5 * time.Minute

// bound ends a script that is not done when its time is over: it kills the script's processes,
// and those that the script starts after that, so that each wait in it returns and the line
// that waits fails. Report is called once, first. When a script has ended, however, it kills what the
// script has left running: the end of a background command is waited for, and one that waits for a line
// of the script that was never reached, as for a word through a pipe, would not end.
func bound(env *testscript.Env, over <-chan time.Time, report func(sentence string)) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	env.Defer(func() {
		close(done)
		watching.Wait()
		if err := endBelow(env.WorkDir); err != nil {
			report(err.Error())
		}
	})
	watching.Go(func() {
		select {
		case <-done:
			return
		case <-over:
		}
		report(fmt.Sprintf("the script in %s is not done in time: its processes are killed; the line that fails is the one that waited", env.WorkDir))
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			if _, err := killBelow(env.WorkDir); err != nil {
				report(err.Error())
				return
			}
			select {
			case <-done:
				return
			case <-again.C:
			}
		}
	})
}

// endBelow kills all processes of a script until none is left. Without /proc it does nothing.
func endBelow(folder string) error {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return nil
	}
	for {
		if found, err := killBelow(folder); err != nil || found == 0 {
			return err
		}
	}
}

// killBelow kills the processes of a script, and returns how many it has found: its folder is in the
// environment of each.
func killBelow(folder string) (found int, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(paths) == 0 {
		return 0, fmt.Errorf("find the processes of the script in %s: there is no /proc here (%v)", folder, err)
	}
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended, or is another user's
		}
		if !bytes.Contains(append([]byte{0}, environ...), []byte("\x00WORK="+folder+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return found, err
		}
		found++
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return found, fmt.Errorf("kill process %d of the script in %s: %w", pid, folder, err)
		}
	}
	return found, nil
}

// scriptRecorder is a test that a script runs in, whose failure is what is looked for.
type scriptRecorder struct {
	log    strings.Builder
	failed bool
}

func (r *scriptRecorder) Parallel()                   {}
func (r *scriptRecorder) Verbose() bool               { return true }
func (r *scriptRecorder) Deadline() (time.Time, bool) { return time.Time{}, false }
func (r *scriptRecorder) Log(args ...any)             { fmt.Fprintln(&r.log, args...) }
func (r *scriptRecorder) Skip(args ...any)            { r.Fatal(args...) }

func (r *scriptRecorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

func (r *scriptRecorder) Fatal(args ...any) {
	r.Log(args...)
	r.FailNow()
}

// Run runs f on a goroutine that FailNow may end.
func (r *scriptRecorder) Run(_ string, f func(testscript.T)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(r)
	}()
	<-ended
}

// TestScriptLimit: a script that waits for ever ends when its time is over, at the line that
// waited, also where a grandchild of the script keeps its output open.
func TestScriptLimit(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("the processes of a script are found by /proc")
	}
	file := filepath.Join(t.TempDir(), "stuck.txt")
	text := "exec sh -c 'echo before'\nexec sh -c 'cat never & wait'\nexec sh -c 'echo after'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var report string
	recorder := &scriptRecorder{}
	testscript.RunT(recorder, testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			never := filepath.Join(env.WorkDir, "never")
			if err := syscall.Mkfifo(never, 0o600); err != nil {
				return err
			}
			over := make(chan time.Time, 1)
			var opening sync.WaitGroup
			var writer *os.File
			opening.Go(func() {
				// It is open when the grandchild reads from it.
				var err error
				if writer, err = os.OpenFile(never, os.O_WRONLY, 0); err != nil {
					t.Error(err)
				}
				over <- time.Time{}
			})
			env.Defer(func() {
				// Where the grandchild has not read, this lets the opening end.
				reader, err := os.OpenFile(never, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				if err != nil {
					t.Error(err)
				}
				opening.Wait()
				reader.Close()
				writer.Close()
			})
			bound(env, over, func(sentence string) { report = sentence })
			return nil
		},
	})
	if !strings.Contains(report, "is not done in time") {
		t.Errorf("the report is %q", report)
	}
	if log := recorder.log.String(); !recorder.failed || !strings.Contains(log, "signal: killed") ||
		!strings.Contains(log, "before") || strings.Contains(log, "echo after") {
		t.Errorf("failed is %v, want true, at the line that was killed:\n%s", recorder.failed, log)
	}
}

// TestScriptLeavesNothing: a script that fails while its background command waits for a word from it ends
// at once, and so does that command, a grandchild of it included.
func TestScriptLeavesNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("the processes of a script are found by /proc")
	}
	file := filepath.Join(t.TempDir(), "failing.txt")
	text := "exec mkfifo ready go\nexec sh -c 'sh -c \"echo ready >ready; read line <go\"; echo went on' &run&\nexec cat ready\nexec false\nexec sh -c 'echo >go'\nwait run\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var folder, report string
	recorder := &scriptRecorder{}
	testscript.RunT(recorder, testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			folder = env.WorkDir
			bound(env, nil, func(sentence string) { report = sentence })
			return nil
		},
	})
	if log := recorder.log.String(); report != "" || !recorder.failed || !strings.Contains(log, "exec false") || strings.Contains(log, "\nwent on\n") {
		t.Errorf("failed is %v, want true, at the line that fails; the report is %q:\n%s", recorder.failed, report, log)
	}
	if found, err := killBelow(folder); found != 0 || err != nil {
		t.Errorf("%d processes are left, %v", found, err)
	}
}
