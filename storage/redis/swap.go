package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
)

// lanes is the maximum number of concurrent scripts with swaps, and mostSwaps the maximum number of swaps in one: the
// server does nothing else meanwhile.
const (
	lanes     = 4
	mostSwaps = 64
)

// Swap replaces a column if it has the expected value, in one script with other waiting swaps.
func (s *Store) Swap(ctx context.Context, swap *storage.Swap) (storage.Swapped, error) {
	if err := swap.Check(); err != nil {
		return storage.Swapped{}, fmt.Errorf("swap redis: %w", err)
	}
	return s.swaps.Swap(ctx, swap)
}

func (s *Store) swapOne(ctx context.Context, swap *storage.Swap) (storage.Swapped, error) {
	var answers [1]gather.Answer
	if err := s.swapAll(ctx, []*storage.Swap{swap}, answers[:]); err != nil {
		return storage.Swapped{}, err
	}
	return answers[0].Swapped, nil
}

func (s *Store) swapMany(swaps []*storage.Swap) []gather.Answer {
	answers := make([]gather.Answer, len(swaps))
	switch err := s.swapAll(context.Background(), swaps, answers); {
	case err == nil:
		return answers
	case errors.Is(err, storage.ErrInvalid):
		// One of the rows may be of the other kind: the script checks all kinds before it writes anything.
		return gather.Apart(context.Background(), swaps, s.swapOne)
	default:
		return gather.Failed(len(swaps), err)
	}
}

// swapAll does swaps of different columns, or none of them.
func (s *Store) swapAll(ctx context.Context, swaps []*storage.Swap, answers []gather.Answer) error {
	what := "swap redis"
	keys, args := make([]string, len(swaps)), make([]string, 0, 4*len(swaps))
	for i, swap := range swaps {
		expects := "1"
		if swap.Absent {
			expects = ""
		}
		keys[i] = s.key(swap.Key)
		args = append(args, swap.Column, swap.New, expects, swap.Old)
	}
	return s.try(ctx, what, func(ctx context.Context) error {
		results, err := s.swap.Exec(ctx, s.client, keys, args).ToArray()
		if err == nil && len(results) != len(swaps) {
			err = fmt.Errorf("it answers %d of %d swaps", len(results), len(swaps))
		}
		for i := range results {
			if err == nil {
				answers[i].Swapped, err = became(&results[i])
			}
		}
		if err != nil {
			return s.classify(err, what, true)
		}
		return nil
	})
}

// became returns a swap's result.
func became(result *rueidis.RedisMessage) (storage.Swapped, error) {
	switch {
	case result.IsNil():
		return storage.Swapped{}, nil
	case result.IsInt64():
		return storage.Swapped{Done: true}, nil
	}
	value, err := result.ToString()
	return storage.Swapped{Present: true, Value: value}, err
}
