//go:build unix

package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal of this session, shared by two process groups. A nil terminal does nothing and
// belongs to no group.
type terminal struct {
	file    int           // /dev/tty
	home    int           // the caller's group
	command int           // the command's group; 0 if it has none yet
	modes   *unix.Termios // before the command ran
}

// openTerminal returns nil if there is no controlling terminal.
func openTerminal(home, command int) *terminal {
	file, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	t := &terminal{file: file, home: home, command: command}
	if modes, err := unix.IoctlGetTermios(file, getModes); err == nil {
		t.modes = modes
	}
	return t
}

// belongTo sets the command's group, if it was not known.
func (t *terminal) belongTo(command int) {
	if t != nil {
		t.command = command
	}
}

// owner returns the foreground group, or 0.
func (t *terminal) owner() int {
	if t == nil {
		return 0
	}
	id, err := unix.IoctlGetInt(t.file, unix.TIOCGPGRP)
	if err != nil {
		return 0 // hung up
	}
	return id
}

// atHome reports whether the caller's group has the terminal.
func (t *terminal) atHome() bool { return t != nil && t.owner() == t.home }

// lent reports whether the command's group has the terminal.
func (t *terminal) lent() bool { return t != nil && t.command != 0 && t.owner() == t.command }

// lend makes the command's group the foreground group if the caller's is, and reports whether the command's group now
// has the terminal.
func (t *terminal) lend() bool {
	if t.atHome() && unix.IoctlSetPointerInt(t.file, unix.TIOCSPGRP, t.command) != nil {
		return false
	}
	return t.lent()
}

// takeBack makes the caller's group the foreground group again if the command's was, and restores the modes if asked.
// SIGTTOU must be ignored: the caller is in the background until this is done. A terminal that was hung up or has
// another foreground group meanwhile is left alone.
func (t *terminal) takeBack(modes bool) {
	if !t.lent() {
		return
	}
	if modes && t.modes != nil {
		_ = unix.IoctlSetTermios(t.file, setModes, t.modes) // fails only when hung up
	}
	_ = unix.IoctlSetPointerInt(t.file, unix.TIOCSPGRP, t.home) // likewise, or if the caller's group has no process
}

func (t *terminal) close() {
	if t != nil {
		unix.Close(t.file)
	}
}

// wanted reports whether the command should own the terminal from its start: it reads from the controlling terminal and
// does not write to a pipe, at whose other end a pager might need the terminal.
func wanted(stdin, stdout *os.File) bool {
	if _, err := unix.IoctlGetInt(int(stdin.Fd()), unix.TIOCGPGRP); err != nil {
		return false // no terminal, or not the controlling one
	}
	info, err := stdout.Stat()
	return err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0
}

// Columns returns the width of terminal f.
func Columns(f *os.File) int {
	if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 1 {
		return int(size.Col)
	}
	return usualColumns
}

// usualColumns is the width of a terminal that does not report it.
const usualColumns = 80

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}
