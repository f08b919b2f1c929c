package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// pollPause is how often a watched row is looked at if the system gives no notices.
const pollPause = 20 * time.Millisecond

// notices is a handle's watches. Its hub knows rows by the names of their files.
type notices struct {
	hub watch.Hub

	starting sync.Mutex // guards the following fields
	started  bool
	watcher  *fsnotify.Watcher // nil if the system has no more of them
	reading  sync.WaitGroup
}

// Watch calls changed after the row has changed, by any process.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	outer := ctx
	_, leave, err := s.enter(ctx, "watch", (storage.Slice{Key: key}).Check())
	if err != nil {
		return err
	}
	defer leave()
	name := hashed(key)
	noticed, err := s.notice(name)
	if err != nil {
		return s.failed("watch a row", err)
	}
	if err := s.hub.Watch(outer, name, changed); err != nil {
		return err
	}
	if !noticed {
		before := s.contents(name)
		s.reading.Go(func() { s.poll(outer, name, before) })
	}
	return nil
}

// notice asks for notices about the folder of a row, and reports whether the system will give them.
func (s *Store) notice(name string) (noticed bool, err error) {
	n := &s.notices
	n.starting.Lock()
	defer n.starting.Unlock()
	if !n.started {
		n.started = true
		if n.watcher, err = fsnotify.NewWatcher(); err != nil {
			n.watcher = nil // the system has a limit for each user
		} else {
			n.reading.Go(n.read)
		}
	}
	if n.watcher == nil {
		return false, nil
	}
	folder := filepath.Dir(s.rowPath(name))
	for range 2 {
		if err = n.watcher.Add(folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err := s.makeFolders(folder); err != nil {
			return false, err
		}
	}
	return err == nil, nil // without room for another folder, the row is looked at
}

// read passes notices on.
func (n *notices) read() {
	for {
		select {
		case event, open := <-n.watcher.Events:
			switch {
			case !open:
				return
			case event.Op != fsnotify.Chmod:
				n.hub.Notify(filepath.Base(event.Name))
			}
		case _, open := <-n.watcher.Errors:
			if !open {
				return
			}
			n.hub.NotifyAll() // notices may have been lost
		}
	}
}

// poll looks at a row until ctx or the handle ends.
func (s *Store) poll(ctx context.Context, name string, before []byte) {
	ticker := time.NewTicker(pollPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if now := s.contents(name); !bytes.Equal(before, now) {
			before = now
			s.hub.Notify(name)
		}
	}
}

// contents returns the contents of a row's file as it is: without its lock, so that a record may be incomplete.
func (s *Store) contents(name string) []byte {
	contents, err := os.ReadFile(s.rowPath(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Appendf(nil, "%v", err) // a reader of the row finds the error
	}
	return contents
}

// close ends all watches.
func (n *notices) close() (err error) {
	n.hub.Close()
	n.starting.Lock()
	if n.watcher != nil {
		err = n.watcher.Close()
	}
	n.started = true
	n.starting.Unlock()
	n.reading.Wait()
	return err
}
