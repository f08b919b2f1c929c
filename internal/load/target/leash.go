package target

import (
	"bufio"
	"context"
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

	"github.com/holdfast-locks/holdfast/internal/load/limit"
)

// The orders that a child takes on its standard input, one a line. Each is answered with
// one answer, a JSON object a line, on its standard output.
const (
	orderUsage  = "usage"  // tell what you have used
	orderSettle = "settle" // throw away what you do not need, then the same
	orderProcs  = "procs"  // and a number: run on so many CPUs at once
)

// answer is what a child says, when it is ready and to each order.
type answer struct {
	Event    string `json:"event"`            // ready or done
	Listen   string `json:"listen,omitempty"` // of ready
	CPU      int64  `json:"cpu,omitempty"`    // in nanoseconds
	Resident int64  `json:"resident,omitempty"`
	Heap     int64  `json:"heap,omitempty"`
	Procs    int    `json:"procs,omitempty"` // as it was before
	Error    string `json:"error,omitempty"`
}

// Leash takes the orders of the bench until its input ends, which is when the bench has
// ended, by whatever death. Then it removes a folder, if one is named, and ends the
// process: it does not return before. Other children may still be using that folder; their
// leashes end at the same time, so it tries for a while.
func Leash(orders io.Reader, answers io.Writer, folder string) {
	encoder := json.NewEncoder(answers)
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		if encoder.Encode(obey(lines.Text())) != nil {
			break // nobody listens any more
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
	removeTries = 40
	removePause = 50 * time.Millisecond
)

func obey(order string) answer {
	word, number, _ := strings.Cut(order, " ")
	a := answer{Event: "done"}
	switch word {
	case orderProcs:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			a.Error = fmt.Sprintf("order %q: want a number from 1", order)
			return a
		}
		a.Procs = runtime.GOMAXPROCS(n)
	case orderSettle:
		debug.FreeOSMemory()
		fallthrough
	case orderUsage:
		used := ownUsage(word == orderSettle)
		a.CPU, a.Resident, a.Heap = int64(used.CPU), used.Resident, used.Heap
	default:
		a.Error = fmt.Sprintf("order %q is unknown", order)
	}
	return a
}

// The servers that are no members of a cluster, by the words after the command that makes
// this program a child.
const (
	EchoServer  = "echo"
	LimitServer = "limit"
)

// Serve is a server of that kind, on a free port of the loopback, until ctx ends. It says
// where it is as a child does.
func Serve(ctx context.Context, kind string, answers io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := json.NewEncoder(answers).Encode(answer{Event: "ready", Listen: listener.Addr().String()}); err != nil {
		return errors.Join(fmt.Errorf("say where it is: %w", err), listener.Close())
	}
	if kind == LimitServer {
		return limit.NewServer(listener).Serve(ctx)
	}
	return echo(ctx, listener)
}

// echo answers each message of a ping-pong with itself.
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
			message := make([]byte, messageBytes)
			for {
				if _, err := io.ReadFull(accepted, message); err != nil {
					return // the other side has gone
				}
				if _, err := accepted.Write(message); err != nil {
					return
				}
			}
		})
	}
}
