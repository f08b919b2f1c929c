package target

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/limit"
)

// TestLimitTLS: the limit server with mutual TLS serves clients that have a certificate of the run's
// authority, and no others.
func TestLimitTLS(t *testing.T) {
	b := harness(t)
	l := &limited{servers: servers{harness: b}, name: "limit-tls", encrypted: true}
	if l.Supports(load.Cell{Workload: load.Drain, Workers: 1000}) || l.Supports(load.Cell{Workload: load.Hot, Workers: 8, Think: time.Second}) {
		t.Error("it is measured where TLS is not the question")
	}
	if err := l.Start(limitedContext(t)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := l.Connect(limitedContext(t), load.Cell{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	worker, err := c.Worker(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	held, err := worker.Lock(limitedContext(t), "n")
	if err == nil {
		err = held.Unlock(limitedContext(t))
	}
	if err != nil {
		t.Error(err)
	}
	stranger := b.material.client.Clone()
	stranger.Certificates = nil
	for name, options := range map[string][]limit.Option{"no certificate": {limit.TLS(stranger)}, "plain": nil} {
		other, err := limit.Dial(limitedContext(t), l.running[0].listen, options...)
		if err != nil {
			continue // refused at once
		}
		if _, err := other.Lock(limitedContext(t), "n"); err == nil {
			t.Errorf("%s is served", name)
		}
		_ = other.Close() // it has ended already
	}
	for _, files := range [][3]string{{"x", "y", "z"}, {filepath.Join(b.material.folder, "limit-tls.pem"), filepath.Join(b.material.folder, "limit-tls-key.pem"), filepath.Join(b.material.folder, "limit-tls-key.pem")}} {
		if _, err := mutual(files[0], files[1], files[2]); err == nil {
			t.Errorf("%v is material", files)
		}
	}
}

// TestPipeline: many messages on one connection come back to the senders that they belong to, and all
// waits end with the connection.
func TestPipeline(t *testing.T) {
	b := harness(t)
	r := &raw{harness: b}
	c, err := r.Connect(limitedContext(t), load.Cell{Workers: 100})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for number := range 100 {
		worker, err := c.Worker(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			for range 50 {
				if _, err := worker.Lock(t.Context(), ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	worker, err := c.Worker(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Lock(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "ping: ") {
		t.Errorf("%v", err)
	}
}

// TestProfiles: each life of a server writes profiles of its own.
func TestProfiles(t *testing.T) {
	folder := t.TempDir()
	b, err := NewHarness(limitedContext(t), Config{Child: command(t), CPUProfile: filepath.Join(folder, "a cpu"), MemoryProfile: filepath.Join(folder, "memory")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	l := &limited{servers: servers{harness: b}, name: "limit"}
	for range 2 {
		if err := l.Start(limitedContext(t)); err != nil {
			t.Fatal(err)
		}
		if p, err := l.running[0].sample(limitedContext(t)); err != nil || p.Goroutines == 0 || p.Heap == 0 || p.Name != "the limit server" {
			t.Errorf("%+v, %v", p, err)
		}
		if err := l.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a cpu.limit", "a cpu.limit-2", "memory.limit", "memory.limit-2"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	nowhere := filepath.Join(folder, "nowhere", "profile")
	if _, err := StartProfile(nowhere); err == nil {
		t.Error("a profile is written where there is no folder")
	}
	if err := WriteMemoryProfile(nowhere); err == nil {
		t.Error("a profile is written where there is no folder")
	}
	b.config.CPUProfile = nowhere
	if err := l.Start(limitedContext(t)); err == nil || !strings.Contains(err.Error(), "write a CPU profile: ") {
		t.Errorf("%v", err)
	}
}
