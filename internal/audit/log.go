package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Destinations that are not files.
const (
	Stderr = "stderr"
	Syslog = "syslog"
)

// Config configures a Log.
type Config struct {
	// To is stderr, syslog or the path of a file. Empty means that entries are only kept in memory, and fed.
	To string
	// Member is this member's name, for every entry.
	Member string
	// Bytes is the largest size of the file. Zero means 100 MiB.
	Bytes int64
	// Keep is the number of older files that are kept. Zero means 10.
	Keep int
	// Remember is the number of entries that are kept in memory. Zero means 1,000.
	Remember int
	// Now returns the wall time of entries. Nil means time.Now.
	Now func() time.Time

	stderr io.Writer // nil means the process's
}

// syncEvery is the least time between two syncs of the file, and how long entries of single locks are collected.
const syncEvery = time.Second

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	member string
	to     string
	now    func() time.Time

	mu      sync.Mutex
	sink    sink // nil without a destination
	pending []byte
	waiting int // entries in pending
	missing int // entries that could not be written
	fault   error
	dirty   bool        // the sink has lines that are not synced
	timer   *time.Timer // runs while there is something to write or to sync
	closed  bool
	latest  ring
	feeds   map[*Feed]struct{}
}

// Open opens a log. The error names the destination. Close it.
func Open(c Config) (*Log, error) {
	l := &Log{
		member: c.Member, to: c.To, now: c.Now, feeds: map[*Feed]struct{}{}, latest: ring{most: cmp.Or(c.Remember, 1000)},
	}
	if l.now == nil {
		l.now = time.Now
	}
	var err error
	switch c.To {
	case "":
	case Stderr:
		l.sink = stream{to: os.Stderr}
		if c.stderr != nil {
			l.sink = stream{to: c.stderr}
		}
	case Syslog:
		l.sink, err = openSystem()
	default:
		l.sink = &file{path: c.To, most: cmp.Or(c.Bytes, 100<<20), keep: cmp.Or(c.Keep, 10)}
		err = l.sink.reopen()
	}
	if err != nil {
		return nil, fmt.Errorf("open the audit log %s: %w", c.To, err)
	}
	return l, nil
}

// Add adds an entry, with the time and the member's name. A failure is reported by Ready.
func (l *Log) Add(e Entry) {
	e.Time, e.Member = l.now().UTC(), l.member
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.latest.add(e)
	for f := range l.feeds {
		f.put(e)
	}
	if l.sink == nil {
		return
	}
	l.pending = append(l.pending, e.line()...)
	l.waiting++
	if !e.frequent() || len(l.pending) > maxPending {
		l.flush()
	}
	l.later()
}

// maxPending bounds the bytes that wait to be written.
const maxPending = 1 << 20

// flush writes what waits. What cannot be written is counted, and gone: memory is bounded.
func (l *Log) flush() {
	lines, count := l.pending, l.waiting
	l.pending, l.waiting = l.pending[:0], 0
	if len(lines) == 0 {
		return
	}
	if l.missing > 0 {
		gap := Entry{Time: l.now().UTC(), Member: l.member, Event: Gap, Detail: fmt.Sprintf("%d entries before this one were not written: %v", l.missing, l.fault)}
		lines = append(gap.line(), lines...)
	}
	if l.fault = l.sink.write(lines); l.fault != nil {
		l.missing += count
		return
	}
	l.missing, l.dirty = 0, true
}

// later writes and syncs within a second. It is called with the mutex held.
func (l *Log) later() {
	if l.timer != nil || len(l.pending) == 0 && !l.dirty {
		return
	}
	l.timer = time.AfterFunc(syncEvery, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer = nil
		if !l.closed {
			l.settle()
		}
	})
}

// settle writes what waits, and syncs.
func (l *Log) settle() {
	l.flush()
	if !l.dirty {
		return
	}
	l.dirty = false
	if err := l.sink.sync(); err != nil {
		l.fault = err
	}
}

// Ready returns nil if the log can be written. After a failure it tries again.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		return nil
	}
	if l.missing > 0 {
		l.pending = append(l.pending, (&Entry{Time: l.now().UTC(), Member: l.member, Event: Gap, Detail: "the log can be written again"}).line()...)
		l.flush()
	} else {
		l.fault = l.sink.sync()
	}
	return l.failure()
}

// Fault returns why the log cannot be written; nil if it can, as far as is known.
func (l *Log) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure()
}

func (l *Log) failure() error {
	if l.fault == nil {
		return nil
	}
	return fmt.Errorf("the audit log %s cannot be written: %w", l.to, l.fault)
}

// To returns the destination; "" if there is none.
func (l *Log) To() string { return l.to }

// Reopen opens the file anew, after it was renamed.
func (l *Log) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sink == nil || l.closed {
		return nil
	}
	l.settle()
	if err := l.sink.reopen(); err != nil {
		l.fault = err
		return l.failure()
	}
	return nil
}

// Close writes and syncs what waits, and ends the feeds.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for f := range l.feeds {
		f.end(ErrClosed)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.sink == nil {
		return nil
	}
	l.settle()
	return errors.Join(l.fault, l.sink.close())
}
