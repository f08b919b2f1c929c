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
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
)

// block returns the content of the nth fenced block of a language in a page, counted from 0. The page is README.md or one in docs.
func block(t *testing.T, page, language string, nth int) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(content), "\n```"+language+"\n")
	if len(blocks) < nth+2 {
		t.Fatalf("%s has no block %d of %s", page, nth, language)
	}
	text, _, closed := strings.Cut(blocks[nth+1], "\n```\n")
	if !closed {
		t.Fatalf("block %d of %s in %s has no end", nth, language, page)
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

// freePorts makes a session use ports that no other process has: those
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

// TestShellSessions runs the shell sessions with one member, of the README and of the quickstart.
func TestShellSessions(t *testing.T) {
	parallel.SkipBrief(t)
	for _, page := range []string{"README.md", "docs/quickstart.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			folder := build(t)
			text, server := freePorts(t, folder, block(t, page, "console", 0))
			play(t, folder, text, "HOLDFAST_SERVER="+server)
		})
	}
}

// TestTLSSession runs the shell session of docs/tls.md.
func TestTLSSession(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	addresses, err := clustertest.FreeAddresses(1)
	must(t, err)
	text := strings.ReplaceAll(block(t, "docs/tls.md", "console", 0), "127.0.0.1:4140", addresses[0])
	play(t, build(t), "$ trap 'kill -KILL $(jobs -p); wait' EXIT\n"+text, "XDG_STATE_HOME="+t.TempDir())
}

// TestAccessSession runs the shell session of docs/operations/access.md.
func TestAccessSession(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	addresses, err := clustertest.FreeAddresses(1)
	must(t, err)
	text := strings.ReplaceAll(block(t, "docs/operations/access.md", "console", 0), "127.0.0.1:4140", addresses[0])
	play(t, build(t), "$ trap 'kill -KILL $(jobs -p); wait' EXIT\n"+text, "XDG_STATE_HOME="+t.TempDir())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestClusterSession runs the shell session of the quickstart with three members, at an address of
// its own on the loopback, so that their ports are free.
func TestClusterSession(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has more than one loopback address without being asked")
	}
	own := fmt.Sprintf("127.83.%d.%d:", os.Getpid()>>8&255, os.Getpid()&255)
	text := strings.ReplaceAll(block(t, "docs/quickstart.md", "console", 1), "127.0.0.1:", own)
	// The members get a folder to remember in, and end with the session.
	play(t, build(t), "$ trap 'kill -KILL $(jobs -p); wait' EXIT\n"+text, "XDG_STATE_HOME="+t.TempDir())
}

// killed is what the shell says of a job that was killed.
var killed = regexp.MustCompile(`(?m)^.*Killed .*\n`)

// play runs a shell session, and compares what it prints with what the page says.
// "…" there stands for anything.
func play(t *testing.T, folder, text string, environ ...string) {
	t.Helper()
	var script, want strings.Builder
	for line := range strings.Lines(text) {
		command, typed := strings.CutPrefix(line, "$ ")
		if more, goesOn := strings.CutPrefix(line, "> "); goesOn {
			command, typed = more, true
		}
		if !typed {
			want.WriteString(line)
			continue
		}
		script.WriteString(command)
	}
	shell := exec.Command("bash", "-c", "exec 2>&1\n"+script.String())
	shell.Dir = t.TempDir()
	shell.Env = append(append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH")), environ...)
	got, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the session ended with %v\n%s", err, got)
	}
	got = killed.ReplaceAll(got, nil)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want.String())), "…", ".+")
	if !regexp.MustCompile("^" + pattern + "$").Match(bytes.TrimSpace(got)) {
		t.Errorf("the session prints\n%s\nthe page says\n%s", got, want.String())
	}
}

// TestStoreSession runs the shell session of docs/stores.md.
func TestStoreSession(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	play(t, build(t), block(t, "docs/stores.md", "console", 0))
}

// TestRecipes runs the shell sessions of docs/recipes.md with one member, that of PostgreSQL with a PostgreSQL, and its Go.
func TestRecipes(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	const page = "docs/recipes.md"
	content, err := os.ReadFile(filepath.Join("../..", page))
	must(t, err)
	folder := build(t)
	listen, _ := startMember(t, folder)
	for nth := range strings.Count(string(content), "\n```console\n") {
		text, environ := block(t, page, "console", nth), "HOLDFAST_SERVER="+listen
		if store := "postgres://db.example/app"; strings.Contains(text, store) {
			text, environ = strings.ReplaceAll(text, store, realstore.Postgres(t)), "HOLDFAST_SERVER="
		}
		play(t, folder, text, environ)
	}
	body := strings.ReplaceAll(block(t, page, "go", 0), "localhost:4040", listen)
	runSnippet(t, strings.Replace(around, "BODY", body, 1), "wrote: true <nil>\nended: <nil>\n")
}

// TestPrograms compiles and runs the Go programs of the README and of three pages of docs.
func TestPrograms(t *testing.T) {
	t.Run("README.md", func(t *testing.T) {
		t.Parallel()
		listen, _ := startMember(t, build(t))
		body := strings.ReplaceAll(block(t, "README.md", "go", 0), "localhost:4040", listen)
		runSnippet(t, strings.Replace(around, "BODY", body, 1), "wrote: true <nil>\nended: <nil>\n")
	})
	t.Run("quickstart.md", func(t *testing.T) {
		t.Parallel()
		listen, _ := startMember(t, build(t))
		text := strings.ReplaceAll(block(t, "docs/quickstart.md", "go", 0), "localhost:4040", listen)
		runSnippet(t, text, "held: orders/42 true <nil>\n")
	})
	t.Run("go.md", func(t *testing.T) {
		t.Parallel()
		runSnippet(t, block(t, "docs/go.md", "go", 0), "held: true true\nsecond try: true true\nafter Unlock: context canceled\n")
	})
	t.Run("stores.md", func(t *testing.T) {
		t.Parallel()
		runSnippet(t, block(t, "docs/stores.md", "go", 0), "held: orders/42 true advisory\n", "HOLDFAST_STORE=pebble://"+t.TempDir())
	})
}

// TestExamples runs the programs of examples.
func TestExamples(t *testing.T) {
	for example, want := range map[string]string{
		"client":    "step 1\nstep 2\nstep 3\n",
		"embedded":  "counter: 1000\n",
		"store":     "class: fenced token: true\n",
		"semaphore": "all workers are done\n",
		"fencing":   "write 100 taken: true\nwrite 200 taken: true\nlate write taken: false\n",
	} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("it links another program; run without -short")
			}
			var arguments []string
			environ := os.Environ()
			switch example {
			case "store":
				arguments = []string{"pebble://" + t.TempDir()}
			case "fencing":
				environ = append(environ, "DATABASE_URL="+realstore.Postgres(t))
			}
			program := filepath.Join(t.TempDir(), example)
			link := exec.Command("go", "build", "-ldflags=-w", "-o", program, "./examples/"+example)
			link.Dir = "../.."
			if out, err := link.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if example == "client" || example == "semaphore" || example == "fencing" {
				listen, _ := startMember(t, build(t))
				environ = append(environ, "HOLDFAST_SERVER="+listen)
			}
			run := exec.Command(program, arguments...)
			run.Env = environ
			got, err := run.CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("the program says %v\n%s", err, got)
			}
		})
	}
}

// around is the program around the lines of the README.
const around = `package main

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

func write(ctx context.Context, token holdfast.Token) error {
	fmt.Println("wrote:", token > 0, ctx.Err())
	return nil
}

func run(ctx context.Context) error {
BODY}

func main() { fmt.Println("ended:", run(context.Background())) }
`

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
