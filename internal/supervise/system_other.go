//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The requests that read and, once output has drained, set a terminal's modes.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETAW
)

// continued: not every such system reports that a command was continued, so it is
// asked for on none. A command that another process continued is then taken for stopped
// until its end: it may get a SIGCONT too many.
const continued = 0

// openGroup returns the group led by a process that is known to exist.
func openGroup(id int) group { return group{id: id} }

// signal sends sig to every process of the group; ESRCH says that there is none.
func (g group) signal(sig syscall.Signal) error { return syscall.Kill(-g.id, sig) }

// members does not know: this system has no /proc to read.
func (g group) members() (members []member, known bool) { return nil, false }

// childrenOf does not know either.
func childrenOf(int) []member { return nil }

// adoptOrphans is not offered by this system.
func adoptOrphans() bool { return false }

// marked finds no process: this system does not show environments.
func marked(string) []int { return nil }

// dieWithParent is the guardian's work alone on this system.
func dieWithParent(int) bool { return true }

// OwnProgram returns what to execute for this very program, even after its file was
// replaced or removed, where the system can tell; this one cannot.
func OwnProgram() (string, error) { return os.Executable() }

// rename is not offered by this system.
func rename(string) {}
