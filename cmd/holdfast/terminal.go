package main

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// drawsOn reports whether a file is a terminal whose present line can be redrawn.
func (p *program) drawsOn(file *os.File) bool {
	return p.variable("TERM") != "dumb" && supervise.IsTerminal(file)
}

// inForeground reports whether this process may draw on a terminal: it does not run in the background of a shell there.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: it is another terminal than that of the shell
}

// columns returns the width of a terminal.
func columns(terminal *os.File) int { return supervise.Columns(terminal) }
