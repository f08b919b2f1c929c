//go:build linux || darwin

package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// endOfTyping is what a person types who has no more to say.
const endOfTyping = 4

// scriptTerminal runs a command on a terminal of its own. The ttyin of package testscript
// closes the other end when the command has ended, and loses what was not read by then.
func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal FILE COMMAND [ARG…]")
	}
	command := exec.Command(args[1], args[2:]...)
	command.Dir = ts.MkAbs(".")
	command.Env = backgroundOf(ts).environment(ts, "HOLDFAST_SERVER", "HOLDFAST_STORE")
	screen, err := pty.Start(command)
	ts.Check(err)
	_, err = screen.WriteString(ts.ReadFile(args[0]) + string(rune(endOfTyping)))
	ts.Check(err)
	var output bytes.Buffer
	// It ends with EIO when no process has the terminal open any more, and all was read.
	if _, err := io.Copy(&output, screen); !errors.Is(err, syscall.EIO) {
		ts.Check(err)
	}
	ended := command.Wait()
	ts.Check(screen.Close())
	_, err = ts.Stdout().Write(bytes.ReplaceAll(output.Bytes(), []byte("\r\n"), []byte("\n")))
	ts.Check(err)
	ts.Check(ended)
}
