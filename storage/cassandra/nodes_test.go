package cassandra

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
)

// threeNodes asks for the test that takes 2.1 GB of memory and most of a minute:
//
//	TEST_STORES=required go test ./storage/cassandra -run TestThreeNodes -three-nodes -v
var threeNodes = flag.Bool("three-nodes", false, "test with three nodes of Cassandra, which take 2.1 GB of memory")

// TestThreeNodes: with one of three nodes killed all goes on, with two killed nothing is done,
// and says so.
func TestThreeNodes(t *testing.T) {
	if !*threeNodes {
		t.Skip("three nodes of Cassandra take 2.1 GB of memory: ask for them by -three-nodes")
	}
	nodes := realstore.CassandraNodes(t, 3, "")
	s := open(t, fmt.Sprintf("cassandra://%s,%s/%s?replication=datacenter1:3&consistency=local_quorum&dc=datacenter1&timeout=3s",
		nodes[0].Address, nodes[1].Address, realstore.Keyspace()))
	mustFail(t, fmt.Sprintf("cassandra://%s/%s?replication=3&consistency=local_quorum&dc=elsewhere", nodes[0].Address, realstore.Keyspace()), "", storage.ErrRefused)
	add(t, s, "k", 1, time.Hour, "before", "")
	swapped(t, s, "before", storage.Swapped{Done: true})

	nodes[2].Kill(t)
	// Connections to it end, and so does what is under way on them.
	goesOn(t, s)
	persist(t, func(ctx context.Context) error {
		entries, err := s.Slice(ctx, &storage.Slice{Key: "k"})
		if err == nil && len(entries) != 2 {
			t.Errorf("the row shows %q, want what was added before and after", entries)
		}
		return err
	})
	persist(t, func(ctx context.Context) error {
		got, err := s.Swap(ctx, &storage.Swap{Key: "k", Column: "before", Absent: true, New: "w"})
		if want := (storage.Swapped{Present: true, Value: "v"}); err == nil && got != want {
			t.Errorf("swap: %v, want %v", got, want)
		}
		return err
	})
	for i := range 50 {
		key := fmt.Sprint(i) // other nodes are the first replica of each
		persist(t, func(ctx context.Context) error {
			m := &storage.Mutate{Key: key, Timestamp: 1, TTL: time.Hour, Additions: []storage.Entry{{Column: "c"}}}
			if err := s.Mutate(ctx, m); err != nil {
				return err
			}
			entries, err := s.Slice(ctx, &storage.Slice{Key: key})
			if err == nil && len(entries) != 1 {
				t.Errorf("row %s shows %q, want what was added", key, entries)
			}
			return err
		})
		persist(t, func(ctx context.Context) error {
			_, err := s.Swap(ctx, &storage.Swap{Key: key, Column: "c", Absent: true})
			return err
		})
	}

	nodes[1].Kill(t)
	alone(t, s)
	_, err := s.Slice(t.Context(), &storage.Slice{Key: "k"})
	of(t, "a slice with two of three killed", err, storage.ErrRefused)
	_, err = s.Slice(t.Context(), &storage.Slice{Key: "k", Serial: true})
	of(t, "a serial slice with two of three killed", err, storage.ErrRefused)
	_, err = s.Swap(t.Context(), &storage.Swap{Key: "k", Column: "c", Absent: true})
	var unavailable *gocql.RequestErrUnavailable
	if errors.As(err, &unavailable); unavailable == nil || unavailable.Consistency != gocql.LocalSerial {
		t.Errorf("a swap with two of three killed: %v, which names %v; want it to name the consistency of what comes first", err, unavailable)
	}
	of(t, "a swap with two of three killed", err, storage.ErrRefused)
}

func swapped(t *testing.T, s *Store, column string, want storage.Swapped) {
	t.Helper()
	if got, err := s.Swap(t.Context(), &storage.Swap{Key: "k", Column: column, Absent: true, New: "v"}); err != nil || got != want {
		t.Errorf("swap: %v, %v; want %v", got, err, want)
	}
}

// goesOn writes until that is answered. The same addition under one timestamp may be done twice.
func goesOn(t *testing.T, s *Store) {
	t.Helper()
	persist(t, func(ctx context.Context) error {
		return s.Mutate(ctx, &storage.Mutate{Key: "k", Timestamp: 1, TTL: time.Hour, Additions: []storage.Entry{{Column: "after"}}})
	})
}

// persist does something until that is answered: the nodes that are left ask the one that was
// killed until they know of that, and wait for it.
func persist(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil || errors.Is(err, storage.ErrInvalid) {
			t.Fatal(err)
		}
	}
}

// alone writes until the last node knows that it is alone: before, what it is asked for has an
// unknown end.
func alone(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began, unknown := time.Now(), 0
	for {
		err := s.Mutate(ctx, &storage.Mutate{Key: "k", Timestamp: 2, Deletions: []string{"nothing"}})
		switch {
		case is[*gocql.RequestErrUnavailable](err):
			of(t, "a write with two of three killed", err, storage.ErrRefused)
			t.Logf("%d unknown ends in %v, then %v", unknown, time.Since(began).Round(time.Second), err)
			return
		case err == nil || ctx.Err() != nil:
			t.Fatalf("a write with two of three killed: %v", err)
		case errors.Is(err, storage.ErrUnknown):
			unknown++
		}
	}
}
