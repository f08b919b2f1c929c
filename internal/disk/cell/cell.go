package cell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/storage"
)

// The files in the folder.
const (
	fileName = "cell"
	tempName = "cell.new"
	lockName = "lock"
)

// ErrInUse reports that another process has the folder.
var ErrInUse = errors.New("another process is this member")

// Cell is an open folder.
type Cell struct {
	folder string
	lock   *os.File
}

// Open creates the folder if necessary, locks it, and returns the bytes of its cell: nil if it has never held one. The
// error, which may be ErrInUse, names the folder. A folder that cannot be written is refused now, not when the first
// promise depends on it.
func Open(folder string) (*Cell, []byte, error) {
	if err := makeFolder(folder); err != nil {
		return nil, nil, fmt.Errorf("create state folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open state folder %s: %w", folder, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil, fmt.Errorf("lock state folder %s: %w", folder, ErrInUse)
		}
		return nil, nil, fmt.Errorf("lock state folder %s: %w", folder, err)
	}
	c := &Cell{folder: folder, lock: lock}
	data, err := c.read()
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return c, data, nil
}

// read returns the cell's bytes, if the folder is writable: only a write shows that.
func (c *Cell) read() ([]byte, error) {
	if err := writeSynced(c.path(tempName), nil); err != nil {
		return nil, fmt.Errorf("write state folder: %w", err)
	}
	if err := os.Remove(c.path(tempName)); err != nil {
		return nil, fmt.Errorf("write state folder: %w", err)
	}
	data, err := os.ReadFile(c.path(fileName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read stable cell: %w", err)
	}
	return data, nil
}

func (c *Cell) path(name string) string { return filepath.Join(c.folder, name) }

// Save replaces the cell's bytes and syncs them.
func (c *Cell) Save(s storage.Save) storage.Saved {
	return storage.Saved{ID: s.ID, Err: c.replace(s.Data)}
}

func (c *Cell) replace(data []byte) error {
	temp := c.path(tempName)
	if err := writeSynced(temp, data); err != nil {
		return fmt.Errorf("write stable cell: %w", err)
	}
	if err := os.Rename(temp, c.path(fileName)); err != nil {
		return fmt.Errorf("replace stable cell: %w", err)
	}
	if err := SyncFolder(c.folder); err != nil {
		return fmt.Errorf("sync state folder: %w", err)
	}
	return nil
}

// Replace replaces another small file in an existing folder, in the same way as cells. No other caller may do so at the
// same time.
func Replace(folder, name string, data []byte) error {
	path := filepath.Join(folder, name)
	if err := writeSynced(path+".new", data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := SyncFolder(folder); err != nil {
		return fmt.Errorf("sync folder %s: %w", folder, err)
	}
	return nil
}

// makeFolder creates a folder and its parents, so that they survive a power cut: each new one is synced into its
// parent.
func makeFolder(folder string) error {
	found, err := os.Stat(folder)
	if err == nil && !found.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: folder, Err: unix.ENOTDIR}
	}
	if err == nil {
		return nil
	}
	above := filepath.Dir(folder)
	if !errors.Is(err, fs.ErrNotExist) || above == folder {
		return err
	}
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(above)
}

// SyncFolder makes the names in a folder survive a power cut.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Close unlocks the folder.
func (c *Cell) Close() error {
	if err := c.lock.Close(); err != nil {
		return fmt.Errorf("unlock state folder %s: %w", c.folder, err)
	}
	return nil
}

// Place renames a complete folder to its final name, which may exist only as an empty folder. When it has returned nil
// the folder keeps the name, even after a crash.
func Place(folder, name string) error {
	if err := SyncFolder(folder); err != nil {
		return fmt.Errorf("sync folder %s: %w", folder, err)
	}
	if err := os.Rename(folder, name); err != nil {
		return fmt.Errorf("name a folder: %w", err)
	}
	above := filepath.Dir(name)
	if err := SyncFolder(above); err != nil {
		return fmt.Errorf("sync folder %s: %w", above, err)
	}
	return nil
}
