//go:build unix

package supervise

import (
	"errors"
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

// lines are between caller and guardian.
type lines struct {
	ready pipe // guardian to caller: one byte
	will  pipe // caller to the guardian's heir: its input

	// leash is how the guardian learns of its task, of the command's group, of the deadlines, and of the caller's end. It
	// is a socket, because a pipe passes no open files.
	leash leash
	neck  *os.File // the guardian's end of it
}

func openLines() (*lines, error) {
	l := &lines{}
	if err := openPipes(&l.ready, &l.will); err != nil {
		return nil, err
	}
	ends, err := socketPair()
	if err != nil {
		l.ready.close()
		l.will.close()
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	l.leash, l.neck = leash{os.NewFile(uintptr(ends[0]), "leash")}, os.NewFile(uintptr(ends[1]), "neck")
	return l, nil
}

// openPipes opens all pipes, or none.
func openPipes(pipes ...*pipe) error {
	for i, p := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pipes[:i] {
				p.close()
			}
			return fmt.Errorf("open a pipe: %w", err)
		}
		*p = pipe{r, w}
	}
	return nil
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

// closeTheirs closes the ends that belong to the guardian; a reader must see the end when its writer exits.
func (l *lines) closeTheirs() {
	for _, file := range []*os.File{l.neck, l.ready.w, l.will.r} {
		_ = file.Close() // nothing to flush
	}
}

// closeOwn closes the ends that belong to the caller, except the leash.
func (l *lines) closeOwn() {
	for _, file := range []*os.File{l.ready.r, l.will.w} {
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

// commandFiles returns the files of a command.
func commandFiles(c *Command) []uintptr {
	return append([]uintptr{c.Stdin.Fd(), c.Stdout.Fd(), c.Stderr.Fd()}, inherited()...)
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
