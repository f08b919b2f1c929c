package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuideToTheSimulator runs the commands of docs/simulator.md, and compares what they
// print with what it shows: some of the lines, in that order, the last of them at the end.
func TestGuideToTheSimulator(t *testing.T) {
	text, err := os.ReadFile("../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, found := strings.Cut(string(text), "\n```console\n")
	session, _, closed := strings.Cut(session, "\n```\n")
	if !found || !closed {
		t.Fatal("docs/simulator.md has no session")
	}
	folder := build(t)
	for _, part := range strings.Split(session, "$ holdfast ")[1:] {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		command := exec.Command(filepath.Join(folder, "holdfast"), strings.Fields(lines[0])...)
		command.Dir = t.TempDir()
		out, err := command.Output()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		want := regexp.QuoteMeta(strings.Join(lines[1:], "\n"))
		want = strings.ReplaceAll(strings.ReplaceAll(want, "\n", "\n(?:.*\n)*?"), "…", ".*")
		if !regexp.MustCompile(`(?m)^` + want + `\n\z`).Match(out) {
			t.Errorf("holdfast %s prints\n%s, want\n%s", lines[0], out, strings.Join(lines[1:], "\n"))
		}
	}
}
