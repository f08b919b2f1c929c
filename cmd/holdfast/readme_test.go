package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block returns the content of the first fenced block of a language in the README.
func block(t *testing.T, language string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(readme), "\n```"+language+"\n")
	text, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatalf("README.md has no block of %s", language)
	}
	return text + "\n"
}

// build builds the binary into a folder of its own and returns that.
func build(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("go", "build", "-o", filepath.Join(folder, "holdfast"), ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// freePorts makes the session of the README use ports that nobody else has: those
// that a member was given a moment ago.
func freePorts(t *testing.T, folder, text string) (replaced, server string) {
	t.Helper()
	listen, http := startMember(t, folder)
	text = strings.ReplaceAll(text, "holdfast serve >", "true >")
	return strings.ReplaceAll(text, "127.0.0.1:4041", http), listen
}

// startMember runs `holdfast serve` until the test ends.
func startMember(t *testing.T, folder string) (listen, http string) {
	t.Helper()
	serve := exec.Command(filepath.Join(folder, "holdfast"), "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", filepath.Join(folder, "state"))
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		if err := serve.Wait(); err != nil {
			t.Errorf("holdfast serve: %v", err)
		}
	})
	var ready struct{ Listen, HTTP string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("holdfast serve said %q: %v", line, err)
	}
	go io.Copy(io.Discard, out)
	return ready.Listen, ready.HTTP
}

// TestReadmeShellSession runs the README's shell session, and compares what it
// prints with what the README says. "…" there stands for anything.
func TestReadmeShellSession(t *testing.T) {
	folder := build(t)
	text, server := freePorts(t, folder, block(t, "console"))
	var script, want strings.Builder
	for line := range strings.Lines(text) {
		command, typed := strings.CutPrefix(line, "$ ")
		if !typed {
			want.WriteString(line)
			continue
		}
		script.WriteString(command)
	}
	shell := exec.Command("bash", "-c", "exec 2>&1\n"+script.String())
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "HOLDFAST_SERVER="+server)
	got, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the session ended with %v\n%s", err, got)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want.String())), "…", ".+")
	if !regexp.MustCompile("^" + pattern + "$").Match(bytes.TrimSpace(got)) {
		t.Errorf("the session prints\n%s\nthe README says\n%s", got, want.String())
	}
}

// TestReadmeSnippet compiles and runs the README's Go program against a member.
func TestReadmeSnippet(t *testing.T) {
	folder := build(t)
	listen, _ := startMember(t, folder)
	source := filepath.Join(t.TempDir(), "main.go")
	text := strings.ReplaceAll(block(t, "go"), "localhost:4040", listen)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The program lives in the module without being in its tree.
	overlay := fmt.Sprintf(`{"Replace":{%q:%q}}`, filepath.Join(root, "internal/snippet/main.go"), source)
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", "run", "-overlay", file, "./internal/snippet")
	run.Dir = root
	got, err := run.CombinedOutput()
	if err != nil || string(got) != "held: orders/42 true <nil>\n" {
		t.Errorf("the program says %v\n%s", err, got)
	}
}
