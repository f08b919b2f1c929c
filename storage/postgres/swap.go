package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
)

// lanes is the maximum number of concurrent statements with swaps, each on a connection, and mostSwaps the maximum
// number of swaps in one: it locks their rows until it has ended.
const (
	lanes     = 2
	mostSwaps = 64
)

// Swap replaces a column if it has the expected value, in one statement with other waiting swaps.
func (s *Store) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if err := w.Check(); err != nil {
		return storage.Swapped{}, fmt.Errorf("swap: %w", err)
	}
	if w.Absent {
		return s.swapOne(ctx, w) // once in the life of a column
	}
	return s.swaps.Swap(ctx, w)
}

// swapMany does swaps in one statement. A swap that fails because the column has another value is repeated alone, which
// returns that value.
func (s *Store) swapMany(swaps []*storage.Swap) []gather.Answer {
	ctx, leave, err := s.enter(context.Background(), nil)
	if err != nil {
		return gather.Failed(len(swaps), fmt.Errorf("swap: %w", err))
	}
	defer leave()
	done := make([]bool, len(swaps))
	with := together(swaps)
	err = s.do(ctx, true, func(c *pgx.Conn) error {
		clear(done)
		rows, err := c.Query(ctx, s.statements.swapMany, with...)
		if err != nil {
			return err
		}
		var at int64
		_, err = pgx.ForEachRow(rows, []any{&at}, func() error {
			done[at] = true
			return nil
		})
		return err
	})
	switch {
	case errors.Is(err, storage.ErrInvalid):
		// The table may reject one of them, and none was done.
		return gather.Apart(ctx, swaps, s.swapOne)
	case err != nil:
		for _, w := range swaps {
			if w.Notify && errors.Is(err, storage.ErrUnknown) {
				s.publish(w.Key)
			}
		}
		return gather.Failed(len(swaps), fmt.Errorf("swap: %w", err))
	}
	answers := make([]gather.Answer, len(swaps))
	for i, w := range swaps {
		switch {
		case !done[i]:
			answers[i].Swapped, answers[i].Err = s.swapOne(ctx, w)
		default:
			answers[i].Swapped.Done = true
			if w.Notify {
				s.publish(w.Key)
			}
		}
	}
	return answers
}

// together returns the statement's arguments, with the rows in order: two statements with the same rows then lock them
// in the same order.
func together(swaps []*storage.Swap) []any {
	order := make([]int64, len(swaps))
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortFunc(order, func(a, b int64) int {
		return cmp.Or(cmp.Compare(swaps[a].Key, swaps[b].Key), cmp.Compare(swaps[a].Column, swaps[b].Column))
	})
	keys, columns := make([][]byte, len(swaps)), make([][]byte, len(swaps))
	values, olds := make([][]byte, len(swaps)), make([][]byte, len(swaps))
	for i, at := range order {
		w := swaps[at]
		keys[i], columns[i], values[i], olds[i] = []byte(w.Key), []byte(w.Column), []byte(w.New), []byte(w.Old)
	}
	return []any{keys, columns, values, olds, order}
}

// swapOne tries the plain statement first, which costs the server half as much as the one that returns the column's
// actual value.
func (s *Store) swapOne(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if w.Absent {
		return s.swapReturning(ctx, w)
	}
	within, leave, err := s.enter(ctx, w.Check())
	if err != nil {
		return storage.Swapped{}, fmt.Errorf("swap: %w", err)
	}
	var done bool
	err = s.do(within, true, func(c *pgx.Conn) error {
		tag, err := c.Exec(within, s.statements.swapPlain, []byte(w.Key), []byte(w.Column), []byte(w.New), []byte(w.Old))
		done = tag.RowsAffected() == 1
		return err
	})
	leave()
	switch {
	case err == nil && !done:
		return s.swapReturning(ctx, w)
	case w.Notify && (err == nil || errors.Is(err, storage.ErrUnknown)):
		s.publish(w.Key)
	}
	if err != nil {
		return storage.Swapped{}, fmt.Errorf("swap: %w", err)
	}
	return storage.Swapped{Done: true}, nil
}

// swapReturning is a statement that returns the column's value if it is not the expected one.
func (s *Store) swapReturning(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	ctx, leave, err := s.enter(ctx, w.Check())
	if err != nil {
		return storage.Swapped{}, fmt.Errorf("swap: %w", err)
	}
	defer leave()
	statement, with := s.statements.swapAbsent, []any{[]byte(w.Key), []byte(w.Column), []byte(w.New)}
	if !w.Absent {
		statement, with = s.statements.swap, append(with, []byte(w.Old))
	}
	for {
		var swapped storage.Swapped
		err = s.do(ctx, true, func(c *pgx.Conn) error {
			var value []byte
			err := c.QueryRow(ctx, statement, with...).Scan(&swapped.Done, &value)
			swapped.Present, swapped.Value = !swapped.Done, string(value)
			if errors.Is(err, pgx.ErrNoRows) {
				swapped, err = storage.Swapped{}, nil
			}
			return err
		})
		// Another swap ended in the meantime, which the statement waited for and does not show.
		stale := err == nil && !swapped.Done && swapped.Present != w.Absent && swapped.Value == w.Old
		if stale && ctx.Err() == nil {
			continue
		}
		if stale {
			err = fmt.Errorf("%w: other writers keep changing the row: %w", storage.ErrRefused, ctx.Err())
		}
		if w.Notify && (swapped.Done || errors.Is(err, storage.ErrUnknown)) {
			s.publish(w.Key)
		}
		if err != nil {
			return storage.Swapped{}, fmt.Errorf("swap: %w", err)
		}
		return swapped, nil
	}
}
