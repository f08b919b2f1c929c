package terraform_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/contrib/terraform"
)

// TestTokens checks that a token that a state has seen refuses smaller ones, of this state alone, and after a restart.
func TestTokens(t *testing.T) {
	folder := t.TempDir()
	states := open(t, folder)
	write := func(name string, token holdfast.Token, state string) error {
		return states.Write(t.Context(), name, token, []byte(state))
	}
	for _, err := range []error{
		write("a/b", 7, "seven"), write("a/b", 7, "seven again"), states.Fence(t.Context(), "a/b", 9), write("a/c", 1, "one"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	states = open(t, folder)
	err := write("a/b", 8, "eight")
	stale, is := errors.AsType[*terraform.StaleError](err)
	if !is || !errors.Is(err, terraform.ErrStale) || stale.Token != 8 || stale.Seen != 9 {
		t.Errorf("a smaller token: %v", err)
	}
	if err := states.Fence(t.Context(), "a/b", 8); !errors.Is(err, terraform.ErrStale) {
		t.Errorf("a smaller token of a lock: %v", err)
	}
	if state, err := states.Read(t.Context(), "a/b"); err != nil || string(state) != "seven again" {
		t.Errorf("%s %v", state, err)
	}
	if err := write("a/b", 9, ""); err != nil {
		t.Error(err)
	}
	if _, err := states.Read(t.Context(), "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed state: %v", err)
	}
	if err := write("a/b", 9, ""); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := write("a/b", 8, "late"); !errors.Is(err, terraform.ErrStale) {
		t.Errorf("a smaller token after the state was removed: %v", err)
	}
}

// TestWritersCompete checks that the largest token wins, in each order, and that each state is whole. The writers
// share no memory: each has a Folder of its own.
func TestWritersCompete(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for token := range holdfast.Token(16) {
		states := open(t, folder)
		all.Go(func() {
			for range 4 {
				err := states.Write(t.Context(), "prod", token+1, []byte(strings.Repeat(fmt.Sprintf("%02d", token+1), 5000)))
				if err != nil && !errors.Is(err, terraform.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	state, err := open(t, folder).Read(t.Context(), "prod")
	if err != nil || string(state) != strings.Repeat("16", 5000) {
		t.Errorf("%.20s… %v", state, err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, want the state and its token: %v", left, err)
	}
}

// TestWaits checks that a write waits for another process, no longer than its context.
func TestWaits(t *testing.T) {
	folder := t.TempDir()
	states := open(t, folder)
	if err := states.Fence(t.Context(), "prod", 1); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(filepath.Join(folder, "prod.token"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := states.Write(ctx, "prod", 2, []byte("two")); !errors.Is(err, context.Canceled) {
		t.Errorf("while another process writes: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- states.Write(t.Context(), "prod", 2, []byte("two")) }()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestDamage checks that damage is named, and what a crash leaves is no obstacle.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	states := open(t, folder)
	for name, text := range map[string]string{"a.token": "12\n", "b.token": strings.Repeat("x", 20), ".c.tfstate": "half a st"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		err := states.Write(t.Context(), name, 1, []byte("{}"))
		if err == nil || !strings.Contains(err.Error(), name+".token holds") {
			t.Errorf("a damaged token: %v", err)
		}
	}
	if err := states.Write(t.Context(), "c", 1, []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := states.Write(t.Context(), "../c", 1, []byte("{}")); err == nil || !strings.Contains(err.Error(), "may not begin with a dot") {
		t.Errorf("outside of the folder: %v", err)
	}
	if _, err := states.Read(t.Context(), "/c"); err == nil {
		t.Error("an absolute name is read")
	}
	if _, err := terraform.OpenFolder(filepath.Join(folder, "none", "states")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a parent: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := terraform.OpenFolder(filepath.Join(folder, "file")); err == nil {
		t.Error("a file is opened as a folder")
	}
}
