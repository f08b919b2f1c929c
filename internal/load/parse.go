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

// Flags are a command's given flags; *cli.Command implements it.
type Flags interface {
	IsSet(name string) bool
	Bool(name string) bool
	Int(name string) int
	Duration(name string) time.Duration
	String(name string) string
}

// ReadFlags applies the flags workloads, quick, rounds, duration, workers and think. The error concerns the returned
// flag.
func (c *Config) ReadFlags(f Flags) (flag string, err error) {
	if c.Workloads, err = ReadChoices(f.String("workloads"), Workloads()); err != nil {
		return "workloads", err
	}
	if f.Bool("quick") {
		c.Quick()
	}
	if f.IsSet("rounds") {
		if c.Rounds = f.Int("rounds"); c.Rounds < 1 || c.Rounds > MaxRounds {
			return "rounds", fmt.Errorf("%d: want 1 to %d", c.Rounds, MaxRounds)
		}
	}
	if f.IsSet("duration") {
		if c.Duration = f.Duration("duration"); c.Duration < time.Millisecond || c.Duration > MaxDuration {
			return "duration", fmt.Errorf("%v: want 1ms to %v", c.Duration, MaxDuration)
		}
	}
	if c.Workers, err = ReadWorkers(f.String("workers")); err != nil {
		return "workers", err
	}
	think, err := ReadThink(f.String("think"))
	if think != nil {
		c.Think = think
	}
	return "think", err
}

// ReadWorkers parses comma-separated numbers of workers; nil for an empty text.
func ReadWorkers(text string) ([]int, error) {
	return readList(text, func(item string) (int, error) {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 || n > MaxWorkers {
			return 0, fmt.Errorf("want numbers from 1 to %d, as in 1,64", MaxWorkers)
		}
		return n, nil
	})
}

// ReadThink parses comma-separated think times; nil for an empty text.
func ReadThink(text string) ([]time.Duration, error) {
	return readList(text, func(item string) (time.Duration, error) {
		d, err := time.ParseDuration(item)
		if err != nil || d < 0 || d > MaxThink {
			return 0, fmt.Errorf("want durations from 0 to %v, as in 0,1ms", MaxThink)
		}
		return d, nil
	})
}

// ReadChoices parses comma-separated words of an allowed set; nil for an empty text.
func ReadChoices(text string, allowed []string) ([]string, error) {
	return readList(text, func(item string) (string, error) {
		if !slices.Contains(allowed, item) {
			return "", errors.New("want some of " + strings.Join(allowed, ", "))
		}
		return item, nil
	})
}

// readList parses comma-separated values, without repetition.
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
