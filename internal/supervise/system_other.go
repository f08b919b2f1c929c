//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The requests that read and, once output has drained, set a terminal's modes.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETAW
)

// continued: not every such system reports that a command was continued, so none is asked. A command continued by
// another process is then considered stopped until its end: it may get an extra SIGCONT.
const continued = 0

// openGroup returns the group led by a process known to exist.
func openGroup(id int) group { return group{id: id} }

// signal sends sig to every process of the group; ESRCH means that there is none.
func (g group) signal(sig syscall.Signal) error {
	if g.id == 0 {
		return syscall.ESRCH
	}
	return syscall.Kill(-g.id, sig)
}

// members is not supported: this system has no /proc.
func (g group) members() (members []member, known bool) { return nil, false }

// childrenOf is not supported either.
func childrenOf(int) []member { return nil }

// adoptOrphans is not supported by this system.
func adoptOrphans() bool { return false }

// canMark says that marked does not find processes. So every command needs a starter.
const canMark = false

func forkCommand(string, []string, []string, []uintptr) (int, error) { return 0, syscall.ENOSYS }

func gainsPrivileges(string) bool { return true }

// marked finds no process: this system does not show environments.
func marked(string) []int { return nil }

// dieWithParent does nothing: on this system only the guardian does this.
func dieWithParent(int) bool { return true }

// OwnProgram returns the path for executing this same program; this system cannot find it after its file was replaced
// or removed.
func OwnProgram() (string, error) { return os.Executable() }

// rename is not supported by this system.
func rename(string) {}

// caller is the process that has started this one. It has no use here: the guardian knows every command before it runs.
type caller struct{}

func openCaller() caller { return caller{} }

func (caller) kill() {}

func (caller) gone(time.Duration) bool { return true }
