package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// broken is a fault, and what the handles of a store share that has it.
type broken struct {
	fault string

	mu      sync.Mutex
	rows    *memory.Store
	handles []*mutant
	count   int64
	deleted map[string]bool
}

func newBroken(fault string) *broken { return &broken{fault: fault, deleted: map[string]bool{}} }

func (b *broken) next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	return b.count
}

// mutant is a handle on a store in memory, with a fault in between.
type mutant struct {
	storage.Store
	*broken
	hub  watch.Hub
	seen map[string][]storage.Entry // of stale reads
}

func (m *mutant) is(fault string) bool { return m.fault == fault }

func (m *mutant) errs(err error) error {
	switch {
	case err == nil:
	case m.is("bare errors"):
		return errors.New("something is wrong")
	case m.is("errors of two kinds"):
		return fmt.Errorf("%w: %w", err, storage.ErrRefused)
	case m.is("context without its error") && errors.Is(err, storage.ErrRefused):
		return storage.ErrRefused
	case m.is("input unchecked") && errors.Is(err, storage.ErrInvalid):
		return nil
	}
	return err
}

func (m *mutant) context(ctx context.Context) context.Context {
	if m.is("done context ignored") || m.is("given up is refused") {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// name spoils the name of a row or a column.
func (m *mutant) name(name string) string {
	switch {
	case m.is("names are text"):
		return strings.ToValidUTF8(name, "?")
	case m.is("names are cut"):
		return name[:min(len(name), 1000)]
	}
	return name
}

func (m *mutant) Mutate(ctx context.Context, given *storage.Mutate) error {
	own := *given
	own.Key = m.name(given.Key)
	own.Additions, own.Deletions = nil, nil
	for _, e := range given.Additions {
		if m.is("values are cut") {
			e.Value = e.Value[:min(len(e.Value), 1000)]
		}
		if m.is("deletions for ever") && m.deleted[own.Key+e.Column] {
			continue
		}
		own.Additions = append(own.Additions, storage.Entry{Column: m.name(e.Column), Value: e.Value})
	}
	for _, column := range given.Deletions {
		own.Deletions = append(own.Deletions, m.name(column))
		if m.is("deletions for ever") {
			m.deleted[own.Key+column] = true
		}
	}
	if m.is("rows mix") {
		m.mix(&own)
	}
	switch number := m.next(); {
	case m.is("timestamps ignored"):
		own.Timestamp = number
	case m.is("timestamps are floats"):
		own.Timestamp = int64(float64(given.Timestamp))
	case m.is("deletions under higher timestamps only") && len(own.Additions) == 0:
		own.Timestamp = max(given.Timestamp-1, 0)
	case m.is("deleted rows stay") && len(own.Deletions) == 3, m.is("late additions") && len(own.Deletions) == 1,
		m.is("lost under load") && number%29 == 0,
		m.is("forgets at once") && given.TTL > 0 && given.TTL < time.Minute:
		return nil
	case m.is("never forgets"):
		own.TTL = 0
	case m.is("half a mutate") && own.Check() == nil:
		return m.halves(ctx, &own)
	}
	err := m.Store.Mutate(m.context(ctx), &own)
	if m.is("given up is refused") && ctx.Err() != nil {
		return storage.ErrRefused
	}
	if len(given.Deletions) > 0 && !m.is("deletions are not reported") {
		m.notify(given.Key)
	}
	return m.errs(err)
}

// halves does one column after the other.
func (m *mutant) halves(ctx context.Context, given *storage.Mutate) error {
	for i := range given.Additions {
		part := storage.Mutate{Key: given.Key, Additions: given.Additions[i : i+1], Timestamp: given.Timestamp}
		if err := m.Store.Mutate(ctx, &part); err != nil {
			return err
		}
		runtime.Gosched()
	}
	if len(given.Deletions) == 0 {
		return nil
	}
	return m.Store.Mutate(ctx, &storage.Mutate{Key: given.Key, Deletions: given.Deletions, Timestamp: given.Timestamp})
}

// mix has the row's key and the column be one name.
func (m *mutant) mix(own *storage.Mutate) {
	for i := range own.Additions {
		own.Additions[i].Column = own.Key + own.Additions[i].Column
	}
	for i := range own.Deletions {
		own.Deletions[i] = own.Key + own.Deletions[i]
	}
	own.Key = "all"
}

func (m *mutant) Slice(ctx context.Context, given *storage.Slice) ([]storage.Entry, error) {
	own := *given
	own.Key = m.name(given.Key)
	switch {
	case m.is("rows mix"):
		own = storage.Slice{Key: "all", Start: given.Key, End: given.Key + "\xff\xff\xff"}
	case m.is("end is included") && own.End != "":
		own.End += "\x00"
	case m.is("no limit"):
		own.Limit = 0
	}
	entries, err := m.Store.Slice(m.context(ctx), &own)
	if m.is("stale reads") && err == nil {
		if m.seen[given.Key] == nil {
			m.seen[given.Key] = entries
		}
		entries = m.seen[given.Key]
	}
	return m.spoil(given, entries), m.errs(err)
}

// spoil spoils what was read.
func (m *mutant) spoil(given *storage.Slice, entries []storage.Entry) []storage.Entry {
	by := map[string]func(a, b storage.Entry) int{
		"order of signed bytes": func(a, b storage.Entry) int { return cmp.Compare(int8(a.Column[0]), int8(b.Column[0])) },
		"order of lengths":      func(a, b storage.Entry) int { return cmp.Compare(len(a.Column), len(b.Column)) },
		"order of letters":      func(a, b storage.Entry) int { return cmp.Compare(strings.ToLower(a.Column), strings.ToLower(b.Column)) },
	}[m.fault]
	switch {
	case by != nil:
		slices.SortStableFunc(entries, by)
	case m.is("start is left out"):
		entries = slices.DeleteFunc(entries, func(e storage.Entry) bool { return e.Column == given.Start })
	case m.is("a page is all"):
		entries = entries[:min(len(entries), 1000)]
	case m.is("rows mix"):
		for i := range entries {
			entries[i].Column = strings.TrimPrefix(entries[i].Column, given.Key)
		}
	}
	return entries
}

func (m *mutant) Swap(ctx context.Context, given *storage.Swap) (storage.Swapped, error) {
	own := *given
	own.Key, own.Column = m.name(given.Key), m.name(given.Column)
	if m.is("swap cuts values") {
		own.Old, own.New = own.Old[:min(len(own.Old), 4096)], own.New[:min(len(own.New), 4096)]
	}
	var swapped storage.Swapped
	var err error
	if m.is("swap is a read and a write") && own.Check() == nil {
		swapped, err = m.readAndWrite(ctx, &own)
	} else {
		swapped, err = m.Store.Swap(m.context(ctx), &own)
	}
	switch {
	case m.is("swap of an empty value") && own.Absent && swapped.Present && swapped.Value == "":
		return m.Store.Swap(ctx, &storage.Swap{Key: own.Key, Column: own.Column, New: own.New})
	case m.is("swap says no value"):
		swapped.Value = ""
	case m.is("swap takes the row") && swapped.Done:
		entries, _ := m.Store.Slice(ctx, &storage.Slice{Key: own.Key, Serial: true})
		for _, e := range entries {
			if e.Column != own.Column {
				_, _ = m.Store.Swap(ctx, &storage.Swap{Key: own.Key, Column: e.Column, Old: e.Value})
			}
		}
	}
	if swapped.Done && given.Notify && !m.is("swaps are not reported") {
		m.notify(given.Key)
	}
	return swapped, m.errs(err)
}

func (m *mutant) readAndWrite(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	entries, err := m.Store.Slice(ctx, &storage.Slice{Key: w.Key, Start: w.Column, End: w.Column + "\x00"})
	if err != nil {
		return storage.Swapped{}, err
	}
	runtime.Gosched()
	switch {
	case len(entries) == 0 && !w.Absent:
		return storage.Swapped{}, nil
	case len(entries) > 0 && (w.Absent || entries[0].Value != w.Old):
		return storage.Swapped{Present: true, Value: entries[0].Value}, nil
	}
	err = m.Store.Mutate(ctx, &storage.Mutate{Key: w.Key, Additions: []storage.Entry{entry(w.Column, w.New)}, Timestamp: m.next()})
	return storage.Swapped{Done: err == nil}, err
}

func (m *mutant) Clock(ctx context.Context) (int64, error) {
	at, err := m.Store.Clock(m.context(ctx))
	switch {
	case m.is("the clock stands"):
		at = time.Now().Truncate(time.Hour / 12).UnixMicro()
	case m.is("the clock goes back"):
		at -= m.next() * time.Second.Microseconds()
	case m.is("the clock is of another zone"):
		at += (2 * time.Hour).Microseconds()
	}
	return at, m.errs(err)
}

func (m *mutant) Scan(ctx context.Context, r *storage.Scan, found func(string, []storage.Entry) error) error {
	own := *r
	switch {
	case m.is("scans find all rows"):
		own.Prefix = ""
	case m.is("scans find one kind of rows"):
		own.Serial = false
	}
	err := m.Store.(storage.Scanner).Scan(m.context(ctx), &own, func(key string, entries []storage.Entry) error {
		const page = 1000
		for m.is("scans cut rows") && len(entries) > page {
			if err := found(key, entries[:page]); err != nil {
				return err
			}
			entries = entries[page:]
		}
		err := found(key, entries)
		if m.is("scans go on") {
			return nil
		}
		return err
	})
	return m.errs(err)
}

func (m *mutant) Watch(ctx context.Context, key string, changed func()) error {
	own := m.context(ctx)
	switch {
	case m.is("watches do not end"), m.is("watches outlive the handle"):
		own = context.WithoutCancel(ctx)
	case m.is("calls at a time"):
		call := changed
		changed = func() {
			var all sync.WaitGroup
			for range 8 {
				all.Go(call)
			}
			all.Wait()
		}
	case m.is("one watcher is notified"):
		if m.next() > 1 {
			changed = func() {}
		}
	}
	return m.errs(m.hub.Watch(own, key, changed))
}

// notify tells the watchers of a row.
func (m *mutant) notify(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, handle := range m.handles {
		if handle == m || !m.is("only its own are notified") {
			handle.hub.Notify(key)
		}
	}
}

func (m *mutant) Features() storage.Features {
	f := m.Store.Features()
	if m.is("features without a name") {
		f.Name = ""
	}
	f.Swap = !m.is("swap though it has none")
	return f
}

func (m *mutant) Close() error {
	switch {
	case m.is("closed is forgotten"):
		return nil
	case !m.is("watches outlive the handle"):
		m.hub.Close()
	}
	return m.Store.Close()
}
