package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// Config configures how a harness starts its children.
type Config struct {
	// Child is the command that runs this program as a child, followed by a folder to remove at the end, or "-", and
	// its role: "echo", "limit", or serve and its flags.
	Child []string
	// CPUProfile and MemoryProfile are files for profiles of each member and limit server over its whole life, with its
	// name appended: FILE.remote, FILE.limit, and FILE.remote-2 when it is started again. Empty means none.
	CPUProfile, MemoryProfile string
	// Delay is the additional delay of each message between the members of targets that are all in this process; see
	// [Delayed]. Zero means none beyond the loopback's.
	Delay time.Duration
	// Unpinned leaves every process on all CPUs, even with one worker.
	Unpinned bool
}

// Harness is the environment of one run of the bench. It is a [load.Machine].
type Harness struct {
	config   Config
	folder   string
	echo     *child
	pinger   *pinger
	mine     cpus
	started  int
	lives    map[string]int      // starts of each server name
	clusters map[string]*cluster // by protocol
	material *material           // nil until needed
}

// Names lists the targets, in the order of measurement.
func Names() []string {
	return append([]string{
		"raw", "limit", "limit-queued", "limit-tls", "local", "local-grantor", "remote", "remote-tls", Policed,
		"central", "central-member", replicated, replicated + "-member", grantors, grantors + "-member", grantors + "-own", grantors + "-kept",
	}, spreadNames()...)
}

// Rare returns the targets that are measured only if named.
func Rare() []string {
	return append([]string{"limit-queued", "limit-tls", "local-grantor", Policed, replicated, replicated + "-member", grantors, grantors + "-member", grantors + "-own", grantors + "-kept"},
		spreadNames()...)
}

// Usual returns the targets measured by default.
func Usual() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(Rare(), name) })
}

// NewHarness makes a folder and starts the echo server.
func NewHarness(ctx context.Context, c Config) (*Harness, error) {
	b := &Harness{config: c, lives: map[string]int{}}
	var err error
	if b.mine, err = ownCPUs(); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if err := b.listen(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// listen starts the echo server and connects to it.
func (b *Harness) listen(ctx context.Context) (err error) {
	if b.echo, err = startChild("the echo server", slices.Concat(b.config.Child, []string{b.folder, EchoServer})); err != nil {
		return err
	}
	if err := b.echo.awaitReady(ctx); err != nil {
		return err
	}
	b.pinger, err = dialPinger(ctx, b.echo.listen)
	return err
}

// start starts a child that removes nothing: the echo server does that. Its profiles, if any, have the given name.
func (b *Harness) start(who, name string, args ...string) (*child, error) {
	c, err := startChild(who, slices.Concat(b.config.Child, []string{"-"}, args))
	if err != nil {
		return nil, err
	}
	if b.lives[name]++; b.lives[name] > 1 {
		name += "-" + strconv.Itoa(b.lives[name])
	}
	if file := b.config.CPUProfile; file != "" {
		c.cpuProfile = file + "." + name
	}
	if file := b.config.MemoryProfile; file != "" {
		c.memoryProfile = file + "." + name
	}
	return c, nil
}

// fresh returns the path of a folder that does not exist yet.
func (b *Harness) fresh(name string) string {
	b.started++
	return filepath.Join(b.folder, name+"-"+strconv.Itoa(b.started))
}

// Close ends the echo server and removes the folder. The targets must have been stopped.
func (b *Harness) Close() error {
	var errs []error
	if b.pinger != nil {
		errs = append(errs, b.pinger.Close())
	}
	if b.echo != nil {
		errs = append(errs, b.echo.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.folder))...)
}

// Targets returns those with the given names, in the order of [Names].
func (b *Harness) Targets(names []string) ([]load.Target, error) {
	if b.clusters == nil {
		b.clusters = map[string]*cluster{}
		for _, protocol := range []string{"central", grantors, replicated} {
			b.clusters[protocol] = &cluster{servers: servers{harness: b}, protocol: protocol}
		}
	}
	alone := servers{harness: b}
	makers := map[string]func() load.Target{
		"raw":           func() load.Target { return &raw{harness: b} },
		"limit":         func() load.Target { return &limited{servers: alone, name: "limit"} },
		"limit-queued":  func() load.Target { return &limited{servers: alone, name: "limit-queued", queued: true} },
		"limit-tls":     func() load.Target { return &limited{servers: alone, name: "limit-tls", encrypted: true} },
		"local":         func() load.Target { return &local{protocol: "central"} },
		"local-grantor": func() load.Target { return &local{protocol: grantors} },
		"remote":        func() load.Target { return &remote{servers: alone} },
		"remote-tls":    func() load.Target { return &remote{servers: alone, encrypted: true} },
		Policed:         func() load.Target { return &remote{servers: alone, policed: true} },
		"grantor-own":   func() load.Target { return &own{servers: alone} },
		"grantor-kept":  func() load.Target { return &own{servers: alone, kept: true} },
	}
	for protocol, c := range b.clusters {
		makers[protocol] = func() load.Target { return &three{c, true} }
		makers[protocol+"-member"] = func() load.Target { return &three{c, false} }
	}
	for _, count := range sizes() {
		for _, t := range b.spreads(count) {
			makers[t.Name()] = func() load.Target { return t }
		}
	}
	for _, name := range names {
		if makers[name] == nil {
			return nil, fmt.Errorf("%q is no target; %s are", name, strings.Join(Names(), ", "))
		}
	}
	var targets []load.Target
	for _, name := range Names() {
		if slices.Contains(names, name) {
			targets = append(targets, makers[name]())
		}
	}
	return targets, nil
}

// Pins reports whether this system can pin processes to one CPU.
func Pins() bool { return canPin }

// CPU returns this process's CPU time.
func (b *Harness) CPU() time.Duration { return ownCPU() }

// Ping measures ping-pongs for about d.
func (b *Harness) Ping(ctx context.Context, d time.Duration) (time.Duration, error) {
	var times load.Histogram
	for begun := time.Now(); times.Count() == 0 || time.Since(begun) < d; {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		start := time.Now()
		if err := b.pinger.ping(); err != nil {
			return 0, err
		}
		times.Record(time.Since(start))
	}
	return times.Quantile(0.5), nil
}

// Hosted is a target with third-party servers.
type Hosted interface {
	// Processes returns the servers' current processes.
	Processes() ([]int, error)
}

// Share pins this process, the echo server and a target's servers to one CPU.
func (b *Harness) Share(ctx context.Context, t load.Target) (restore func() error, err error) {
	if !canPin || b.config.Unpinned {
		return func() error { return nil }, nil
	}
	sharing := []*child{b.echo}
	if with, ok := t.(interface{ children() []*child }); ok {
		sharing = append(sharing, with.children()...)
	}
	var undo []func() error
	restore = func() error {
		var errs []error
		for _, step := range slices.Backward(undo) {
			errs = append(errs, step())
		}
		return errors.Join(errs...)
	}
	one := lastOf(b.mine)
	for _, c := range sharing {
		before, err := c.procs(ctx, 1)
		if err != nil {
			return nil, errors.Join(err, restore())
		}
		undo = append(undo, func() error {
			// The run may have ended, and this must be done all the same.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
			defer cancel()
			_, err := c.procs(ctx, before)
			return errors.Join(err, pin(c.cmd.Process.Pid, b.mine))
		})
		if err := pin(c.cmd.Process.Pid, one); err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	if with, ok := t.(Hosted); ok {
		undo = append(undo, func() error { return pinAll(with, b.mine) })
		if err := pinAll(with, one); err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	before := runtime.GOMAXPROCS(1)
	undo = append(undo, func() error {
		runtime.GOMAXPROCS(before)
		return pin(os.Getpid(), b.mine)
	})
	if err := pin(os.Getpid(), one); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// pinAll pins a target's processes to these CPUs. Their children inherit that.
func pinAll(t Hosted, to cpus) error {
	processes, err := t.Processes()
	if err != nil {
		return err
	}
	for _, process := range processes {
		if err := pin(process, to); err != nil && !errors.Is(err, fs.ErrNotExist) { // it has ended
			return err
		}
	}
	return nil
}

// Here is the machine of a bench whose servers run elsewhere: processes are not pinned, and there is no echo server.
type Here struct{}

// CPU returns this process's CPU time.
func (Here) CPU() time.Duration { return ownCPU() }

// Ping measures nothing.
func (Here) Ping(context.Context, time.Duration) (time.Duration, error) { return 0, nil }

// Share changes nothing.
func (Here) Share(context.Context, load.Target) (func() error, error) {
	return func() error { return nil }, nil
}

// messageBytes is the size of a message of a ping-pong.
const messageBytes = 64

// pinger is one side of ping-pongs.
type pinger struct {
	net.Conn
	message [messageBytes]byte
}

func dialPinger(ctx context.Context, address string) (*pinger, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the echo server: %w", err)
	}
	return &pinger{Conn: connection}, nil
}
