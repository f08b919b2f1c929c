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
	if testing.Short() {
		t.Skip("it explores and sweeps; run without -short")
	}
	t.Parallel()
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

// howLong is how long docs/bench.md measures.
var howLong = regexp.MustCompile(`--rounds [0-9]+( --duration [0-9a-z]+)?`)

// manyMembers is a target of more than the fewest members, or a loop over such.
var manyMembers = regexp.MustCompile(`-[59]\b| in [^;]*[59]`)

// TestGuideToTheBench runs the commands of docs/bench.md, with the fewest members of each
// and for a short time.
func TestGuideToTheBench(t *testing.T) {
	if testing.Short() {
		t.Skip("clusters are too much with the race detector")
	}
	t.Parallel()
	text, err := os.ReadFile("../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := build(t)
	blocks := strings.Split(string(text), "\n```console\n$ ")[1:]
	if len(blocks) < 2 {
		t.Fatalf("docs/bench.md has %d commands", len(blocks))
	}
	for _, block := range blocks {
		command, _, _ := strings.Cut(block, "\n```\n")
		fewest := strings.Replace(command, " in 3 5 9;", " in 3;", 1)
		if manyMembers.MatchString(fewest) || !howLong.MatchString(command) {
			t.Fatalf("%s\nis for other members, or for an unknown time", command)
		}
		shell := exec.Command("bash", "-c", howLong.ReplaceAllString(fewest, "--rounds 1 --duration 50ms"))
		shell.Dir = t.TempDir()
		shell.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		out, err := shell.CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)^bench: ok in=`).Match(out) {
			t.Errorf("%s\nends with %v\n%s", command, err, out)
		}
	}
}
