package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-locks/holdfast/client"
)

// TestFewDescriptors: a member that may open 64 files, and whose port is filled with connections that say nothing, serves
// the client that it has, and keeps what that locks, also when its journal begins new files. Its log says that
// connections are closed, once.
func TestFewDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a log of the journal's database")
	}
	t.Parallel()
	folder, data := build(t), filepath.Join(t.TempDir(), "data")
	s := &served{Cmd: exec.Command("sh", "-c", `ulimit -n 64 && exec "$@"`, "sh", filepath.Join(folder, name), "serve", "--http=", "--data", data, "--listen=127.0.0.1:0")}
	s.begin(t)
	c, err := client.Dial(t.Context(), s.Listen)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	for range 200 {
		idle, err := net.Dial("tcp", s.Listen)
		must(t, err)
		t.Cleanup(func() { _ = idle.Close() }) // the member has closed most of them already
	}
	newest := func() string {
		logs, err := filepath.Glob(filepath.Join(data, "logs", "journal", "records", "*.log"))
		must(t, err)
		return slices.Max(logs)
	}
	first := newest()
	var done atomic.Bool
	var workers sync.WaitGroup
	for i := range 64 {
		workers.Go(func() {
			for n := 0; !done.Load(); n++ {
				lock, err := c.Lock(t.Context(), fmt.Sprintf("%s/%d/%d", strings.Repeat("n", 450), i, n))
				if err == nil {
					err = lock.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
					done.Store(true)
				}
				if n%16 == 0 && newest() != first {
					done.Store(true)
				}
			}
		})
	}
	workers.Wait()
	must(t, c.Close()) // while the member is there to acknowledge it
	must(t, s.Process.Signal(os.Interrupt))
	must(t, s.Wait())
	log := s.said.String()
	if strings.Contains(log, "see to the disk") || strings.Count(log, "a connection is closed at once") != 1 {
		t.Errorf("the log says\n%s", log)
	}
}
