package audit

import (
	"context"
	"errors"
	"fmt"
)

// Errors of a feed.
var (
	ErrSlow   = errors.New("the reader of the audit log is too slow")
	ErrClosed = errors.New("the audit log is closed")
)

// ring has the latest entries.
type ring struct {
	most    int
	entries []Entry // in a circle once it is full
	next    int
}

func (r *ring) add(e Entry) {
	if len(r.entries) < r.most {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.next] = e
	r.next = (r.next + 1) % r.most
}

// last returns the latest n entries, oldest first.
func (r *ring) last(n int) []Entry {
	all := append(append([]Entry(nil), r.entries[r.next:]...), r.entries[:r.next]...)
	return all[max(0, len(all)-max(0, n)):]
}

// mostUnread bounds the entries that wait in a feed.
const mostUnread = 10_000

// Feed gets the entries of a log, beginning at a moment.
type Feed struct {
	log    *Log
	unread []Entry // guarded by the log's mutex
	err    error
	wake   chan struct{} // has a value when there may be something
}

// Follow returns a feed of the latest entries, up to last of them, and all that follow. Close it.
func (l *Log) Follow(last int) *Feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &Feed{log: l, unread: l.latest.last(last), wake: make(chan struct{}, 1)}
	if l.closed {
		f.err = ErrClosed
	}
	l.feeds[f] = struct{}{}
	f.signal()
	return f
}

// Unread returns the number of entries that Next would return at once.
func (f *Feed) Unread() int {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	return len(f.unread)
}

func (f *Feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// put adds an entry. It is called with the log's mutex held.
func (f *Feed) put(e Entry) {
	if f.err != nil {
		return
	}
	if len(f.unread) >= mostUnread {
		f.end(ErrSlow)
		return
	}
	f.unread = append(f.unread, e)
	f.signal()
}

func (f *Feed) end(err error) {
	if f.err == nil {
		f.err = err
	}
	f.signal()
}

// Next returns the entries since the last call, at least one. The error is the context's, ErrSlow if more entries waited
// than a feed keeps, or ErrClosed, each after the last entry.
func (f *Feed) Next(ctx context.Context) ([]Entry, error) {
	for {
		f.log.mu.Lock()
		unread, err := f.unread, f.err
		f.unread = nil
		f.log.mu.Unlock()
		switch {
		case len(unread) > 0:
			return unread, nil
		case errors.Is(err, ErrSlow):
			return nil, fmt.Errorf("%w: more than %d entries have waited", err, mostUnread)
		case err != nil:
			return nil, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the feed.
func (f *Feed) Close() {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	delete(f.log.feeds, f)
	f.end(ErrClosed)
}
