package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// stampBytes is the length of the timestamp in a value.
const stampBytes = 8

// noStamp is the timestamp of a column written by Swap.
const noStamp = "\x00\x00\x00\x00\x00\x00\x00\x00"

// Store is the rows in one etcd cluster. It is a [storage.Store].
type Store struct {
	config *config
	client *clientv3.Client
	leases *leases
	hub    watch.Hub
	swaps  *gather.Gatherer

	mu     sync.Mutex
	closed bool
	ended  chan struct{}
	rows   map[string]*watched
	work   sync.WaitGroup
}

// Open connects to the cluster of a URL, which doc.go describes, and makes a first read. The error has one of the kinds
// of a request's errors, and contains no password.
func Open(ctx context.Context, url string) (*Store, error) {
	c, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	what := "open etcd at " + strings.Join(c.client.Endpoints, ", ")
	if ctx.Err() != nil {
		return nil, early(ctx, what)
	}
	client, err := clientv3.New(c.client)
	if err != nil {
		return nil, classify(err, what, false)
	}
	s := &Store{
		config: c, client: client, leases: &leases{client: client, byTTL: map[int64]*lease{}},
		ended: make(chan struct{}), rows: map[string]*watched{},
	}
	s.swaps = gather.New(gather.Config{Lanes: lanes, Most: mostOperations, One: s.swapOne, Many: s.swapMany})
	if err := s.try(ctx, what, func(ctx context.Context) error {
		_, err := client.Get(ctx, c.prefix, clientv3.WithCountOnly())
		return err
	}, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Features returns all features except Clock.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "etcd", Consistent: true, Durable: true, Swap: true, TTL: true, Watch: true}
}

// Close ends the requests in progress, and closes the connections.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	close(s.ended)
	err := s.client.Close()
	s.work.Wait()
	s.hub.Close()
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close etcd: %w", err)
	}
	return nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// try sends a request, and classifies its error.
func (s *Store) try(ctx context.Context, what string, send func(ctx context.Context) error, writes bool) error {
	if s.isClosed() {
		return fmt.Errorf("%s: %w", what, errClosed)
	}
	if ctx.Err() != nil {
		return early(ctx, what)
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	if err := send(ctx); err != nil {
		if !writes && s.isClosed() {
			return fmt.Errorf("%s: %w", what, errClosed)
		}
		return classify(err, what, writes)
	}
	return nil
}

// stamped returns a value as stored.
func stamped(timestamp int64, value string) string {
	return string(binary.BigEndian.AppendUint64(make([]byte, 0, stampBytes+len(value)), uint64(timestamp))) + value
}

// Mutate adds and deletes columns of one row, at one instant: a transaction.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	what := "mutate etcd"
	if err := m.Check(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.try(ctx, what, func(ctx context.Context) error {
		for again := false; ; again = true {
			lease := clientv3.LeaseID(clientv3.NoLease)
			if len(m.Additions) > 0 {
				var err error
				if lease, err = s.leases.of(ctx, m.TTL); err != nil {
					return classify(err, "nothing was written", false)
				}
			}
			_, err := s.client.Txn(ctx).Then(s.operations(m, lease)...).Commit()
			if again || !errors.Is(err, rpctypes.ErrLeaseNotFound) {
				return err
			}
			// Nothing was done. The cluster was restored to a state without the lease, or this process has slept for a
			// long time.
			s.leases.forget(m.TTL, lease)
		}
	}, true)
}

// operations returns the operations of a Mutate, one for each column. A comparison with the value of a missing column
// fails.
func (s *Store) operations(m *storage.Mutate, lease clientv3.LeaseID) []clientv3.Op {
	row := s.config.row(m.Key)
	var operations []clientv3.Op
	for i := range m.Additions {
		key, value := row+m.Additions[i].Column, stamped(m.Timestamp, m.Additions[i].Value)
		higher := clientv3.Compare(clientv3.Value(key), ">", value)
		put := clientv3.OpPut(key, value, clientv3.WithLease(lease))
		operations = append(operations, clientv3.OpTxn([]clientv3.Cmp{higher}, nil, []clientv3.Op{put}))
	}
	for i, column := range m.Deletions {
		if slices.Contains(m.Deletions[:i], column) {
			continue // a second deletion in one transaction is an error
		}
		lower := clientv3.Compare(clientv3.Value(row+column), "<", string(binary.BigEndian.AppendUint64(nil, uint64(m.Timestamp)+1)))
		operations = append(operations, clientv3.OpTxn([]clientv3.Cmp{lower}, []clientv3.Op{clientv3.OpDelete(row + column)}, nil))
	}
	return nest(operations)
}

// mostOperations is the maximum number of operations in one transaction here. By default etcd allows 128 for a
// transaction and its nested ones, level by level: 63 times 64 columns fit, with one operation each.
const mostOperations = 64

// nest groups operations into nested transactions if there are more than one transaction may have.
func nest(operations []clientv3.Op) []clientv3.Op {
	if len(operations) <= mostOperations {
		return operations
	}
	var nested []clientv3.Op
	for some := range slices.Chunk(operations, mostOperations) {
		nested = append(nested, clientv3.OpTxn(nil, some, nil))
	}
	return nested
}

// Slice reads columns of one row, linearizably.
func (s *Store) Slice(ctx context.Context, slice *storage.Slice) (entries []storage.Entry, err error) {
	what := "slice etcd"
	if err := slice.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	row := s.config.row(slice.Key)
	end := clientv3.GetPrefixRangeEnd(row)
	if slice.End != "" {
		end = row + slice.End
	}
	err = s.try(ctx, what, func(ctx context.Context) error {
		if slice.End != "" && slice.Start == slice.End {
			return nil // etcd rejects such a range
		}
		read, err := s.client.Get(ctx, row+slice.Start, clientv3.WithRange(end), clientv3.WithLimit(int64(slice.Limit)))
		if err != nil {
			return err
		}
		entries = make([]storage.Entry, 0, len(read.Kvs))
		for _, kv := range read.Kvs {
			if len(kv.Value) < stampBytes {
				return fmt.Errorf("row %q has a value of %d bytes that this driver has not written: %w", slice.Key, len(kv.Value), storage.ErrInvalid)
			}
			entries = append(entries, storage.Entry{Column: string(kv.Key[len(row):]), Value: string(kv.Value[stampBytes:])})
		}
		return nil
	}, false)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Clock always fails: etcd has no clock.
func (s *Store) Clock(context.Context) (int64, error) {
	features := s.Features()
	return 0, features.Lacks("a clock")
}
