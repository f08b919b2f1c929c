//go:build unix

package supervise

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
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

	env, err := readEnvironment(os.NewFile(uintptr(gateAt), "gate"))
	if err != nil {
		os.Exit(0) // the caller is gone or has changed its mind
	}
	if !dieWithParent(parent) {
		os.Exit(0)
	}
	err = syscall.Exec(path, command, env)
	var number syscall.Errno
	if !errors.As(err, &number) {
		number = syscall.EINVAL // an argument or variable with a NUL in it
	}
	// A caller that cannot be reached is gone.
	_, _ = os.NewFile(uintptr(reportAt), "report").WriteString(strconv.Itoa(int(number)))
	os.Exit(StatusNotExecutable)
}

// An environment passes the gate as its length in bytes, eight bytes little endian, and its entries, each with a zero byte
// behind it.

func encodeEnvironment(env []string) []byte {
	length := 0
	for _, entry := range env {
		length += len(entry) + 1
	}
	message := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+length), uint64(length))
	for _, entry := range env {
		message = append(append(message, entry...), 0)
	}
	return message
}

func readEnvironment(gate io.Reader) (env []string, err error) {
	var head [8]byte
	if _, err := io.ReadFull(gate, head[:]); err != nil {
		return nil, err
	}
	var rest strings.Builder
	if _, err := io.CopyN(&rest, gate, int64(binary.LittleEndian.Uint64(head[:]))); err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(rest.String(), "\x00") {
		env = append(env, entry)
	}
	return env[:len(env)-1], nil
}

// endBySignal makes signals end the starter as they would the command. Go's own handlers print a trace on QUIT and drop
// USR1 and USR2; the other signals end a Go program like any other, and an ignored INT or HUP must stay ignored.
func endBySignal() {
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { os.Exit(SignalStatus(<-arrived)) }()
}
