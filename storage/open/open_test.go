package open_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// TestOpen: each scheme opens its own store, which works.
func TestOpen(t *testing.T) {
	for name, url := range map[string]func(t *testing.T) string{
		"memory":    func(*testing.T) string { return "memory://" },
		"folder":    func(t *testing.T) string { return "folder://" + t.TempDir() },
		"pebble":    func(t *testing.T) string { return "pebble://" + t.TempDir() },
		"postgres":  func(t *testing.T) string { return realstore.Postgres(t) },
		"redis":     func(t *testing.T) string { return realstore.Redis(t) },
		"etcd":      func(t *testing.T) string { return realstore.Etcd(t) },
		"cassandra": func(t *testing.T) string { return realstore.Cassandra(t) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open.Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			if got := store.Features().Name; got != name {
				t.Errorf("it is %q", got)
			}
			one := storage.Entry{Column: "c", Value: "v"}
			if err := store.Mutate(t.Context(), &storage.Mutate{Key: "row", Additions: []storage.Entry{one}, Timestamp: 1}); err != nil {
				t.Fatal(err)
			}
			if got, err := store.Slice(t.Context(), &storage.Slice{Key: "row"}); err != nil || len(got) != 1 || got[0] != one {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestWhatIsRefused: URLs that name no store, of every scheme; and no error has the password.
func TestWhatIsRefused(t *testing.T) {
	urls := []string{
		"", "redis:/u:top-secret@host", "u:top-secret@host", "mysql://u:top-secret@host/db", "memory://u:top-secret@host",
		"redis://u:top-secret@host:port", "pebble://u:top-secret@host/folder", "folder://u:top-secret@host/folder",
	}
	for _, scheme := range open.Schemes() {
		if scheme != "memory" {
			urls = append(urls, scheme+"://u:top-secret@127.0.0.1:1/a?no_such_option=1", scheme+"://u:top-secret%zz@127.0.0.1:1", scheme+"://u:top-secret@127.0.0.1:1/%zz")
		}
	}
	for _, url := range urls {
		store, err := open.Open(t.Context(), url)
		if store != nil || !errors.Is(err, storage.ErrInvalid) && !errors.Is(err, storage.ErrRefused) {
			t.Errorf("%s: %v, %v", url, store, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in %v", url, err)
		}
	}
	_, err := open.Open(t.Context(), "mysql://host")
	for _, scheme := range open.Schemes() {
		if !strings.Contains(err.Error(), scheme+"://") {
			t.Errorf("%s is not in %v", scheme, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open.Open(ended, "memory://"); !errors.Is(err, storage.ErrRefused) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	folder := filepath.Join(t.TempDir(), "a folder%?")
	store, err := open.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) == 0 {
		t.Errorf("a folder alone is no store: %v %v", files, err)
	}
	if got := open.Redacted("redis://u:top-secret@host"); got != "redis://u:xxxxx@host" {
		t.Error(got)
	}
}
