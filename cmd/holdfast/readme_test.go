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
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// block returns the content of the fenced block of a language in the README, the nth
// of them, counted from 0.
func block(t *testing.T, language string, nth int) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "\n```"+language+"\n")
	if len(blocks) < nth+2 {
		t.Fatalf("README.md has no block %d of %s", nth, language)
	}
	text, _, closed := strings.Cut(blocks[nth+1], "\n```\n")
	if !closed {
		t.Fatalf("the block %d of %s in README.md has no end", nth, language)
	}
	return text + "\n"
}

// built builds the binary as users do, once, and returns its path. What debuggers read is left
// out: that is a third of the linker's work.
var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(workshop, name)
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", program, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// build returns a folder of the test's own with a way to the binary in it: the two may be on different devices.
func build(t *testing.T) string {
	t.Helper()
	program, err := built()
	must(t, err)
	folder := t.TempDir()
	must(t, os.Symlink(program, filepath.Join(folder, name)))
	return folder
}

// freePorts makes the session of the README use ports that no other process has: those
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
	serve := exec.Command(filepath.Join(folder, "holdfast"), "serve", "--name", "readme", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", filepath.Join(folder, "state"))
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

// TestReadmeShellSession runs the README's shell session with one member.
func TestReadmeShellSession(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	folder := build(t)
	text, server := freePorts(t, folder, block(t, "console", 0))
	play(t, folder, text, "HOLDFAST_SERVER="+server)
}

// TestReadmeTLS runs the README's shell session with certificates.
func TestReadmeTLS(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	addresses, err := clustertest.FreeAddresses(1)
	must(t, err)
	folder := t.TempDir()
	members, err := issuer.New("members")
	must(t, err)
	clients, err := issuer.New("clients")
	must(t, err)
	for _, one := range []struct {
		by      *issuer.Authority
		request issuer.Request
	}{{members, issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true}}, {clients, issuer.Request{Name: "job-7"}}} {
		made, err := one.by.Issue(one.request)
		must(t, err)
		_, err = made.Write(folder, one.request.Name)
		must(t, err)
	}
	_, err = members.Write(folder, "members")
	must(t, err)
	_, err = clients.Write(folder, "clients")
	must(t, err)
	text := strings.ReplaceAll(block(t, "console", 2), "127.0.0.1:4140", addresses[0])
	playIn(t, build(t), folder, "$ trap 'kill -KILL $(jobs -p); wait' EXIT\n"+text, "XDG_STATE_HOME="+t.TempDir())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadmeCluster runs the README's shell session with three members, at an address of
// its own on the loopback, so that their ports are free.
func TestReadmeCluster(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has more than one loopback address without being asked")
	}
	own := fmt.Sprintf("127.83.%d.%d:", os.Getpid()>>8&255, os.Getpid()&255)
	text := strings.ReplaceAll(block(t, "console", 1), "127.0.0.1:", own)
	// The members get a folder to remember in, and end with the session.
	play(t, build(t), "$ trap 'kill -KILL $(jobs -p); wait' EXIT\n"+text, "XDG_STATE_HOME="+t.TempDir())
}

// killed is what the shell says of a job that was killed.
var killed = regexp.MustCompile(`(?m)^.*Killed .*\n`)

// play runs a shell session, and compares what it prints with what the README says.
// "…" there stands for anything.
func play(t *testing.T, folder, text string, environ ...string) {
	t.Helper()
	playIn(t, folder, t.TempDir(), text, environ...)
}

// playIn is play in a folder that has something.
func playIn(t *testing.T, folder, in, text string, environ ...string) {
	t.Helper()
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
	shell.Dir = in
	shell.Env = append(append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH")), environ...)
	got, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the session ended with %v\n%s", err, got)
	}
	got = killed.ReplaceAll(got, nil)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want.String())), "…", ".+")
	if !regexp.MustCompile("^" + pattern + "$").Match(bytes.TrimSpace(got)) {
		t.Errorf("the session prints\n%s\nthe README says\n%s", got, want.String())
	}
}

// TestReadmeStore runs the README's shell session without any server.
func TestReadmeStore(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	play(t, build(t), block(t, "console", 3))
}

// TestReadmeSnippet compiles and runs the README's Go program against a member.
func TestReadmeSnippet(t *testing.T) {
	t.Parallel()
	folder := build(t)
	listen, _ := startMember(t, folder)
	runSnippet(t, strings.ReplaceAll(block(t, "go", 0), "localhost:4040", listen), "held: orders/42 true <nil>\n")
}

// TestReadmeStoreSnippet compiles and runs the README's Go program over a folder.
func TestReadmeStoreSnippet(t *testing.T) {
	t.Parallel()
	runSnippet(t, block(t, "go", 1), "held: orders/42 true advisory\n", "HOLDFAST_STORE=pebble://"+t.TempDir())
}

// runSnippet compiles and runs a Go program, and compares what it prints.
func runSnippet(t *testing.T, text, want string, environ ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it links another program; run without -short")
	}
	source := filepath.Join(t.TempDir(), "main.go")
	must(t, os.WriteFile(source, []byte(text), 0o600))
	root, err := filepath.Abs("../..")
	must(t, err)
	// The program lives in the module without being in its tree.
	overlay := fmt.Sprintf(`{"Replace":{%q:%q}}`, filepath.Join(root, "internal/snippet/main.go"), source)
	file := filepath.Join(t.TempDir(), "overlay.json")
	must(t, os.WriteFile(file, []byte(overlay), 0o600))
	run := exec.Command("go", "run", "-overlay", file, "./internal/snippet")
	run.Dir, run.Env = root, append(os.Environ(), environ...)
	got, err := run.CombinedOutput()
	if err != nil || string(got) != want {
		t.Errorf("the program says %v\n%s", err, got)
	}
}
