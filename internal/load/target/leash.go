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

// The orders that a child accepts on its standard input, one a line. Each has one answer, a JSON object a line, on its
// standard output.
const (
	orderUsage   = "usage"   // report resource usage
	orderSettle  = "settle"  // collect garbage, then report usage
	orderSample  = "sample"  // collect garbage, then report all figures
	orderProcs   = "procs"   // and a number: set the number of CPUs
	orderProfile = "profile" // and a file: write a CPU profile there, until
	orderFinish  = "finish"  // this order
	orderMemory  = "memory"  // and a file: write a memory profile there
)

// answer is a child's message, when it is ready and to each order.
type answer struct {
	Event      string `json:"event"`            // ready or done
	Listen     string `json:"listen,omitempty"` // of ready
	CPU        int64  `json:"cpu,omitempty"`    // in nanoseconds
	Resident   int64  `json:"resident,omitempty"`
	Heap       int64  `json:"heap,omitempty"`
	Goroutines int    `json:"goroutines,omitempty"`
	Files      int    `json:"files,omitempty"`
	Procs      int    `json:"procs,omitempty"` // the former limit
	Error      string `json:"error,omitempty"`
}

// Leash executes the bench's orders until its input ends, which is when the bench has ended, in any way. Then it
// removes a folder, if one is given, and ends the process: it does not return before. Other children may still be using
// that folder; their leashes end at the same time, so it retries for a while.
func Leash(orders io.Reader, answers io.Writer, folder string) {
	encoder := json.NewEncoder(answers)
	var s servant
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		if encoder.Encode(s.obey(lines.Text())) != nil {
			break // the bench no longer reads
		}
	}
	if folder != "" {
		for tries := 0; os.RemoveAll(folder) != nil && tries < removeTries; tries++ {
			time.Sleep(removePause)
		}
	}
	os.Exit(0)
}

// How often, and with what pause, to retry the removal of a folder.
const (
	removeTries = 600
	removePause = 50 * time.Millisecond
)

// mostProcs bounds the CPUs in an order: the runtime allocates for each.
const mostProcs = 1024

// servant executes orders.
type servant struct {
	profile *os.File // the one being written; nil for none
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

// settled returns this process's usage after a collection.
func settled() load.Usage {
	debug.FreeOSMemory()
	return ownUsage(true)
}

// Own returns the state of the bench's process, with its live heap.
func Own() soak.Process { return ownSample("client") }

// ownSample returns this process's state, with its live heap.
func ownSample(name string) soak.Process {
	runtime.GC()
	return soak.Process{Name: name, Usage: ownUsage(true), Goroutines: runtime.NumGoroutine(), Files: ownFiles()}
}

// The servers other than members, as arguments of the child's command.
const (
	EchoServer  = "echo"
	LimitServer = "limit"
)

// Serve runs the server in args, on a free port of the loopback, until ctx ends. The limit server may be given the
// files of its certificate, its key and its authority: then it requires a certificate of that authority. It reports its
// address as a child does.
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

// echoBytes is the maximum that is read, and answered, at once.
const echoBytes = 1 << 16

// echo returns each message of a ping-pong, and those that arrived together with one write.
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
