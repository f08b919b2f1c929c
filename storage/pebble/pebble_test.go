package pebble_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	database "github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/pebble"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// open opens a folder and ends with the test.
func open(t testing.TB, url string) *pebble.Store {
	t.Helper()
	store, err := pebble.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return store
}

// TestConformance, synced and not.
func TestConformance(t *testing.T) {
	for _, option := range []string{"", "?sync=false"} {
		t.Run("options "+option, func(t *testing.T) {
			t.Parallel()
			first := open(t, "pebble://"+t.TempDir()+option)
			if durable := first.Features().Durable; durable != (option == "") {
				t.Errorf("Durable is %v", durable)
			}
			storagetest.Run(t, func(tb testing.TB) storage.Store {
				store, err := first.Share()
				if err != nil {
					tb.Fatal(err)
				}
				return store
			})
		})
	}
}

// TestFaulty: what holds everywhere holds where requests fail on their way.
func TestFaulty(t *testing.T) {
	t.Parallel()
	first := open(t, "pebble://"+t.TempDir()+"?sync=false")
	seed := uint64(0)
	storagetest.RunFaulty(t, func(tb testing.TB) storage.Store {
		store, err := first.Share()
		if err != nil {
			tb.Fatal(err)
		}
		seed++
		return storagetest.NewFaulty(store, seed, storagetest.Odds{Slow: 3, Refused: 15, Never: 15, Done: 15, Later: 15})
	})
}

// TestFolderIsForOne process, and for one Open of it.
func TestFolderIsForOne(t *testing.T) {
	folder := t.TempDir()
	first := open(t, "pebble://"+folder)
	_, err := pebble.Open(t.Context(), "pebble://"+folder)
	if !errors.Is(err, storage.ErrRefused) || !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), "use another folder") {
		t.Errorf("a second Open: %v", err)
	}
	other, err := first.Share()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pebble.Open(t.Context(), "pebble://"+folder); !errors.Is(err, storage.ErrRefused) {
		t.Errorf("Open while a handle is left: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Share(); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Share after the last Close: %v", err)
	}
	open(t, "pebble://"+folder) // it is free again
}

// TestRowsStay when the folder is opened again.
func TestRowsStay(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there yet")
	store := open(t, "pebble://"+folder)
	m := storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: "a", Value: "1"}, {Column: "b"}}, Timestamp: 7}
	if err := errors.Join(store.Mutate(t.Context(), &m), store.Close()); err != nil {
		t.Fatal(err)
	}
	store = open(t, "pebble://"+folder)
	m.Additions, m.Timestamp = []storage.Entry{{Column: "a", Value: "lower"}}, 6
	if err := store.Mutate(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: "k"})
	if err != nil || len(entries) != 2 || entries[0].Value != "1" {
		t.Errorf("the row has %v, %v", entries, err)
	}
}

// TestFoldersOfOthers are refused, and left as they are.
func TestFoldersOfOthers(t *testing.T) {
	for _, c := range []struct {
		key, value, says string
	}{
		{"user data", "1", "something else has made"},
		{"\x00", "holdfast storage 2", `it has the format "holdfast storage 2", and this version reads "holdfast storage 1"`},
	} {
		folder := t.TempDir()
		db, err := database.Open(folder, &database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set([]byte(c.key), []byte(c.value), database.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the lock is given back
			_, err = pebble.Open(t.Context(), "pebble://"+folder)
			if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), folder) {
				t.Errorf("%v; want %q in it", err, c.says)
			}
		}
	}
}

// TestAddresses that are refused say what is wrong and what is allowed.
func TestAddresses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for address, says := range map[string]string{
		"postgres:///x":               "must begin with pebble:///",
		"pebble://relative/x":         "has three slashes: pebble:///relative/x",
		"pebble://":                   "it names no folder",
		"pebble:///":                  "it names no folder",
		"pebble:///x#y":               "write %23",
		"pebble:///x?nosync=1":        `the option "nosync"; sync is the only one`,
		"pebble:///x?sync=no":         `its option sync is "no"; true or false`,
		"pebble:///x?sync=":           `its option sync is ""; true or false`,
		"pebble:///x?sync=true&sync=": "once",
		"pebble:///x?sync=%zz":        "read its options",
		"pebble://%zz":                "invalid URL escape",
		"pebble://" + file:            "make folder",
	} {
		_, err := pebble.Open(t.Context(), address)
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q in it", address, err, says)
		}
	}
}
