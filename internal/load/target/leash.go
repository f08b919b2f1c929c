package target

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/limit"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// The orders that a child takes on its standard input, one a line. Each is answered with
// one answer, a JSON object a line, on its standard output.
const (
	orderUsage   = "usage"   // tell what you have used
	orderSettle  = "settle"  // throw away what you do not need, then the same
	orderSample  = "sample"  // collect garbage, then tell all that you have
	orderProcs   = "procs"   // and a number: run on so many CPUs at once
	orderProfile = "profile" // and a file: write where the CPU's time goes there, until ordered to
	orderFinish  = "finish"  // end that
	orderMemory  = "memory"  // and a file: write where memory was allocated there
)

// answer is what a child says, when it is ready and to each order.
type answer struct {
	Event      string `json:"event"`            // ready or done
	Listen     string `json:"listen,omitempty"` // of ready
	CPU        int64  `json:"cpu,omitempty"`    // in nanoseconds
	Resident   int64  `json:"resident,omitempty"`
	Heap       int64  `json:"heap,omitempty"`
	Goroutines int    `json:"goroutines,omitempty"`
	Files      int    `json:"files,omitempty"`
	Procs      int    `json:"procs,omitempty"` // as it was before
	Error      string `json:"error,omitempty"`
}

// Leash takes the orders of the bench until its input ends, which is when the bench has
// ended, by any death. Then it removes a folder, if one is named, and ends the
// process: it does not return before. Other children may still be using that folder; their
// leashes end at the same time, so it tries for a while.
func Leash(orders io.Reader, answers io.Writer, folder string) {
	encoder := json.NewEncoder(answers)
	var s servant
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		if encoder.Encode(s.obey(lines.Text())) != nil {
			break // the bench does not listen any more
		}
	}
	if folder != "" {
		for tries := 0; os.RemoveAll(folder) != nil && tries < removeTries; tries++ {
			time.Sleep(removePause)
		}
	}
	os.Exit(0)
}

// How often, and with what pause, a folder is tried to be removed.
const (
	removeTries = 600
	removePause = 50 * time.Millisecond
)

// mostProcs bounds on how many CPUs an order may let a child run: the runtime makes room for
// each.
const mostProcs = 1024

// servant carries orders out.
type servant struct {
	profile *os.File // that is being written; nil without one
}

func (s *servant) obey(order string) answer {
	verb, rest, _ := strings.Cut(order, " ")
	a := answer{Event: "done"}
	var err error
	switch verb {
	case orderProcs:
		n, wrong := strconv.Atoi(rest)
		if wrong != nil || n < 1 || n > mostProcs {
			a.Error = fmt.Sprintf("order %q: want a number from 1 to %d", order, mostProcs)
			return a
		}
		a.Procs = runtime.GOMAXPROCS(n)
	case orderSettle:
		a.used(settled())
	case orderUsage:
		a.used(ownUsage(false))
	case orderSample:
		p := ownSample("")
		a.used(p.Usage)
		a.Goroutines, a.Files = p.Goroutines, p.Files
	case orderProfile:
		s.profile, err = StartProfile(rest)
	case orderFinish:
		err = FinishProfile(s.profile)
		s.profile = nil
	case orderMemory:
		err = WriteMemoryProfile(rest)
	default:
		a.Error = fmt.Sprintf("order %q is unknown", order)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (a *answer) used(u load.Usage) {
	a.CPU, a.Resident, a.Heap = int64(u.CPU), u.Resident, u.Heap
}

// settled is what this process has used when it has thrown away what it does not need.
func settled() load.Usage {
	debug.FreeOSMemory()
	return ownUsage(true)
}

// Own is what the bench's process has, with what is alive on its heap.
func Own() soak.Process { return ownSample("client") }

// ownSample is what this process has, with what is alive on its heap.
func ownSample(name string) soak.Process {
	runtime.GC()
	return soak.Process{Name: name, Usage: ownUsage(true), Goroutines: runtime.NumGoroutine(), Files: ownFiles()}
}

// The servers that are no members of a cluster, by the words after the command that makes
// this program a child.
const (
	EchoServer  = "echo"
	LimitServer = "limit"
)

// Serve is the server that the words name, on a free port of the loopback, until ctx ends.
// The limit server may be given the files of its certificate, its key and its authority:
// then it asks for a certificate of that authority. It says where it is as a child does.
func Serve(ctx context.Context, args []string, answers io.Writer) error {
	kind, files := args[0], args[1:]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if len(files) == 3 {
		encryption, err := mutual(files[0], files[1], files[2])
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		listener = tls.NewListener(listener, encryption)
	}
	if err := json.NewEncoder(answers).Encode(answer{Event: "ready", Listen: listener.Addr().String()}); err != nil {
		return errors.Join(fmt.Errorf("say where it is: %w", err), listener.Close())
	}
	if kind == LimitServer {
		return limit.NewServer(listener).Serve(ctx)
	}
	return echo(ctx, listener)
}

// echoBytes is how much is read, and answered, in one piece.
const echoBytes = 1 << 16

// echo answers each message of a ping-pong with itself, and those that have come together
// with one write.
func echo(ctx context.Context, listener net.Listener) error {
	var work sync.WaitGroup
	defer work.Wait()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })() // nothing is lost with it
	for {
		accepted, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = accepted.Close() // nothing is lost with it
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept a connection: %w", err)
		}
		work.Go(func() {
			defer accepted.Close()
			defer context.AfterFunc(ctx, func() { _ = accepted.Close() })() // nothing is lost with it
			read := make([]byte, echoBytes)
			for {
				n, err := accepted.Read(read)
				if err != nil {
					return // the other side has gone
				}
				if _, err := accepted.Write(read[:n]); err != nil {
					return
				}
			}
		})
	}
}
