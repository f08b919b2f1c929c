package journal

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
	"github.com/holdfast-locks/holdfast/internal/sparing"
)

// patience makes an open journal wait when no descriptor is left to open a file. That is no fault of the disk, and
// nothing was changed in the folder: opening is retried until there is one.
type patience struct {
	folder string
	logger *slog.Logger // nil means none
	log    sparing.Log
	open   atomic.Bool   // before that, failing to open is an error
	over   chan struct{} // closed when the journal is being closed, which ends all waits
}

// The pauses between two attempts to open a file: doubled after each.
const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// have runs a function that opens a file, repeatedly while there is no descriptor for it.
func (p *patience) have(name string, do func() error) error {
	err := do()
	for pause := firstPause; p != nil && p.open.Load() && descriptors.Exhausted(err) && p.wait(name, err, pause); pause = min(2*pause, longestPause) {
		err = do()
	}
	return err
}

// wait reports whether to retry.
func (p *patience) wait(name string, err error, pause time.Duration) bool {
	if news, held := p.log.News(p.folder); news && p.logger != nil {
		p.logger.Warn("the journal waits until it can open a file: this process, or the machine, can open no more; raise that limit (ulimit -n, LimitNOFILE=)",
			"folder", p.folder, "file", name, "error", err, "times_before", held)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.over:
		return false
	}
}

// patiently opens a file.
func (d *disk) patiently(name string, do func() (vfs.File, error)) (opened vfs.File, err error) {
	err = d.patience.have(name, func() (err error) { opened, err = do(); return err })
	return opened, err
}
