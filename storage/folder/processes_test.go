package folder_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/folder"
)

// child is a process of a test. It ends when its standard input does.
func child(task string, args []string) int {
	store, err := folder.Open(context.Background(), args[0])
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	switch task {
	case "count":
		err = count(store, args[1])
	case "attend":
		if err = store.Attend(context.Background(), args[1]); err == nil {
			fmt.Println("attends")
			_, err = io.Copy(io.Discard, os.Stdin)
		}
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// count increments a counter by swaps, and adds a column for each increment, until standard input ends.
func count(store *folder.Store, name string) error {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the parent
		close(ended)
	}()
	for i := 0; ; {
		select {
		case <-ended:
			return nil
		default:
		}
		n, err := counted(store)
		if err != nil {
			return err
		}
		w := storage.Swap{Key: "counter", Column: "n", Absent: n == 0, New: strconv.Itoa(n + 1)}
		if n > 0 {
			w.Old = strconv.Itoa(n)
		}
		swapped, err := store.Swap(context.Background(), &w)
		if err != nil {
			return err
		}
		if !swapped.Done {
			continue
		}
		i++
		one := storage.Entry{Column: fmt.Sprintf("%s %06d", name, i), Value: strings.Repeat("v", i%700)}
		if err := store.Mutate(context.Background(), &storage.Mutate{Key: "columns", Additions: []storage.Entry{one}, Timestamp: 1}); err != nil {
			return err
		}
		fmt.Println("done", i)
	}
}

// counted reads the counter.
func counted(store *folder.Store) (int, error) {
	entries, err := store.Slice(context.Background(), &storage.Slice{Key: "counter", Serial: true})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return strconv.Atoi(entries[0].Value)
}

// process is a started child.
type process struct {
	*exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func start(t *testing.T, task string, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(program, args...)}
	p.Env = append(os.Environ(), childVariable+"="+task)
	p.Stderr = os.Stderr
	stdin, err1 := p.StdinPipe()
	stdout, err2 := p.StdoutPipe()
	if err := errors.Join(err1, err2, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	t.Cleanup(func() {
		_ = p.Process.Kill() // most have ended
		_ = p.Wait()
	})
	return p
}

// TestProcesses: many processes write two rows, and some are killed on the way. No answered write is lost, none is
// done twice, and no killed process keeps the others from going on.
func TestProcesses(t *testing.T) {
	const processes, rounds, each = 3, 6, 20
	url := "folder://" + t.TempDir() + "?sync=false"
	store := open(t, url)
	done, kills := 0, 0
	for round := range rounds {
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range processes {
			p := start(t, "count", url, fmt.Sprintf("%d.%d", round, i))
			all.Go(func() {
				n := 0
				for p.lines.Scan() {
					if strings.HasPrefix(p.lines.Text(), "error") {
						t.Error(p.lines.Text())
					}
					if n++; n == each && i == 0 {
						if err := p.Process.Kill(); err != nil {
							t.Error(err)
						}
					} else if n == each {
						_ = p.stdin.Close() // it may have ended
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if n < each {
					t.Errorf("a process has done %d, want %d at least", n, each)
				}
				if err := p.Wait(); err != nil {
					kills++
				}
				done += n
			})
		}
		all.Wait()
	}
	if kills != rounds {
		t.Errorf("%d processes were killed, want %d", kills, rounds)
	}
	n, err := counted(store)
	if err != nil || n < done || n > done+kills {
		t.Errorf("the counter is at %d, %v; %d increments were answered, and %d processes killed", n, err, done, kills)
	}
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: "columns"})
	if err != nil || len(entries) < done || len(entries) > n {
		t.Errorf("%d columns, %v; want %d to %d", len(entries), err, done, n)
	}
}

// TestEnds: the end of a process is reported when it is killed, and when it was before; not while it lives, and not of
// a process that does not attend.
func TestEnds(t *testing.T) {
	url := "folder://" + t.TempDir()
	store, other := open(t, url), open(t, url)
	p := start(t, "attend", url, "p")
	if !p.lines.Scan() || p.lines.Text() != "attends" {
		t.Fatalf("the child says %q", p.lines.Text())
	}
	if over, err := store.Await(t.Context(), "stranger", func() { t.Error("a stranger has ended") }); over || err != nil {
		t.Errorf("a process that does not attend: %v, %v", over, err)
	}
	ended := make(chan string, 9)
	for _, s := range []*folder.Store{store, other} {
		if over, err := s.Await(t.Context(), "p", func() { ended <- "p" }); over || err != nil {
			t.Fatalf("it lives, and Await says %v, %v", over, err)
		}
	}
	given, cancel := context.WithCancel(t.Context())
	if over, err := store.Await(given, "p", func() { t.Error("a wait that was given up is answered") }); over || err != nil {
		t.Fatal(over, err)
	}
	cancel()
	if err := store.Attend(t.Context(), "p"); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("a second process of the same name: %v", err)
	}
	select {
	case who := <-ended:
		t.Fatalf("%s is reported, and lives", who)
	default:
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("no end is reported")
		}
	}
	if over, err := store.Await(t.Context(), "p", func() {}); !over || err != nil {
		t.Errorf("after its end Await says %v, %v", over, err)
	}
}

// TestInherited: a process attends until the last of those that have its files has ended.
func TestInherited(t *testing.T) {
	url := "folder://" + t.TempDir()
	store, holder := open(t, url), open(t, url)
	if err := errors.Join(holder.Attend(t.Context(), "h"), holder.Attend(t.Context(), "h")); err != nil {
		t.Fatal(err)
	}
	files := holder.Attending()
	if len(files) != 1 {
		t.Fatalf("%d files, want 1", len(files))
	}
	heir := exec.Command("cat")
	heir.ExtraFiles = files
	stdin, err := heir.StdinPipe()
	if err = errors.Join(err, heir.Start()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	if over, err := store.Await(t.Context(), "h", func() { close(ended) }); over || err != nil {
		t.Fatal(over, err)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if over, err := store.Await(t.Context(), "h", func() {}); over || err != nil {
		t.Errorf("a process that has closed its store: %v, %v; want that it is not known to have ended", over, err)
	}
	select {
	case <-ended:
		t.Error("the end is reported while another process has the file")
	default:
	}
	if err := errors.Join(stdin.Close(), heir.Wait()); err != nil {
		t.Fatal(err)
	}
	<-ended
}
