package supervise

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// isInit reports whether this process is the first one of its container: the kernel makes it the parent of every
// process there whose own parent ends.
var isInit = os.Getpid() == 1

// The first thread must belong to the goroutine that runs main, before any other can start a process from it.
func init() { //nolint:gochecknoinits // see above
	if isInit {
		runtime.LockOSThread()
	}
}

// Main runs a program's own main function and exits with its status. It must be called by the goroutine of main. If
// this process is the first one of a container (process 1), it also reaps strangers: processes that others have left
// behind, and that would stay as zombies.
//
// It never takes the status of a child that this program has started itself. The kernel gives strangers to the first
// thread, and Wait4 with WNOTHREAD sees the children of the calling thread only. That thread starts no process: it
// belongs to this function. There is no list of the program's own children, which could be out of date for an instant.
func Main(run func() int) {
	if isInit {
		children := make(chan os.Signal, 1)
		signal.Notify(children, syscall.SIGCHLD)
		go runAndExit(run)
		for {
			reapStrangers()
			<-children
		}
	}
	runAndExit(run)
}

// reapStrangers reaps all of this thread's children that have ended.
func reapStrangers() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG|unix.WNOTHREAD, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return // the others live, or there is none
		}
	}
}
