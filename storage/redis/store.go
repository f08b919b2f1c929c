package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

//go:embed mutate.lua
var mutateScript string

//go:embed swap.lua
var swapScript string

// Store is the rows in one Redis server. It is a [storage.Store].
type Store struct {
	config      *config
	connections *connections
	client      rueidis.Client
	mutate      *rueidis.Lua
	swap        *rueidis.Lua
	swaps       *gather.Gatherer
	hub         watch.Hub
	tracker     *tracker
	closing     sync.Once
}

// Open connects to the Redis server of a URL, which doc.go describes, and checks that it is suitable. The error has one
// of the kinds of a request's errors, and contains no password.
func Open(ctx context.Context, url string) (*Store, error) {
	c, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	what := "open redis at " + c.options.InitAddress[0]
	if ctx.Err() != nil {
		return nil, early(ctx, what)
	}
	s := &Store{
		config: c, connections: &connections{open: map[net.Conn]struct{}{}},
		mutate: rueidis.NewLuaScript(mutateScript), swap: rueidis.NewLuaScript(swapScript),
	}
	s.swaps = gather.New(gather.Config{Lanes: lanes, Most: mostSwaps, One: s.swapOne, Many: s.swapMany})
	c.options.DialCtxFn = s.connections.dial
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// The client connects without a context: its connections end with ours.
	stop := context.AfterFunc(ctx, s.connections.close)
	if s.client, err = rueidis.NewClient(c.options); err != nil {
		if stop(); ctx.Err() != nil {
			return nil, early(ctx, what)
		}
		return nil, s.classify(err, what, false)
	}
	if !stop() {
		s.client.Close()
		return nil, early(ctx, what)
	}
	s.tracker = newTracker(s.client, &s.hub, c.prefix, c.timeout)
	if err := inspect(ctx, s.client); err != nil {
		return nil, errors.Join(s.classify(err, what, false), s.Close())
	}
	return s, nil
}

// Features returns all features except Durable.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "redis", Consistent: true, Swap: true, TTL: true, Clock: true, Watch: true}
}

// Close ends the requests in progress, and closes the connections.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.tracker.end()
		s.connections.close()
		s.tracker.work.Wait()
		s.client.Close()
		s.hub.Close()
	})
	return nil
}

// The pause before a retry, which doubles each time up to the maximum.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = time.Second
)

// try sends a request, and retries a refused one as often as the URL allows.
func (s *Store) try(ctx context.Context, what string, send func(ctx context.Context) error) error {
	if s.connections.isClosed() {
		return fmt.Errorf("%s: %w", what, errClosed)
	}
	if ctx.Err() != nil {
		return early(ctx, what)
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	pause := firstPause
	for tries := 0; ; tries++ {
		err := send(ctx)
		if err == nil || tries >= s.config.retries || !errors.Is(err, storage.ErrRefused) {
			return err
		}
		if backoff.Sleep(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, mostPause)
	}
}

// key returns the name of a row in Redis.
func (s *Store) key(row string) string { return s.config.prefix + row }

// Mutate adds and deletes columns of one row, at one instant: a script.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	what := "mutate redis"
	if err := m.Check(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	args := make([]string, 0, 3+2*len(m.Additions)+len(m.Deletions))
	args = append(args, stamp(m.Timestamp), strconv.FormatInt(seconds(m.TTL), 10), strconv.Itoa(len(m.Additions)))
	for i := range m.Additions {
		args = append(args, escape(m.Additions[i].Column), m.Additions[i].Value)
	}
	for _, column := range m.Deletions {
		args = append(args, escape(column))
	}
	return s.try(ctx, what, func(ctx context.Context) error {
		if err := s.mutate.Exec(ctx, s.client, []string{s.key(m.Key)}, args).Error(); err != nil {
			return s.classify(err, what, true)
		}
		return nil
	})
}

// Slice reads columns of one row.
func (s *Store) Slice(ctx context.Context, slice *storage.Slice) (entries []storage.Entry, err error) {
	what := "slice redis"
	if err := slice.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	first, second := s.sliceSet, s.sliceHash
	if slice.Serial {
		first, second = second, first
	}
	err = s.try(ctx, what, func(ctx context.Context) error {
		entries, err = first(ctx, slice)
		if isWrongType(err) {
			entries, err = second(ctx, slice)
		}
		if err != nil {
			return s.classify(err, what, false)
		}
		return nil
	})
	return entries, err
}

// sliceSet reads a row of Mutate, without the columns that have ended by the server's clock.
func (s *Store) sliceSet(ctx context.Context, slice *storage.Slice) ([]storage.Entry, error) {
	least, most := bounds(slice)
	limit := int64(slice.Limit)
	if limit == 0 {
		limit = -1 // no limit
	}
	for ; ; limit *= 2 {
		clock := s.client.B().Time().Build()
		read := s.client.B().Zrangebylex().Key(s.key(slice.Key)).Min(least).Max(most).Limit(0, limit).Build()
		answers := s.client.DoMulti(ctx, clock, read)
		now, err := microseconds(answers[0])
		if err != nil {
			return nil, err
		}
		members, err := answers[1].AsStrSlice()
		if err != nil {
			return nil, err
		}
		entries := make([]storage.Entry, 0, len(members))
		for _, member := range members {
			entry, end, err := parse(member)
			if err != nil {
				return nil, fmt.Errorf("row %q has %w: %w", slice.Key, err, storage.ErrInvalid)
			}
			if end == 0 || end > now/1e6 {
				entries = append(entries, entry)
			}
		}
		full := slice.Limit > 0 && len(entries) >= slice.Limit
		switch {
		case full:
			return entries[:slice.Limit], nil
		case limit < 0 || int64(len(members)) < limit:
			return entries, nil
		}
		// Some of the read columns have ended, and there may be more after them. The result must be of one instant, so
		// read again.
	}
}

// sliceHash reads a row of Swap.
func (s *Store) sliceHash(ctx context.Context, slice *storage.Slice) ([]storage.Entry, error) {
	columns, err := s.client.Do(ctx, s.client.B().Hgetall().Key(s.key(slice.Key)).Build()).AsStrMap()
	if err != nil {
		return nil, err
	}
	entries := make([]storage.Entry, 0, len(columns))
	for column, value := range columns {
		if column >= slice.Start && (slice.End == "" || column < slice.End) {
			entries = append(entries, storage.Entry{Column: column, Value: value})
		}
	}
	slices.SortFunc(entries, func(a, b storage.Entry) int { return cmp.Compare(a.Column, b.Column) })
	if slice.Limit > 0 && len(entries) > slice.Limit {
		entries = entries[:slice.Limit]
	}
	return entries, nil
}

// Clock returns the server's time.
func (s *Store) Clock(ctx context.Context) (now int64, err error) {
	what := "ask redis for the time"
	err = s.try(ctx, what, func(ctx context.Context) error {
		if now, err = microseconds(s.client.Do(ctx, s.client.B().Time().Build())); err != nil {
			return s.classify(err, what, false)
		}
		return nil
	})
	return now, err
}

// microseconds parses the answer to TIME: two numbers in text, seconds and microseconds.
func microseconds(answer rueidis.RedisResult) (int64, error) {
	parts, err := answer.AsIntSlice()
	if err != nil {
		return 0, err
	}
	if len(parts) != 2 {
		return 0, fmt.Errorf("the server's time has %d parts, not 2", len(parts))
	}
	return parts[0]*1e6 + parts[1], nil
}
