package load

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quick makes a run short: 2 rounds of 100 ms, and one of Hold with 50,000 locks.
func (c *Config) Quick() {
	c.Rounds, c.Duration, c.HoldRounds, c.Locks = 2, 100*time.Millisecond, 1, 50_000
}

// SetRounds sets Rounds as a user wants them.
func (c *Config) SetRounds(rounds int) error {
	if rounds < 1 || rounds > MaxRounds {
		return fmt.Errorf("%d: want 1 to %d", rounds, MaxRounds)
	}
	c.Rounds = rounds
	return nil
}

// SetDuration sets Duration as a user wants it.
func (c *Config) SetDuration(d time.Duration) error {
	if d < time.Millisecond || d > MaxDuration {
		return fmt.Errorf("%v: want 1ms to %v", d, MaxDuration)
	}
	c.Duration = d
	return nil
}

// ReadWorkers reads numbers of workers, separated by commas; nil where there is no text.
func ReadWorkers(text string) ([]int, error) {
	return readList(text, func(item string) (int, error) {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 || n > MaxWorkers {
			return 0, fmt.Errorf("want numbers from 1 to %d, as in 1,64", MaxWorkers)
		}
		return n, nil
	})
}

// ReadThink reads think times, separated by commas; nil where there is no text.
func ReadThink(text string) ([]time.Duration, error) {
	return readList(text, func(item string) (time.Duration, error) {
		d, err := time.ParseDuration(item)
		if err != nil || d < 0 || d > MaxThink {
			return 0, fmt.Errorf("want durations from 0 to %v, as in 0,1ms", MaxThink)
		}
		return d, nil
	})
}

// ReadChoices reads words, separated by commas, that must be among some; nil where there is
// no text.
func ReadChoices(text string, allowed []string) ([]string, error) {
	return readList(text, func(item string) (string, error) {
		if !slices.Contains(allowed, item) {
			return "", errors.New("want some of " + strings.Join(allowed, ", "))
		}
		return item, nil
	})
}

// readList reads values, separated by commas, each given once.
func readList[T comparable](text string, read func(string) (T, error)) (values []T, err error) {
	if text == "" {
		return nil, nil
	}
	for _, item := range strings.Split(text, ",") {
		value, err := read(strings.TrimSpace(item))
		if err == nil && slices.Contains(values, value) {
			err = errors.New("it is given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", item, err)
		}
		values = append(values, value)
	}
	return values, nil
}
