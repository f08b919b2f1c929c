package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/config"
)

// background is what a script has running.
type background struct {
	variables []string
	servers   map[string]*runningServer // the newest of each label
	watcher   *runningWatcher
	clients   []*client.Client
	sessions  map[string]*client.Client // those of clients that have a name
	notified  *notifySocket

	mu      sync.Mutex
	started []*runningServer // all of them, in their order
}

type backgroundKey struct{}

func backgroundOf(ts *testscript.TestScript) *background {
	return ts.Value(backgroundKey{}).(*background)
}

// environment is the script's present environment, as far as a server looks at it, or at more.
func (b *background) environment(ts *testscript.TestScript, more ...string) []string {
	names := append(more, "NOTIFY_SOCKET")
	for _, entry := range b.variables {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	for _, key := range config.Keys() {
		names = append(names, key.Env)
	}
	var environ []string
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// add takes a server that has been started.
func (b *background) add(s *runningServer) {
	b.servers[s.label] = s
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
}

// dump ends the servers that still run with what each of their goroutines does, for their logs. It
// gives up after ten seconds.
func (b *background) dump() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.started {
		// A server that has ended gets no signal; a stopped one goes on first.
		_ = s.command.Process.Signal(syscall.SIGQUIT)
		_ = s.command.Process.Signal(syscall.SIGCONT)
	}
	late := time.After(10 * time.Second)
	for _, s := range b.started {
		select {
		case <-s.ended:
		case <-late:
			return
		}
	}
}

// printLogs reports what each server has written to standard error.
func (b *background) printLogs(report func(...any)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.started {
		log, _ := s.said()
		report(fmt.Sprintf("server %q, process %d, has written:\n%s", s.label, s.command.Process.Pid, log))
	}
}

// runningServer is a `holdfast serve` in the background.
type runningServer struct {
	label   string // "" for one without a name
	command *exec.Cmd
	begun   chan struct{} // closed when it listens
	ready   chan struct{} // closed when it has printed its ready line
	ended   chan struct{} // closed when it has ended
	listen  string        // since begun
	http    string
	line    string // since ready

	mu   sync.Mutex
	log  bytes.Buffer
	more chan struct{} // closed and replaced when log has grown
}

// startServer starts a server on free ports.
func startServer(ts *testscript.TestScript, args []string) *runningServer {
	label := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		label, args = args[0], args[1:]
	}
	b := backgroundOf(ts)
	program, err := exec.LookPath(name)
	ts.Check(err)
	s := &runningServer{label: label, begun: make(chan struct{}), ready: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{})}
	s.command = exec.Command(program, append([]string{"serve"}, withPorts(args)...)...)
	s.command.Dir = ts.MkAbs(".")
	s.command.Env = b.environment(ts)
	out, err := s.command.StdoutPipe()
	ts.Check(err)
	diagnostics, err := s.command.StderrPipe()
	ts.Check(err)
	ts.Check(s.command.Start())
	ts.Defer(func() { s.end() })
	var reading sync.WaitGroup
	reading.Go(func() { s.readOut(out) })
	reading.Go(func() { s.readLog(diagnostics) })
	go func() {
		reading.Wait()
		_ = s.command.Wait() // ProcessState says how it ended
		close(s.ended)
	}()
	b.add(s)
	return s
}

// withPorts adds free ports where args name none.
func withPorts(args []string) []string {
	for _, flag := range []string{"--listen", "--http"} {
		given := false
		for _, arg := range args {
			given = given || arg == flag || strings.HasPrefix(arg, flag+"=")
		}
		if !given {
			args = append([]string{flag + "=127.0.0.1:0"}, args...)
		}
	}
	return args
}

// end kills it if it still runs.
func (s *runningServer) end() {
	// It may have ended already, or be stopped; KILL works on either.
	_ = s.command.Process.Kill()
	<-s.ended
}

// readOut waits for the ready line.
func (s *runningServer) readOut(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if s.line == "" {
			s.line = lines.Text()
			close(s.ready)
		}
	}
}

// listening finds the addresses in the first line of a log, in either format.
var listening = regexp.MustCompile(`msg"?[=:]"?listening"?.*?listen"?[=:]"?([0-9.:]+)"?(?:.*?http"?[=:]"?([0-9.:]+))?`)

// readLog keeps what it says, and waits for where it listens.
func (s *runningServer) readLog(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		s.mu.Lock()
		s.log.WriteString(lines.Text() + "\n")
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if m := listening.FindStringSubmatch(lines.Text()); m != nil && s.listen == "" {
			s.listen, s.http = m[1], m[2]
			close(s.begun)
		}
	}
}

// said returns what it has written to standard error, and what is closed when that
// is more.
func (s *runningServer) said() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String(), s.more
}

// fail ends the script with all that the server has said.
func (s *runningServer) fail(ts *testscript.TestScript, format string, arguments ...any) {
	log, _ := s.said()
	ts.Fatalf(format+":\n%s", append(arguments, log)...)
}

// await waits for one of its events.
func (s *runningServer) await(ts *testscript.TestScript, event chan struct{}, what string) {
	select {
	case <-event:
	case <-s.ended:
		select {
		case <-event: // both
		default:
			s.fail(ts, "serve ended with %d before it was %s", statusOf(s.command.ProcessState), what)
		}
	}
}

// export tells the script where it is.
func (s *runningServer) export(ts *testscript.TestScript) {
	for _, prefix := range []string{"", s.label + "_"} {
		if prefix == "_" {
			continue
		}
		if prefix == "" {
			ts.Setenv("HOLDFAST_SERVER", s.listen)
		} else {
			ts.Setenv(prefix+"SERVER", s.listen)
		}
		ts.Setenv(prefix+"HTTP", "http://"+s.http)
		ts.Setenv(prefix+"PID", strconv.Itoa(s.command.Process.Pid))
	}
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! serve; use exit CODE holdfast serve")
	}
	s := startServer(ts, args)
	s.await(ts, s.ready, "ready")
	var line struct{ Listen, HTTP string }
	if err := json.Unmarshal([]byte(s.line), &line); err != nil {
		ts.Fatalf("ready line %q: %v", s.line, err)
	}
	s.await(ts, s.begun, "listening")
	if line.Listen != s.listen || line.HTTP != s.http {
		ts.Fatalf("ready line %q: the log says listen=%s http=%s", s.line, s.listen, s.http)
	}
	s.export(ts)
}

func scriptServeStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! serve-start; use exit CODE holdfast serve")
	}
	s := startServer(ts, args)
	s.await(ts, s.begun, "listening")
	s.export(ts)
}

// labelled returns the server that the arguments name.
func labelled(ts *testscript.TestScript, args []string) *runningServer {
	label := ""
	if len(args) > 0 {
		label = args[0]
	}
	s := backgroundOf(ts).servers[label]
	if s == nil || len(args) > 1 {
		ts.Fatalf("there is no server %q; start it with serve", strings.Join(args, " "))
	}
	return s
}

func scriptServeReady(ts *testscript.TestScript, neg bool, args []string) {
	s := labelled(ts, args)
	if neg {
		select {
		case <-s.ready:
			ts.Fatalf("it is ready: %s", s.line)
		default:
		}
		return
	}
	s.await(ts, s.ready, "ready")
	fmt.Fprintln(ts.Stdout(), s.line)
}

func scriptServeSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve-signal SIGNAL [NAME]")
	}
	ts.Check(labelled(ts, args[1:]).command.Process.Signal(signalNamed(ts, args[0])))
}

func scriptServeWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve-wait CODE [NAME]")
	}
	s := labelled(ts, args[1:])
	<-s.ended
	if got := statusOf(s.command.ProcessState); strconv.Itoa(got) != args[0] {
		s.fail(ts, "serve ended with %d, want %s", got, args[0])
	}
}

func scriptServeLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! serve-log")
	}
	log, _ := labelled(ts, args).said()
	fmt.Fprint(ts.Stdout(), log)
}

func scriptServeSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve-says PATTERN [NAME]")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	s := labelled(ts, args[1:])
	for {
		log, more := s.said()
		if wanted.MatchString(log) {
			return
		}
		select {
		case <-more:
		case <-s.ended:
			s.fail(ts, "serve ended with %d before it had said that", statusOf(s.command.ProcessState))
		}
	}
}

// signalNamed returns the signal of a name as kill(1) has it.
func signalNamed(ts *testscript.TestScript, name string) os.Signal {
	sig, ok := map[string]os.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}[name]
	if !ok {
		ts.Fatalf("signal %q: want TERM, INT, KILL, HUP, STOP or CONT", name)
	}
	return sig
}

// statusOf is how a shell tells a process's end.
func statusOf(state *os.ProcessState) int {
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
