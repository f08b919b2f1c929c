package peer

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// folder stands for the server's own folder in the arguments of a [Plan].
const folder = "{folder}"

// Plan describes a keeper's server.
type Plan struct {
	Name     string     `json:"name"`     // prefix of the folder's name
	Commands [][]string `json:"commands"` // in sequence; the last is the server
	Ready    string     `json:"ready"`    // lower-case text that the server prints when it is ready
	// User and Group are the ids that the server runs as. Zero means the keeper's own.
	User  int `json:"user,omitempty"`
	Group int `json:"group,omitempty"`
	// Order is the time limit for an orderly end of the server. Zero means 5 s.
	Order time.Duration `json:"order,omitempty"`
}

// told is a keeper's message on its standard output, a JSON object a line.
type told struct {
	Event   string `json:"event"`             // started, ready or failed
	Process int    `json:"process,omitempty"` // of started
	Why     string `json:"why,omitempty"`     // of failed
}

// keeper keeps one server.
type keeper struct {
	plan   Plan
	folder string
	events *json.Encoder
	log    io.Writer
}

// Keep carries out a plan, in JSON, until leash ends or a signal ends the process: then the server ends, and its folder
// is removed. The server's output goes to log.
func Keep(plan string, leash io.Reader, events, log io.Writer) (err error) {
	// The server ends with this thread: the system watches the thread that has started it.
	runtime.LockOSThread()
	ended := make(chan os.Signal, 4)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// The reader may be gone, and the rest must be done all the same.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	loose := make(chan struct{})
	go func() {
		defer close(loose)
		_, _ = io.Copy(io.Discard, leash) // it has ended, in one way or another
	}()
	go func() {
		<-ended
		signal.Stop(ended)
		if closer, ok := leash.(io.Closer); ok {
			_ = closer.Close() // the server ends in any case
		}
	}()
	k := &keeper{events: json.NewEncoder(events), log: log}
	if err := json.Unmarshal([]byte(plan), &k.plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if k.folder, err = os.MkdirTemp("", "holdfast-bench-"+k.plan.Name+"-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(k.folder)) }()
	if k.plan.User != 0 {
		if err := os.Chown(k.folder, k.plan.User, k.plan.Group); err != nil {
			return fmt.Errorf("give a folder away: %w", err)
		}
	}
	for _, words := range k.plan.Commands[:len(k.plan.Commands)-1] {
		if err := k.prepare(words, loose); err != nil {
			return k.failed(err)
		}
	}
	return k.failed(k.serve(k.plan.Commands[len(k.plan.Commands)-1], loose))
}

// failed reports an error to the bench, and returns it.
func (k *keeper) failed(err error) error {
	if err != nil {
		_ = k.events.Encode(told{Event: "failed", Why: err.Error()}) // it may be gone
	}
	return err
}

// command prepares a program that ends with the keeper, in its own process group.
func (k *keeper) command(words []string) *exec.Cmd {
	var replaced []string
	for _, word := range words {
		replaced = append(replaced, strings.ReplaceAll(word, folder, k.folder))
	}
	c := exec.Command(replaced[0], replaced[1:]...)
	c.Dir = k.folder
	// The user's settings for other servers do not apply, and the output must be in English.
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.folder, "TMPDIR=" + k.folder, "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	recipe.EndWithParent(c.SysProcAttr, syscall.SIGKILL)
	if k.plan.User != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(k.plan.User), Gid: uint32(k.plan.Group)}
	}
	return c
}

// prepare runs a command to its end.
func (k *keeper) prepare(words []string, loose <-chan struct{}) error {
	c := k.command(words)
	c.Stdout, c.Stderr = k.log, k.log
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(words[0]), err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("run %s: %w", filepath.Base(words[0]), err)
		}
		return nil
	case <-loose:
		killGroup(c.Process.Pid)
		<-done
		return errLoose
	}
}

var errLoose = errors.New("it was stopped before the server was ready")

// serve runs the server until the leash ends.
func (k *keeper) serve(words []string, loose <-chan struct{}) error {
	c := k.command(words)
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(words[0]), err)
	}
	c.Stdout, c.Stderr = write, write
	err = c.Start()
	_ = write.Close() // the server has its own
	if err != nil {
		_ = read.Close() // nothing was written to it
		return fmt.Errorf("start %s: %w", filepath.Base(words[0]), err)
	}
	_ = k.events.Encode(told{Event: "started", Process: c.Process.Pid}) // if there is no reader, the leash has ended
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		k.listenTo(read)
	}()
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		killGroup(c.Process.Pid) // its remaining processes hold its output open
		select {
		case <-heard: // its last output has the reason
		case <-loose:
		}
		return fmt.Errorf("the server has ended: %w", errors.Join(err))
	case <-loose:
	}
	_ = c.Process.Signal(syscall.SIGINT) // if it has already ended, done reports it
	timer := time.NewTimer(cmp.Or(k.plan.Order, orderLimit))
	defer timer.Stop()
	select {
	case <-done: // any exit code counts
	case <-timer.C:
		killGroup(c.Process.Pid)
		<-done
	}
	return nil
}

// orderLimit is the default time limit for an orderly end of a server.
const orderLimit = 5 * time.Second

// listenTo forwards the server's output, and reports when the server is ready.
func (k *keeper) listenTo(said *os.File) {
	defer said.Close()
	lines := bufio.NewReader(said)
	for served := false; ; {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(k.log, line) // if there is no reader, the leash has ended
		if !served && strings.Contains(strings.ToLower(line), k.plan.Ready) {
			served = true
			_ = k.events.Encode(told{Event: "ready"}) // likewise
		}
		if err != nil {
			return
		}
	}
}

// killGroup ends a process and all of its group.
func killGroup(process int) { _ = syscall.Kill(-process, syscall.SIGKILL) } // none is left if it fails

// How often, and with what pause, to retry the removal of a folder: a killed server's processes may take a moment to
// end.
const (
	removeTries = 600
	removePause = 50 * time.Millisecond
)

func removeAll(folder string) (err error) {
	for range removeTries {
		if err = os.RemoveAll(folder); err == nil {
			return nil
		}
		time.Sleep(removePause)
	}
	return fmt.Errorf("remove a folder: %w", err)
}
