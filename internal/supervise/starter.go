//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
)

// gate is where a starter waits, at the process that has started it.
type gate struct {
	order  pipe // to the starter: the command's environment lets it pass; on close it exits
	report pipe // from the starter: the reason of a failed execution; closed silently on success
}

// needsStarter reports whether a command must not run before its guardian knows its process. The guardian finds every
// other one by its mark and with the help of the kernel, and so it costs no process of its own.
func (c *Command) needsStarter(path string) bool {
	return !canMark || c.Mark == "" || gainsPrivileges(path) || wanted(c.Stdin, c.Stdout)
}

// startStarter starts a starter at a gate.
func startStarter(c *Command, path string) (process int, g *gate, err error) {
	g = &gate{}
	if err = openPipes(&g.order, &g.report); err != nil {
		return 0, nil, err
	}
	files := commandFiles(c)
	orderAt, reportAt := len(files), len(files)+1
	files = append(files, g.order.r.Fd(), g.report.w.Fd())
	args := append([]string{starterName, strconv.Itoa(orderAt), strconv.Itoa(reportAt), path}, c.Args...)
	process, err = fork(args, os.Environ(), files)
	_, _ = g.order.r.Close(), g.report.w.Close() // the reader must see the end when the starter exits
	if err == nil {
		return process, g, nil
	}
	g.close()
	// An argument list that is too long for the command fails here.
	if errors.Is(err, syscall.E2BIG) {
		return 0, nil, notRunnable(c.Args[0], path, err)
	}
	return 0, nil, fmt.Errorf("start the command: %w", err)
}

// open lets the starter pass, with the command's environment, and returns what the execution said: nothing if it has
// succeeded, or if the starter was killed.
func (g *gate) open(env []string) (report []byte, err error) {
	// A starter that was killed, for example by a guardian at its deadline, is handled like a command that was.
	_, err = g.order.w.Write(encodeLists(env))
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	if report, err = io.ReadAll(g.report.r); err != nil {
		return nil, fmt.Errorf("wait for the command: %w", err)
	}
	return report, nil
}

// close closes the ends that belong to this process.
func (g *gate) close() {
	if g != nil {
		_, _ = g.order.w.Close(), g.report.r.Close() // nothing to flush
	}
}

// become waits at the gate and execs the command in this process's place.
func become(args []string) {
	if len(args) < 4 {
		return
	}
	gateAt, noGate := strconv.Atoi(args[0])
	reportAt, noReport := strconv.Atoi(args[1])
	if noGate != nil || noReport != nil {
		return
	}
	path, command := args[2], args[3:]
	runtime.LockOSThread() // the thread that sets the parent-death signal must be the one that execs
	parent := os.Getppid()
	syscall.CloseOnExec(gateAt)
	syscall.CloseOnExec(reportAt)
	endBySignal()

	lists, err := readLists(os.NewFile(uintptr(gateAt), "gate"), 1)
	if err != nil {
		os.Exit(0) // the caller is gone or has changed its mind
	}
	if !dieWithParent(parent) {
		os.Exit(0)
	}
	err = syscall.Exec(path, command, lists[0])
	var number syscall.Errno
	if !errors.As(err, &number) {
		number = syscall.EINVAL // an argument or variable with a NUL in it
	}
	// A caller that cannot be reached is gone.
	_, _ = os.NewFile(uintptr(reportAt), "report").WriteString(strconv.Itoa(int(number)))
	os.Exit(StatusNotExecutable)
}

// endBySignal makes signals end the starter as they would the command. Go's own handlers print a trace on QUIT and drop
// USR1 and USR2; the other signals end a Go program like any other, and an ignored INT or HUP must stay ignored.
func endBySignal() {
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { os.Exit(SignalStatus(<-arrived)) }()
}
