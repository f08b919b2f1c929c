package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Names in Config.Data: the journal's folder, and the record of its spaces. The cell may be in Data, too.
const (
	logsName   = "logs"
	spacesName = "spaces"
	cellName   = "cell" // as named by package cell
)

// The record in Config.State that there are logs: the data folder itself may be lost, with its own record.
const (
	keepsName = "keeps-logs"
	keepsText = "This member keeps logs in its data folder, and must not start without them.\n"
)

// data is a member's storage besides its cell.
type data struct {
	journal  *journal.Journal
	sync     time.Duration // latency of a sync
	watching sync.WaitGroup
	over     chan struct{} // closed when the member is
}

// firstCell draws the ids of a member that has none, and writes them before anything is stored in their name: a crash
// between the two must not leave a folder that belongs to no member.
func (n *Member) firstCell() (membership.Cell, error) {
	var drawn membership.Cell
	if n.config.Data == "" {
		return drawn, nil // the machine draws them
	}
	drawn.ID, drawn.Cluster = membership.Draw(secretRand())
	return drawn, n.folder.Save(storage.Save{Data: drawn.Encode()}).Err
}

// openData opens the data folder, and loads the spaces' logs.
func (n *Member) openData(s *member.Config) error {
	folder := n.config.Data
	if folder == "" {
		return nil
	}
	recorded, err := readSpaces(folder)
	if err != nil {
		return err
	}
	if err := recorded.checkLogs(folder, n.config.State); err != nil {
		return err
	}
	opened, err := journal.Open(filepath.Join(folder, logsName), journal.Options{Identity: identityOf(s.Cell.ID), FS: n.config.disk, Logger: n.logger})
	if err != nil {
		if _, has := os.Stat(filepath.Join(folder, cellName)); has == nil && n.config.State != folder {
			err = fmt.Errorf("%w; the folder has the stable cell of its member itself: leave --state %s out", err, n.config.State)
		}
		return fmt.Errorf("data folder %s: %w", folder, err)
	}
	n.data = &data{journal: opened, over: make(chan struct{})}
	if err := cell.Replace(n.config.State, keepsName, []byte(keepsText)); err != nil {
		return fmt.Errorf("record that this member keeps logs: %w", err)
	}
	if err := n.measureSync(); err != nil {
		return err
	}
	if err := recorded.judge(folder, n.config.Spaces); err != nil {
		return err
	}
	for i := range s.Spaces {
		shape := shapeOf(&n.config.Spaces[i])
		if err := n.data.load(folder, &s.Spaces[i], shape.shards, recorded); err != nil {
			return err
		}
	}
	return recorded.write(folder, n.config.Spaces)
}

// slowSync is the latency of a sync above which the operator is warned.
const slowSync = 10 * time.Millisecond

// measureSync measures the disk's latency: a lock in a durable space waits for it.
func (n *Member) measureSync() (err error) {
	if n.data.sync, err = journal.SyncTime(n.config.disk, n.config.Data); err != nil {
		return fmt.Errorf("data folder %s: %w", n.config.Data, err)
	}
	if n.data.sync > slowSync {
		n.logger.Warn("the disk of the data folder is slow, and every lock and unlock waits for its sync; use a faster disk with --data, or keep locks in memory",
			"folder", n.config.Data, "sync", n.data.sync, "more_than", slowSync)
	}
	return nil
}

// SyncTime returns the latency of a small synced write to Config.Data at the start; 0 without Data.
func (n *Member) SyncTime() time.Duration {
	if n.data == nil {
		return 0
	}
	return n.data.sync
}

// identityOf returns the identity of a journal's owner.
func identityOf(id protocol.ID) []byte {
	return strconv.AppendUint([]byte("member "), uint64(id), 10)
}

// load loads a space's logs, one for each shard.
func (d *data) load(folder string, space *member.Space, shards int, recorded spaceRecord) error {
	for i := range shards {
		kept, known, err := d.journal.Kept(member.LogOf(space.Name) + uint64(i))
		switch _, is := recorded[space.Name]; {
		case err != nil:
			return fmt.Errorf("data folder %s: space %q: %w", folder, space.Name, err)
		case known && !is:
			return fmt.Errorf("data folder %s has logs of space %q, and its file %s does not have the space; put the file back", folder, space.Name, spacesName)
		case known:
			space.Logs = append(space.Logs, kept)
		}
	}
	return nil
}

// watchData makes the member unfit when its journal has failed: it can no longer keep its promises.
func (n *Member) watchData() {
	if n.data == nil {
		return
	}
	n.data.watching.Go(func() {
		select {
		case <-n.data.over:
			return
		case <-n.data.journal.Failed():
		}
		err := fmt.Errorf("data folder %s: %w; check the disk, then start the member again", n.config.Data, n.data.journal.Err())
		n.logger.Error("this member cannot go on", "error", err)
		n.change(func() {
			if n.unfit == nil {
				n.unfit = err
			}
		})
		n.alone.Store(true)
	})
}

// closeData closes the journal. The driver no longer uses it.
func (n *Member) closeData() error {
	if n.data == nil {
		return nil
	}
	close(n.data.over)
	n.data.watching.Wait()
	if err := n.data.journal.Close(); err != nil {
		return fmt.Errorf("data folder %s: %w", n.config.Data, err)
	}
	return nil
}

// readSpaces reads which spaces a folder has. A new one has none recorded.
func readSpaces(folder string) (spaceRecord, error) {
	path := filepath.Join(folder, spacesName)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return spaceRecord{}, nil
	case err != nil:
		return nil, fmt.Errorf("read which spaces a data folder has: %w", err)
	}
	recorded, err := decodeSpaces(string(text))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: file %s: %w", folder, path, err)
	}
	return recorded, nil
}

// checkLogs refuses a folder whose logs are gone: this member's promises are forgotten, and it would make different
// ones.
func (r spaceRecord) checkLogs(folder, state string) error {
	logs := filepath.Join(folder, logsName, "journal") // as named by package journal
	if there, err := exists(logs); there || err != nil {
		return err // they are recorded when there are logs
	}
	if len(r) > 0 {
		return fmt.Errorf("data folder %s had spaces, and its folder %s is gone; put it back, or use an empty folder", folder, logs)
	}
	if kept, err := exists(filepath.Join(state, keepsName)); !kept || err != nil {
		return err
	}
	return fmt.Errorf("data folder %s has no logs, but the member of state folder %s had some, and its promises are lost; restore the data folder as it was when the member stopped, or replace the member by a new one with an empty state folder", folder, state)
}

// exists reports whether a file or folder exists.
func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("look for the logs of a data folder: %w", err)
}

// write records the new spaces.
func (r spaceRecord) write(folder string, spaces []Space) error {
	if !r.add(spaces) {
		return nil
	}
	if err := cell.Replace(folder, spacesName, r.encode()); err != nil {
		return fmt.Errorf("record the spaces of a data folder: %w", err)
	}
	return nil
}

// CheckData verifies all contents of a data folder, whose member must not run, and changes nothing. It returns the
// faults found. The error is the reason why the check could not be made: a journal.ErrNone, journal.ErrInUse or
// *journal.FormatError, or the disk's error.
func CheckData(folder string) (found []error, err error) {
	wrong, err := journal.Check(nil, filepath.Join(folder, logsName))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", folder, err)
	}
	for _, one := range wrong {
		found = append(found, one)
	}
	if _, err := readSpaces(folder); err != nil {
		found = append(found, err)
	}
	return found, nil
}
