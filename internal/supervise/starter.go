//go:build unix

package supervise

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
)

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

	gate := os.NewFile(uintptr(gateAt), "gate")
	if _, err := io.ReadFull(gate, make([]byte, 1)); err != nil {
		os.Exit(0) // the caller is gone or has changed its mind
	}
	if !dieWithParent(parent) {
		os.Exit(0)
	}
	err := syscall.Exec(path, command, os.Environ())
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
