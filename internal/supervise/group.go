//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// group is the process group of a command.
type group struct {
	id     int
	handle *os.File // a pidfd of the leader; nil where there is none
	caller int      // who adopts what the command leaves running; 0 for no process
	except []int    // children of the caller that are not the command's
}

// alive reports whether a process of the group is left. What has ended and was not
// yet collected by its parent does not count, where the system tells.
func (g group) alive() bool {
	if g.caller == 0 && errors.Is(g.signal(0), syscall.ESRCH) {
		return false
	}
	members, known := g.members()
	return !known || len(members) > 0
}

// signalAll is signal for what has left the group, too.
func (g group) signalAll(sig syscall.Signal) error {
	err := g.signal(sig)
	members, _ := g.members()
	for _, m := range members {
		if m.group != g.id {
			_ = syscall.Kill(m.id, sig) // it may have ended just now; what is not ours to signal is found alive
		}
	}
	return err
}

// member is a process of a group, or one that the command has started.
type member struct {
	id     int
	parent int
	group  int
	ended  bool // and was not yet collected by its parent
	name   string
	user   int  // whose it is
	deaf   bool // the kernel waits for a device or a file system on its behalf
}

// survivors says which processes of the group are left, and why they could not be killed,
// where the system tells.
func (g group) survivors() string {
	members, _ := g.members()
	var said []string
	for _, m := range members {
		why := "has not ended yet"
		switch ours := os.Geteuid(); {
		case m.deaf:
			why = "waits for a device or a file system"
		case m.user != ours && ours != 0:
			why = fmt.Sprintf("runs as user %d, and user %d may not kill it", m.user, ours)
		}
		said = append(said, fmt.Sprintf("process %d (%s) %s", m.id, m.name, why))
	}
	return strings.Join(said, ", ")
}

const (
	look  = 5 * time.Millisecond // between two looks for what is left of a group
	dying = time.Second          // how long after KILL a process may still be there
)

// emptied waits until no process of the group is left, and reports whether that
// came before the limit. Unix has no event for it, hence the looking. With kill, each look
// kills what was started since the last one.
func (g group) emptied(limit <-chan time.Time, kill bool) bool {
	again := time.NewTicker(look)
	defer again.Stop()
	for g.alive() {
		select {
		case <-again.C:
			if kill {
				_ = g.signalAll(syscall.SIGKILL) // what is left is looked for next
			}
		case <-limit:
			return !g.alive()
		}
	}
	return true
}
