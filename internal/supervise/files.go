//go:build unix

package supervise

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe is a pipe between two processes. Both ends are close-on-exec.
type pipe struct{ r, w *os.File }

func (p pipe) close() {
	// Ends may be closed already, and there is nothing to flush.
	_ = p.r.Close()
	_ = p.w.Close()
}

// lines are the pipes between caller, starter and guardian.
type lines struct {
	gate   pipe // caller to starter: the environment lets it pass; on close it exits
	report pipe // starter to caller: the reason of a failed execution; closed silently on success
	leash  pipe // caller to guardian: deadlines; it ends when the caller does
	ready  pipe // guardian to caller: one byte
	will   pipe // caller to the guardian's heir: its input
}

func openLines() (*lines, error) {
	l := &lines{}
	var opened []pipe
	for _, p := range []*pipe{&l.gate, &l.report, &l.leash, &l.ready, &l.will} {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range opened {
				p.close()
			}
			return nil, fmt.Errorf("open a pipe: %w", err)
		}
		*p = pipe{r, w}
		opened = append(opened, *p)
	}
	return l, nil
}

// closeStarted closes the ends that belong to the started processes; a reader must see the end when its writer exits.
func (l *lines) closeStarted() {
	for _, file := range []*os.File{l.gate.r, l.report.w, l.leash.r, l.ready.w, l.will.r} {
		_ = file.Close() // nothing to flush
	}
}

// closeOwn closes the ends that belong to the caller, except the leash.
func (l *lines) closeOwn() {
	for _, file := range []*os.File{l.gate.w, l.report.r, l.ready.r, l.will.w} {
		_ = file.Close() // nothing to flush
	}
}

// closed marks a descriptor that the new process must not have.
const closed = ^uintptr(0)

// inheritedLimit is one more than the highest descriptor examined. A higher one passes on to the command by itself.
const inheritedLimit = 256

// inherited returns the descriptors from 3 up that would survive an exec, and closed for the others.
func inherited() []uintptr {
	var files []uintptr
	last := 0
	for n := 3; n < inheritedLimit; n++ {
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			files = append(files, closed)
			continue
		}
		files = append(files, uintptr(n))
		last = len(files)
	}
	return files[:last]
}

// starterFiles returns the files of the command, followed by the starter's own two.
func starterFiles(stdin, stdout, stderr *os.File, l *lines) (files []uintptr, gate, report int) {
	files = []uintptr{stdin.Fd(), stdout.Fd(), stderr.Fd()}
	files = append(files, inherited()...)
	gate, report = len(files), len(files)+1
	return append(files, l.gate.r.Fd(), l.report.w.Fd()), gate, report
}

// The guardian's own files.
const (
	guardianLeash = 3
	guardianReady = 4
	guardianWill  = 5
)

// guardianFiles keeps none of the user's files open but those of Command.Keep.
func guardianFiles(null *os.File, l *lines, keep []*os.File) []uintptr {
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), l.leash.r.Fd(), l.ready.w.Fd(), l.will.r.Fd()}
	for range inherited() {
		files = append(files, closed)
	}
	for _, file := range keep {
		files = append(files, file.Fd())
	}
	return files
}

// fork starts this program again in its own process group.
func fork(args, env []string, files []uintptr) (pid int, err error) {
	program, err := OwnProgram()
	if err != nil {
		return 0, fmt.Errorf("find this program's own file: %w", err)
	}
	return syscall.ForkExec(program, args, &syscall.ProcAttr{
		Env:   env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
}
