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

// order is what a starter needs to become a command.
type order struct {
	path      string
	args, env []string
	files     []uintptr // that the command inherits, besides the first three
}

func (o order) encode() []byte {
	var files []string
	for _, file := range o.files {
		files = append(files, strconv.FormatUint(uint64(file), 10))
	}
	return encodeLists([]string{o.path}, o.args, o.env, files)
}

func readOrder(from io.Reader) (o order, err error) {
	lists, err := readLists(from, 4)
	if err != nil {
		return o, err
	}
	if len(lists[0]) != 1 {
		return o, errNoMessage
	}
	o = order{path: lists[0][0], args: lists[1], env: lists[2]}
	for _, word := range lists[3] {
		file, err := strconv.ParseUint(word, 10, strconv.IntSize)
		if err != nil {
			return o, err
		}
		o.files = append(o.files, uintptr(file))
	}
	return o, nil
}

// become waits at the gate and execs the command in this process's place.
func become(args []string) {
	if len(args) != 2 {
		return
	}
	gateAt, noGate := strconv.Atoi(args[0])
	reportAt, noReport := strconv.Atoi(args[1])
	if noGate != nil || noReport != nil {
		return
	}
	runtime.LockOSThread() // the thread that sets the parent-death signal must be the one that execs
	parent := os.Getppid()
	endBySignal()

	order, err := readOrder(os.NewFile(uintptr(gateAt), "gate"))
	if err != nil {
		os.Exit(0) // the caller is gone or has changed its mind
	}
	keepOnly(order.files)
	syscall.CloseOnExec(gateAt)
	syscall.CloseOnExec(reportAt)
	if !dieWithParent(parent) {
		os.Exit(0)
	}
	err = syscall.Exec(order.path, order.args, order.env)
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
