//go:build linux || darwin

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
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

// scriptDialogue runs a command on a terminal of 24 lines by 80 columns, and talks with it as a file says, a line each:
// "see REGEXP" waits until it has shown a match since the latest keys, "type KEYS" types. Then the command must end
// with code 0, on the screen where it began, with the terminal's modes as before.
func scriptDialogue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: dialogue FILE COMMAND [ARG…]")
	}
	screen, inside, err := pty.Open()
	ts.Check(err)
	defer screen.Close()
	ts.Check(pty.Setsize(inside, &pty.Winsize{Rows: 24, Cols: 80}))
	before, err := term.GetState(screen.Fd()) // those of both ends
	ts.Check(err)
	command := exec.Command(args[1], args[2:]...)
	command.Dir = ts.MkAbs(".")
	command.Env = append(backgroundOf(ts).environment(ts, "HOLDFAST_SERVER", "HOLDFAST_STORE"), "TERM=xterm-256color")
	command.Stdin, command.Stdout, command.Stderr = inside, inside, inside
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(command.Start())
	ts.Check(inside.Close())
	shown := &shownText{screen: screen}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verb {
		case "see":
			shown.see(ts, regexp.MustCompile(rest))
		case "type":
			shown.text.Reset()
			_, err := screen.WriteString(strings.NewReplacer("ENTER", "\r", "ESC", "\x1b").Replace(rest))
			ts.Check(err)
		default:
			ts.Fatalf("%s: want see or type", line)
		}
	}
	ts.Check(command.Wait())
	after, err := term.GetState(screen.Fd())
	ts.Check(err)
	if !reflect.DeepEqual(before, after) {
		ts.Fatalf("the terminal has other modes than before: %+v, not %+v", after, before)
	}
	_, err = io.Copy(&shown.all, screen) // it ends with EIO when all was read
	if !errors.Is(err, syscall.EIO) {
		ts.Check(err)
	}
	if all := shown.all.String(); strings.Count(all, ansi.SetModeAltScreenSaveCursor) != strings.Count(all, ansi.ResetModeAltScreenSaveCursor) {
		ts.Fatalf("the terminal shows another screen than before")
	}
	_, err = ts.Stdout().Write(shown.all.Bytes())
	ts.Check(err)
}

// shownText is what a terminal shows.
type shownText struct {
	screen *os.File
	text   bytes.Buffer // since the latest keys
	all    bytes.Buffer
}

// seeLimit is how long a dialogue waits for what it wants to see.
const seeLimit = time.Minute

// see reads until the text matches.
func (s *shownText) see(ts *testscript.TestScript, pattern *regexp.Regexp) {
	part := make([]byte, 4096)
	ts.Check(s.screen.SetReadDeadline(time.Now().Add(seeLimit)))
	for !pattern.MatchString(ansi.Strip(s.text.String())) {
		n, err := s.screen.Read(part)
		s.text.Write(part[:n])
		s.all.Write(part[:n])
		if err != nil {
			ts.Fatalf("%v is not shown (%v):\n%s", pattern, err, ansi.Strip(s.text.String()))
		}
	}
}
