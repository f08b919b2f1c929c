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
	id     int      // 0 before it is known: then it has no process
	handle *os.File // a pidfd of the leader; nil if unavailable
	caller int      // the process that adopts what the command leaves running; 0 for none
	except []int    // children of the caller that do not belong to the command
}

// alive reports whether a process of the group is left. Zombies do not count, if the system reports them.
func (g group) alive() bool {
	if g.caller == 0 && errors.Is(g.signal(0), syscall.ESRCH) {
		return false
	}
	members, known := g.members()
	return !known || len(members) > 0
}

// signalAll is signal, including processes that have left the group.
func (g group) signalAll(sig syscall.Signal) error {
	err := g.signal(sig)
	members, _ := g.members()
	for _, m := range members {
		if m.group != g.id {
			_ = syscall.Kill(m.id, sig) // it may have ended just now; one that we may not signal is found alive
		}
	}
	return err
}

// member is a process of a group, or one started by the command.
type member struct {
	id     int
	parent int
	group  int
	ended  bool // a zombie
	name   string
	user   int  // its owner
	deaf   bool // the kernel waits for a device or a file system on its behalf
}

// survivors describes which processes of the group are left, and why they could not be killed, if the system reports
// that.
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
	look  = 5 * time.Millisecond // interval of checks for remaining processes of a group
	dying = time.Second          // how long a process may survive KILL
)

// kill sends KILL to the group, and to what has left it and has the mark, and reports whether it has found a process
// that had not ended.
func (g group) kill(mark string) (found bool) {
	found = g.alive()
	_ = g.signalAll(syscall.SIGKILL) // no process may be left, or one that we may not kill
	for _, left := range marked(mark) {
		found = true
		_ = syscall.Kill(left, syscall.SIGKILL) // likewise
	}
	return found
}

// killed kills until no process is found, and reports whether that came before the limit. It takes two looks in a row
// that find none: a look at all processes takes a while, and one may start another meanwhile.
func (g group) killed(mark string, limit <-chan time.Time) bool {
	again := time.NewTicker(look)
	defer again.Stop()
	for none := 0; none < 2; {
		select {
		case <-again.C:
		case <-limit:
			return false
		}
		if none++; g.kill(mark) {
			none = 0
		}
	}
	return true
}

// emptied waits until no process of the group is left, and reports whether that came before the limit. Unix has no
// event for it, so it polls. With kill, each poll kills processes started since the last one.
func (g group) emptied(limit <-chan time.Time, kill bool) bool {
	again := time.NewTicker(look)
	defer again.Stop()
	for g.alive() {
		select {
		case <-again.C:
			if kill {
				_ = g.signalAll(syscall.SIGKILL) // survivors are checked next
			}
		case <-limit:
			return !g.alive()
		}
	}
	return true
}
