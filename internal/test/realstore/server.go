package realstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// required is the variable that makes a missing server a mistake instead of a test that is
// left out. Its values are "required" and, for all servers but Cassandra's, butCassandra.
const (
	required     = "TEST_STORES"
	butCassandra = "required-but-cassandra"
)

// kind is what is particular to one kind of server.
type kind struct {
	name  string
	ports int // clients know the first
	drop  bool
	// commands are run in folder: the last one is the server. Those before it run once, for
	// a folder that is empty.
	commands func(folder string, ports []string) [][]string
	// ping returns nil if the server at address answers as one that serves.
	ping func(ctx context.Context, address string) error
	url  func(address string) string
	tls  *TLS           // nil: it speaks in the clear
	end  syscall.Signal // ends it at once, with all of its processes
}

// Server is a server that runs for one test. Its methods run on the goroutine of the test, and end it on errors.
type Server struct {
	t         testing.TB
	kind      kind
	folder    string
	addresses []string
	args      []string
	user      int
	group     int
	log       string
	process   *process // nil while it is killed
	paused    []int
}

// process is one run of the server's program.
type process struct {
	id    int
	ended chan struct{}
	err   error // since ended
}

// startTries is the maximum number of start attempts: after a port was found free, another process may take it before
// the server listens on it.
const startTries = 4

// startLimit is the time limit for a server to become ready.
const startLimit = time.Minute

// start starts a server, which ends with the test.
func start(t testing.TB, k kind) *Server {
	t.Helper()
	parallel.SkipBrief(t)
	var errs []error
	for range startTries {
		s := &Server{t: t, kind: k}
		err := s.begin()
		if err == nil {
			t.Cleanup(s.finish)
			return s
		}
		errs = append(errs, err, s.clear())
	}
	t.Fatalf("start %s: %v", k.name, errors.Join(errs...))
	return nil
}

// Lacks ends a test whose server is missing, or lacks a tested feature: it is skipped, or fails if stores are required.
func Lacks(t testing.TB, err error) {
	t.Helper()
	switch value := os.Getenv(required); value {
	case "required", butCassandra:
		t.Fatalf("%s=%s: %v", required, value, err)
	case "":
		t.Skipf("%v (with %s=required this is an error)", err, required)
	default:
		t.Fatalf("%s is %q; required and %s are allowed, and nothing for servers that may be missing", required, value, butCassandra)
	}
}

// begin makes a folder, and lets the server serve in it.
func (s *Server) begin() (err error) {
	if s.kind.drop {
		if s.user, s.group, err = recipe.Unprivileged(); err != nil {
			return err
		}
	}
	if s.folder, err = makeFolder(s.kind.name, s.user, s.group); err != nil {
		return err
	}
	if s.kind.tls != nil {
		if err = s.kind.tls.write(s.folder, s.user, s.group); err != nil {
			return err
		}
	}
	s.log = filepath.Join(s.folder, "log")
	if s.addresses, err = clustertest.FreeAddresses(s.kind.ports); err != nil {
		return err
	}
	var ports []string
	for _, address := range s.addresses {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		ports = append(ports, port)
	}
	commands := s.kind.commands(s.folder, ports)
	last := len(commands) - 1
	s.args = commands[last]
	for _, args := range commands[:last] {
		prepared, err := s.run(args)
		if err != nil {
			return err
		}
		<-prepared.ended
		if prepared.err != nil {
			return fmt.Errorf("run %s: %w; it says: %s", filepath.Base(args[0]), prepared.err, s.logTail())
		}
	}
	return s.serve()
}

// makeFolder makes a folder that a user can reach.
func makeFolder(name string, user, group int) (string, error) {
	var errs []error
	for _, parent := range []string{os.TempDir(), "/dev/shm", "/tmp"} {
		if user != 0 {
			if err := reachable(parent); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		folder, err := os.MkdirTemp(parent, "holdfast-"+name+"-")
		if err == nil && user != 0 {
			err = os.Chown(folder, user, group)
		}
		if err == nil {
			return folder, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("make a folder for %s: %w", name, errors.Join(errs...))
}

// reachable returns nil if every user may pass through folder and those above it.
func reachable(folder string) error {
	for {
		found, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if found.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("folder %s is closed to other users", folder)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil
		}
		folder = above
	}
}

// run starts a program that ends, at the latest, with this process.
func (s *Server) run(args []string) (*process, error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(args[0]), err)
	}
	defer log.Close()
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Stdout, c.Stderr = s.folder, log, log
	// What the user has set up for other servers is not for these.
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder, "TMPDIR=" + s.folder, "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	recipe.EndWithParent(c.SysProcAttr, s.kind.end)
	if s.user != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(s.user), Gid: uint32(s.group)}
	}
	p := &process{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(p.ended)
		// The system watches the thread that starts a process, and not the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			p.err = c.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-p.ended
		return nil, fmt.Errorf("start %s: %w", filepath.Base(args[0]), err)
	}
	p.id = c.Process.Pid
	return p, nil
}

// serve starts the server's program, and waits until it serves.
func (s *Server) serve() (err error) {
	if s.process, err = s.run(s.args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	// A server that begins to listen does not report that: it is asked until it answers.
	for again := time.NewTicker(5 * time.Millisecond); ; {
		err := s.kind.ping(ctx, s.Address())
		if err == nil {
			again.Stop()
			return nil
		}
		select {
		case <-again.C:
		case <-s.process.ended:
			return fmt.Errorf("%s has ended before it served: %v; it says: %s", s.kind.name, s.process.err, s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve after %v: %w; it says: %s", s.kind.name, startLimit, err, s.logTail())
		}
	}
}

// logTail are the last lines of what the server has said.
func (s *Server) logTail() string {
	const most = 4096
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(bytes.ToValidUTF8(text[max(0, len(text)-most):], nil)))
}

// URL returns the server's URL for a driver.
func (s *Server) URL() string { return s.kind.url(s.Address()) }

// URLAt returns the same for another address, that of a [Proxy].
func (s *Server) URLAt(address string) string { return s.kind.url(address) }

// Address returns the server's host and port.
func (s *Server) Address() string { return s.addresses[0] }

// Kill ends the server as a crash does, with all of its processes.
func (s *Server) Kill() {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("kill %s: it does not run", s.kind.name)
	}
	signal(syscall.SIGSTOP, s.process.id) // else it begins further processes
	if err := stand(s.process.id); err != nil {
		s.t.Fatalf("kill %s: %v", s.kind.name, err)
	}
	family, err := recipe.Family(s.process.id)
	if err != nil {
		s.t.Fatal(err)
	}
	signal(syscall.SIGKILL, family...)
	<-s.process.ended
	// The others have its sockets, too, until they have ended.
	if err := await("end", 'Z', family...); err != nil {
		s.t.Fatalf("kill %s: %v", s.kind.name, err)
	}
	s.process, s.paused = nil, nil
}

// Restart starts a killed server again, with its stored data, at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("restart %s: it runs", s.kind.name)
	}
	var errs []error
	for range startTries { // what a dead server leaves may take a moment to go
		err := s.serve()
		if err == nil {
			return
		}
		errs = append(errs, err)
		s.stop()
	}
	s.t.Fatalf("restart %s: %v", s.kind.name, errors.Join(errs...))
}

// Pause stops the server: it accepts connections and requests, and answers none.
func (s *Server) Pause() {
	s.t.Helper()
	if s.process == nil || s.paused != nil {
		s.t.Fatalf("pause %s: it does not run", s.kind.name)
	}
	family, err := recipe.Family(s.process.id)
	if err != nil {
		s.t.Fatal(err)
	}
	signal(syscall.SIGSTOP, family...)
	s.paused = family
	if err := stand(family...); err != nil {
		s.t.Fatalf("pause %s: %v", s.kind.name, err)
	}
}

// stand waits until all threads of processes stand still, which they do some time after the signal.
func stand(processes ...int) error { return await("stop", 'T', processes...) }

// await waits until all threads of processes are in a state, or have ended. Only /proc says that.
func await(what string, state byte, processes ...int) error {
	for _, process := range processes {
		for deadline := time.Now().Add(10 * time.Second); !isIn(state, process); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d does not %s", process, what)
			}
		}
	}
	return nil
}

// isIn reports whether every thread of a process is in a state, or has ended.
func isIn(state byte, process int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The name stands in brackets, and may have any; the state is behind the last one. One that is traced has stopped.
		_, is, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		if is = strings.TrimSpace(is); is == "" || is[0] != state && is[0] != 'Z' && (is[0] != 't' || state != 'T') {
			return false
		}
	}
	return true
}

// Resume continues a paused server.
func (s *Server) Resume() {
	s.t.Helper()
	if s.paused == nil {
		s.t.Fatalf("resume %s: it is not paused", s.kind.name)
	}
	signal(syscall.SIGCONT, s.paused...)
	s.paused = nil
}

// signal sends a signal to processes. Those that have ended by themselves need none.
func signal(number syscall.Signal, processes ...int) {
	for _, process := range processes {
		_ = syscall.Kill(process, number)
	}
}

// stop ends the server's process, if it runs.
func (s *Server) stop() {
	if s.process == nil {
		return
	}
	signal(s.kind.end, s.process.id)
	signal(syscall.SIGCONT, s.paused...)
	<-s.process.ended
	s.process, s.paused = nil, nil
}

// clear ends what begin has begun.
func (s *Server) clear() error {
	s.stop()
	if s.folder == "" {
		return nil
	}
	return os.RemoveAll(s.folder)
}

func (s *Server) finish() {
	if s.t.Failed() {
		s.t.Logf("the last words of %s: %s", s.kind.name, s.logTail())
	}
	if err := s.clear(); err != nil {
		s.t.Errorf("end %s: %v", s.kind.name, err)
	}
}
