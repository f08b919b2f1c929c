package folder_test

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/folder"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// open opens a folder, until the test ends.
func open(t testing.TB, url string) *folder.Store {
	t.Helper()
	store, err := folder.Open(t.Context(), url)
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
			url := "folder://" + t.TempDir() + option
			if durable := open(t, url).Features().Durable; durable != (option == "") {
				t.Errorf("Durable is %v", durable)
			}
			storagetest.Run(t, func(tb testing.TB) storage.Store { return open(tb, url) })
		})
	}
}

// TestFaulty: what holds everywhere holds where requests fail on their way.
func TestFaulty(t *testing.T) {
	t.Parallel()
	url := "folder://" + t.TempDir() + "?sync=false"
	seed := uint64(0)
	storagetest.RunFaulty(t, func(tb testing.TB) storage.Store {
		seed++
		return storagetest.NewFaulty(open(tb, url), seed, storagetest.Odds{Slow: 3, Refused: 15, Never: 15, Done: 15, Later: 15})
	})
}

// TestFoldersOfOthers are refused, and left as they are.
func TestFoldersOfOthers(t *testing.T) {
	for name, c := range map[string]struct{ content, says string }{
		"format":          {"holdfast folder 2\n", `it has the format "holdfast folder 2", and this version reads "holdfast folder 1"`},
		"report.txt":      {"mine", `it has "report.txt", which no store has made; use an empty folder`},
		"MANIFEST-000001": {"", "it has a Pebble database, which is a store of one process at a time; open it as pebble:///"},
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, name), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := folder.Open(t.Context(), "folder://"+path)
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want %q in it", err, c.says)
		}
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
			t.Errorf("the folder has %v, %v now", entries, err)
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
		"postgres:///x":               "must begin with folder:///",
		"folder://relative/x":         "has three slashes: folder:///relative/x",
		"folder://":                   "it names no folder",
		"folder:///":                  "it names no folder",
		"folder:///x#y":               "write %23",
		"folder:///x?nosync=1":        `the option "nosync"; sync is the only one`,
		"folder:///x?sync=no":         `its option sync is "no"; true or false`,
		"folder:///x?sync=true&sync=": "once",
		"folder:///x?sync=%zz":        "read its options",
		"folder://%zz":                "invalid URL escape",
		"folder://" + file:            file + `": not a directory; use a folder that this user may write`,
		"folder://" + file + "/below": file + `/below": not a directory; use a folder that this user may write`,
	} {
		_, err := folder.Open(t.Context(), address)
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q in it", address, err, says)
		}
	}
}

// TestPrivate: the folder and all in it are for its owner alone.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there yet")
	store := open(t, "folder://"+(&url.URL{Path: path}).EscapedPath())
	if err := errors.Join(store.Attend(t.Context(), "p"), store.Mutate(t.Context(), &storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: "c"}}, Timestamp: 1})); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is for others: %v", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen != 7 {
		t.Errorf("%d files and folders, %v; want 7", seen, err)
	}
}
