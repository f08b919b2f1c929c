//go:build unix

package supervise

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// group is the process group of a command.
type group struct {
	id     int
	handle *os.File // a pidfd of the leader; nil where there is none
}

// alive reports whether a process of the group is left. What has ended and was not
// yet collected by its parent does not count, where the system tells.
func (g group) alive() bool {
	if errors.Is(g.signal(0), syscall.ESRCH) {
		return false
	}
	members, known := membersOf(g.id)
	return !known || members > 0
}

const (
	look  = 5 * time.Millisecond // between two looks for what is left of a group
	dying = time.Second          // how long after KILL a process may still be there
)

// emptied waits until no process of the group is left, and reports whether that
// came before the limit. Unix has no event for it, hence the looking.
func (g group) emptied(limit <-chan time.Time) bool {
	again := time.NewTicker(look)
	defer again.Stop()
	for g.alive() {
		select {
		case <-again.C:
		case <-limit:
			return !g.alive()
		}
	}
	return true
}
