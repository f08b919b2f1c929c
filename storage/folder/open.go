package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/location"
)

// Config configures the use of a folder.
type Config struct {
	// NoSync answers before a write is on disk. Zero means that it waits for the sync.
	NoSync bool
	// Now returns the time by which columns expire and which Clock returns. Zero means time.Now.
	Now func() time.Time
}

// The entries of a folder.
const (
	formatFile  = "format"
	formatDraft = ".format-" // followed by a process id, while the file is written
	rowsFolder  = "rows"
	aliveFolder = "alive"
)

// format is the content of the format file. A change of the files' format must change it.
const format = "holdfast folder 1\n"

// Open opens the folder of a URL, as described in the package documentation. An error is an ErrInvalid if the URL or
// the folder is unsuitable, and an ErrRefused if a retry may succeed.
func Open(ctx context.Context, address string) (*Store, error) {
	path, synced, err := location.ParseFolder(address, "folder")
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w: %w", address, err, storage.ErrInvalid)
	}
	return OpenPath(ctx, path, Config{NoSync: !synced})
}

// OpenPath opens a folder by its path. Its errors are as those of Open.
func OpenPath(ctx context.Context, path string, config Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open folder %q: %w: %w", path, storage.ErrRefused, err)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	made, err := makeFolder(path, config.NoSync)
	if err != nil {
		return nil, explain(path, "make", err)
	}
	if kind, remote, err := fileSystem(path); err != nil {
		return nil, explain(path, "open", err)
	} else if remote {
		return nil, fmt.Errorf("open folder %q: it is on a network file system (%s), whose locks may hold on this machine alone; use a folder on a disk of this machine, or a store that machines share, as postgres://, redis:// or etcd://: %w",
			path, kind, storage.ErrInvalid)
	}
	if err := checkFormat(path, made, config.NoSync); err != nil {
		return nil, err
	}
	return newStore(path, config), nil
}

// makeFolder makes the folder, and reports whether it was missing.
func makeFolder(path string, noSync bool) (made bool, err error) {
	if err := os.Mkdir(path, 0o700); err == nil {
		return true, syncFolder(filepath.Dir(path), noSync)
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return true, os.MkdirAll(path, 0o700)
}

// checkFormat verifies the format of the folder, or writes it to an empty one.
func checkFormat(path string, made, noSync bool) error {
	found, err := os.ReadFile(filepath.Join(path, formatFile))
	switch {
	case err == nil && string(found) == format:
		return nil
	case err == nil:
		return fmt.Errorf("open folder %q: it has the format %.100q, and this version reads %q; use the version that made it, or another folder: %w",
			path, strings.TrimSpace(string(found)), strings.TrimSpace(format), storage.ErrInvalid)
	case !errors.Is(err, fs.ErrNotExist):
		return explain(path, "open", err)
	}
	if err := checkEmpty(path); err != nil {
		return err
	}
	if err := writeFormat(path, noSync); err != nil {
		return explain(path, "write to", err)
	}
	return nil
}

// checkEmpty refuses a folder with the files of something else.
func checkEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return explain(path, "open", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, formatDraft), name == "lost+found":
		case name == formatFile: // another process has just written it
			return nil
		case strings.HasPrefix(name, "MANIFEST-"), strings.HasPrefix(name, "marker.manifest."):
			return fmt.Errorf("open folder %q: it has a Pebble database, which is a store of one process at a time; open it as pebble://%s, or use another folder for locks that processes share: %w",
				path, path, storage.ErrInvalid)
		}
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, formatDraft) && name != "lost+found" {
			return fmt.Errorf("open folder %q: it has %q, which no store has made; use an empty folder, or one that is not there yet: %w",
				path, name, storage.ErrInvalid)
		}
	}
	return nil
}

// writeFormat writes the format file as a whole. Several processes may do so at the same time.
func writeFormat(path string, noSync bool) error {
	draft, err := os.CreateTemp(path, formatDraft+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return err
	}
	_, err = draft.WriteString(format)
	if err == nil {
		err = syncFile(draft, noSync)
	}
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), filepath.Join(path, formatFile))
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return syncFolder(path, noSync)
}

// explain returns the error of a folder that cannot be used, with the fix.
func explain(path, what string, err error) error {
	kind := storage.ErrRefused
	var fix string
	switch {
	case errors.Is(err, fs.ErrPermission):
		kind, fix = storage.ErrInvalid, "; "+ownedBy(path)+"use a folder that this user may write, or run as its owner"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		kind, fix = storage.ErrInvalid, "; use a folder that this user may write"
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	return fmt.Errorf("%s folder %q: %w%s: %w", what, path, err, fix, kind)
}

// ownedBy names the owner of the folder, or of the nearest one above it that exists, if that is another user.
func ownedBy(path string) string {
	for {
		info, err := os.Stat(path)
		if err == nil {
			owner, known := info.Sys().(*syscall.Stat_t)
			if !known || int(owner.Uid) == os.Geteuid() {
				return ""
			}
			id := strconv.Itoa(int(owner.Uid))
			if u, err := user.LookupId(id); err == nil {
				id = u.Username
			}
			return fmt.Sprintf("%s belongs to user %s; ", path, id)
		}
		above := filepath.Dir(path)
		if above == path {
			return ""
		}
		path = above
	}
}

// isRemote reports whether a kind of file system may have locks, or FIFOs, that hold on one machine and not on another.
func isRemote(kind string) bool {
	return slices.Contains([]string{
		"9p", "afs", "afpfs", "beegfs", "ceph", "cifs", "coda", "fuse", "gfs2", "gpfs", "lustre", "macfuse", "ncp", "nfs", "ocfs2", "osxfuse", "smb", "smb2", "smbfs", "webdav",
	}, kind)
}
