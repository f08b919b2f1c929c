package storelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
)

// Table is one of the caller's tables, whose cells transactions claim: the location of its rows, and the Locker for its
// locks. The original keeps the locks of a table X in a table X_lock_.
type Table struct {
	Data  storage.Store
	Locks *Locker
}

// Expected is the value that a cell must have for a transaction to write.
type Expected struct {
	value  string
	absent bool
}

// Absent expects that the cell does not exist.
var Absent = Expected{absent: true}

// Value expects that the cell has this value.
func Value(v string) Expected { return Expected{value: v} }

// String returns the value, quoted, or "nothing".
func (e Expected) String() string {
	if e.absent {
		return "nothing"
	}
	return fmt.Sprintf("%q", e.value)
}

// MismatchError reports that a cell does not have the expected value. It is an ErrConflict, and nothing was written.
type MismatchError struct {
	Key, Column string
	Want, Have  Expected
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("cell (%q, %q) has %v, and %v was expected", e.Key, e.Column, e.Have, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *MismatchError) Is(target error) bool { return target == holdfast.ErrConflict }

// Tx is a transaction over cells of one or more tables, for use by one goroutine. Its steps are the original's: write,
// check and delete. [Tx.Claim] writes claims; [Tx.Check] or the first [Tx.Mutate] checks them once; [Tx.Commit] or
// [Tx.Rollback] deletes them, and one of these must be called.
//
// A claim on a cell that another transaction of this process has claimed fails at once, in the local mediator. A claim
// of another process is found when the claims are checked. Either is an ErrHeld: roll back, and try again. No claim
// waits for another.
//
// Every process must claim all that a transaction reads and writes before it writes there. Between the check and a
// write a process may be paused for longer than its claims live. Tx compares them with the clock before each write,
// which makes that window short but does not close it: if that matters, let the table refuse lower tokens (Tx.Token).
// The writes of a transaction are not atomic together: a reader without claims may see some of them.
type Tx struct {
	claims  map[cell]*staged
	order   []*staged
	started bool // mutations: all claims are checked
	over    bool
}

// cell identifies a lock.
type cell struct {
	table       Table
	key, column string
}

// staged is a claim in progress.
type staged struct {
	cell     cell
	expected Expected
	done     chan struct{} // closed when lock or err is set
	lock     *holdfast.Lock
	err      error
	cancel   context.CancelFunc
}

// NewTx begins a transaction.
func NewTx() *Tx { return &Tx{claims: map[cell]*staged{}} }

// mediator gives each cell to one transaction of a process at a time, and refuses the others at once.
type mediator struct {
	mu    sync.Mutex
	holds map[cell]*Tx
}

func newMediator() *mediator { return &mediator{holds: map[cell]*Tx{}} }

// take gives a cell to tx, and reports whether it succeeded.
func (m *mediator) take(c cell, tx *Tx) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if by := m.holds[c]; by != nil && by != tx {
		return false
	}
	m.holds[c] = tx
	return true
}

func (m *mediator) give(c cell, tx *Tx) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds[c] == tx {
		delete(m.holds, c)
	}
}

// Claim claims a cell, and records its expected value. The claim is still being written when it returns; Check reports
// whether it holds. A cell that is already claimed stays so, with the first expected value. Key and column together
// have at most 255 bytes. The error is an ErrHeld if another transaction of this process has the cell, an ErrConflict
// after the first Mutate, an ErrName, or an ErrClosed.
func (tx *Tx) Claim(ctx context.Context, t Table, key, column string, expected Expected) error {
	c := cell{t, key, column}
	name := cellName(key, column)
	switch {
	case tx.over:
		return tx.fail("claim", c, fmt.Errorf("%w: the transaction is over", holdfast.ErrClosed))
	case tx.started:
		return tx.fail("claim", c, fmt.Errorf("%w: the transaction has begun to write, so it can claim nothing more; claim all cells first", holdfast.ErrConflict))
	case tx.claims[c] != nil:
		return nil
	case len(key)+len(column) > mostOfCell:
		return tx.fail("claim", c, fmt.Errorf("%w: key and column have %d bytes; at most %d are allowed", holdfast.ErrName, len(key)+len(column), mostOfCell))
	}
	if !t.Locks.mediator.take(c, tx) {
		return tx.fail("claim", c, fmt.Errorf("%w: another transaction of this process has it", holdfast.ErrHeld))
	}
	s := &staged{cell: c, expected: expected, done: make(chan struct{})}
	staging, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go func() {
		defer close(s.done)
		s.lock, s.err = t.Locks.Space(cells).TryLock(staging, name)
	}()
	tx.claims[c] = s
	tx.order = append(tx.order, s)
	return nil
}

// mostOfCell is the maximum length of a key and a column together, for both to fit in a name.
const mostOfCell = (holdfast.MaxName - 1) / 2

// Check verifies that all claims hold: it waits, for all at the same time, until each has been alone for the required
// time. Each is checked once; later calls test it by this process's clock. Check returns the first error: ErrHeld for a
// cell that another process has claimed before, ErrUnavailable if the store fails, ErrLost for a claim that has expired
// since, or the context's.
func (tx *Tx) Check(ctx context.Context) error {
	for _, s := range tx.order {
		select {
		case <-s.done:
		case <-ctx.Done():
			return tx.fail("check", s.cell, ctx.Err())
		}
		if s.err != nil {
			return tx.fail("check", s.cell, s.err)
		}
		if err := s.lock.Check(); err != nil {
			return tx.fail("check", s.cell, err)
		}
	}
	return nil
}

// Token returns the fencing token of a claimed and checked cell, and 0 for any other.
func (tx *Tx) Token(t Table, key, column string) holdfast.Token {
	s := tx.claims[cell{t, key, column}]
	if s == nil {
		return 0
	}
	select {
	case <-s.done:
	default:
		return 0
	}
	if s.err != nil {
		return 0
	}
	return s.lock.Token()
}

// Mutate writes to a table. The first one checks all claims and compares all expected values; if one fails, nothing is
// written, now or later. The error is one of Check's, a *MismatchError, or the store's.
//
// Each column is written under the token of its own cell, as a timestamp. The tokens of one cell rise from one
// transaction to the next; those of different cells are unrelated. The Timestamp of m therefore applies only to columns
// that are not claimed, and without one such a column is an ErrInvalid of package storage. Columns with different
// tokens are written one after the other, in the order of the tokens: an error may leave some of them written.
func (tx *Tx) Mutate(ctx context.Context, t Table, m *storage.Mutate) error {
	if tx.over {
		return fmt.Errorf("mutate: %w: the transaction is over", holdfast.ErrClosed)
	}
	if err := tx.Check(ctx); err != nil {
		return err
	}
	if !tx.started {
		if err := tx.compare(ctx); err != nil {
			return err
		}
		tx.started = true
		if err := tx.Check(ctx); err != nil { // the reads have taken time
			return err
		}
	}
	parts, err := tx.dated(t, m)
	if err != nil {
		return err
	}
	for i := range parts {
		if err := t.Data.Mutate(ctx, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// dated splits a mutation by the timestamps of its columns, the lowest first.
func (tx *Tx) dated(t Table, m *storage.Mutate) ([]storage.Mutate, error) {
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("mutate: %w", err)
	}
	var parts []storage.Mutate
	part := func(column string) (*storage.Mutate, error) {
		timestamp := m.Timestamp
		if s := tx.claims[cell{t, m.Key, column}]; s != nil {
			timestamp = t.Locks.timestamp(s.lock.Token())
		} else if timestamp == 0 {
			return nil, fmt.Errorf("mutate cell (%q, %q): it is not claimed, and no Timestamp says when it is written; claim it, or give one: %w", m.Key, column, storage.ErrInvalid)
		}
		i, found := slices.BinarySearchFunc(parts, timestamp, func(p storage.Mutate, at int64) int { return cmp.Compare(p.Timestamp, at) })
		if !found {
			parts = slices.Insert(parts, i, storage.Mutate{ID: m.ID, Key: m.Key, Timestamp: timestamp, TTL: m.TTL})
		}
		return &parts[i], nil
	}
	for _, e := range m.Additions {
		p, err := part(e.Column)
		if err != nil {
			return nil, err
		}
		p.Additions = append(p.Additions, e)
	}
	for _, column := range m.Deletions {
		p, err := part(column)
		if err != nil {
			return nil, err
		}
		p.Deletions = append(p.Deletions, column)
	}
	return parts, nil
}

// compare reads every claimed cell and compares it with its expected value.
func (tx *Tx) compare(ctx context.Context) error {
	for _, s := range tx.order {
		have, err := read(ctx, s.cell)
		if err != nil {
			return tx.fail("read", s.cell, err)
		}
		if have != s.expected {
			return &MismatchError{Key: s.cell.key, Column: s.cell.column, Want: s.expected, Have: have}
		}
	}
	return nil
}

// The retries of a read after a temporary failure (the original's storage.read-time and its backoff).
const (
	readTime  = 10 * time.Second
	readPause = 50 * time.Millisecond
)

// read returns a cell's value.
func read(ctx context.Context, c cell) (Expected, error) {
	slice := &storage.Slice{Key: c.key, Start: c.column, End: c.column + "\x00"}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for pause := readPause; ; pause *= 2 {
		entries, err := c.table.Data.Slice(ctx, slice)
		switch {
		case err == nil && len(entries) == 0:
			return Absent, nil
		case err == nil:
			return Value(entries[0].Value), nil
		case errors.Is(err, storage.ErrInvalid) || ctx.Err() != nil:
			return Expected{}, err
		}
		select {
		case <-ctx.Done():
			return Expected{}, err
		case <-time.After(jittered(pause)):
		}
	}
}

// Commit ends the transaction, and deletes its claims: its writes stay. It returns when the store has deleted the
// checked claims; if ctx ends first, Commit returns its error and the deletion continues. An unchecked claim is deleted
// as soon as the store has answered its write, which Commit does not wait for: until then another process may find the
// cell claimed. Any other error reports that a claim was lost before the end; then others may have written in the
// meantime. A second Commit does nothing.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.over {
		return nil
	}
	var lost error
	for _, s := range tx.order {
		select {
		case <-s.done:
			if s.err == nil && tx.started {
				lost = errors.Join(lost, s.lock.Check())
			}
		default:
		}
	}
	return errors.Join(lost, tx.end(ctx))
}

// Rollback ends the transaction, and deletes its claims as Commit does. Writes are not undone; before all claims were
// checked there are none. Later calls, and one after a Commit, do nothing.
func (tx *Tx) Rollback(ctx context.Context) error {
	if tx.over {
		return nil
	}
	return tx.end(ctx)
}

// end deletes all claims. Even if the store fails, the cells are free for other transactions of this process; a claim
// that could not be deleted blocks other processes until it expires.
func (tx *Tx) end(ctx context.Context) error {
	tx.over = true
	for _, s := range tx.order {
		s.cancel() // withdraws a claim that is not checked yet
	}
	failed := make([]error, len(tx.order))
	var all sync.WaitGroup
	for i, s := range tx.order {
		all.Go(func() {
			<-s.done
			if s.err == nil {
				if err := s.lock.Unlock(ctx); err != nil && !errors.Is(err, holdfast.ErrLost) {
					failed[i] = tx.fail("release", s.cell, err)
				}
			}
			s.cell.table.Locks.mediator.give(s.cell, tx)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (tx *Tx) fail(op string, c cell, err error) error {
	return fmt.Errorf("%s cell (%q, %q): %w", op, c.key, c.column, err)
}
