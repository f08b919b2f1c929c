//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"slices"
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
	gate   pipe // caller to starter: its order lets it pass; on close it exits
	report pipe // starter to caller: the reason of a failed execution; closed silently on success
	ready  pipe // guardian to caller: one byte
	will   pipe // caller to the guardian's heir: its input

	// leash is how the guardian learns of its task, of the deadlines, and of the caller's end. It is a socket, because a
	// pipe passes no open files.
	leash leash
	neck  *os.File // the guardian's end of it
}

func openLines() (*lines, error) {
	l := &lines{}
	var opened []pipe
	fail := func(err error) (*lines, error) {
		for _, p := range opened {
			p.close()
		}
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	for _, p := range []*pipe{&l.gate, &l.report, &l.ready, &l.will} {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		*p = pipe{r, w}
		opened = append(opened, *p)
	}
	ends, err := socketPair()
	if err != nil {
		return fail(err)
	}
	l.leash, l.neck = leash{os.NewFile(uintptr(ends[0]), "leash")}, os.NewFile(uintptr(ends[1]), "neck")
	return l, nil
}

// socketPair returns two sockets that are connected to each other. Both are close-on-exec, and the first one does not
// block.
func socketPair() (ends [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if ends, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return ends, err
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	if err = unix.SetNonblock(ends[0], true); err != nil {
		return ends, errors.Join(err, unix.Close(ends[0]), unix.Close(ends[1]))
	}
	return ends, nil
}

// closeStarted closes the ends that belong to the started processes; a reader must see the end when its writer exits.
func (l *lines) closeStarted() {
	for _, file := range []*os.File{l.gate.r, l.report.w, l.neck, l.ready.w, l.will.r} {
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

// keepOnly marks the descriptors from 3 up, those in the list excepted, to be closed by an exec.
func keepOnly(list []uintptr) {
	for n := uintptr(3); n < inheritedLimit; n++ {
		if !slices.Contains(list, n) {
			unix.CloseOnExec(int(n)) // most are not open
		}
	}
}

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

// guardianFiles keeps none of the user's files open.
func guardianFiles(null *os.File, l *lines) []uintptr {
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), l.neck.Fd(), l.ready.w.Fd(), l.will.r.Fd()}
	for range inherited() {
		files = append(files, closed)
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
