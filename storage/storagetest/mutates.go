package storagetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

func mutateChecks() []check {
	return []check{
		{"mutate_is_whole", nil, mutateIsAtomic},
		{"mutates_of_many", nil, mutatesOfMany},
	}
}

func ttlChecks() []check {
	return []check{{"ttl", needTTL, ttl}}
}

// generations is how often the watched row is rewritten.
const generations = 200

// mutateIsAtomic checks that a reader of a row that is being rewritten sees all or none of a request's additions and
// deletions, everything that was answered before the read, and never an earlier state than before.
func mutateIsAtomic(s *stage) {
	all := storage.Slice{Key: s.row()}
	// Columns of one generation lie far apart, between those of its neighbours.
	column := func(part string, generation int64) string { return fmt.Sprintf("%s %06d", part, generation) }
	parts := []string{"\x00", "a", "m", "z", "\xff"}
	var answered atomic.Int64
	s.write(all.Key, column, parts, 0)
	stores := s.several(3)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, store := range stores {
		readers.Go(func() {
			seen := int64(0)
			for ended := false; !ended && !s.Failed(); {
				select {
				case <-done:
					ended = true // and read once more
				default:
				}
				least := max(answered.Load(), seen)
				r := all
				entries, err := store.Slice(s.ctx, &r)
				if err != nil {
					s.Errorf("%s: %v", brief(r), err)
					return
				}
				generation, err := completeGeneration(entries, len(parts))
				switch {
				case err != nil:
					s.Errorf("%v: %s", err, list(entries))
					return
				case generation < least:
					s.Errorf("generation %d is shown, and %d was answered or shown before", generation, least)
					return
				}
				seen = generation
			}
		})
	}
	for generation := int64(1); generation <= generations && !s.Failed(); generation++ {
		s.write(all.Key, column, parts, generation)
		answered.Store(generation)
	}
	close(done)
	readers.Wait()
}

// write writes one generation of a row, and deletes the one before.
func (s *stage) write(key string, column func(string, int64) string, parts []string, generation int64) {
	m := storage.Mutate{Key: key, Timestamp: 100 + generation}
	for _, part := range parts {
		m.Additions = append(m.Additions, entry(column(part, generation), fmt.Sprint(generation)))
		if generation > 0 {
			m.Deletions = append(m.Deletions, column(part, generation-1))
		}
	}
	// Not Fatal: the readers must be waited for.
	if err := s.Mutate(s.ctx, &m); err != nil {
		s.Errorf("%s: %v", brief(m), err)
	}
}

// completeGeneration returns the generation of the columns, if all are of the same one.
func completeGeneration(entries []storage.Entry, parts int) (generation int64, err error) {
	if len(entries) != parts {
		return 0, fmt.Errorf("half a mutate is shown: %d columns, want %d", len(entries), parts)
	}
	for _, e := range entries {
		if e.Value != entries[0].Value {
			return 0, fmt.Errorf("half a mutate is shown: %q and %q", entries[0].Value, e.Value)
		}
	}
	_, err = fmt.Sscan(entries[0].Value, &generation)
	return generation, err
}

// mutatesOfMany checks that concurrent mutations of one row lose nothing.
func mutatesOfMany(s *stage) {
	const writers, each = 9, 12
	key := s.row()
	stores := s.several(3)
	column := func(writer, i int) string { return fmt.Sprintf("%d %02d", writer, i) }
	s.together(writers, func(w int) {
		for i := range each {
			m := storage.Mutate{Key: key, Additions: []storage.Entry{entry(column(w, i), fmt.Sprint(i))}, Timestamp: int64(i)}
			if i > 0 && i%2 == 0 {
				m.Deletions = []string{column(w, i-1)}
			}
			if err := again(func() error { return stores[w%3].Mutate(s.ctx, &m) }); err != nil {
				s.Errorf("%s: %v", brief(m), err)
				return
			}
		}
	})
	var want []storage.Entry
	for w := range writers {
		for i := range each {
			if i%2 == 0 || i == each-1 {
				want = append(want, entry(column(w, i), fmt.Sprint(i)))
			}
		}
	}
	s.want(stores[1], &storage.Slice{Key: key}, want...)
}

// ttl checks that exactly the columns with a TTL expire.
func ttl(s *stage) {
	all := &storage.Slice{Key: s.row()}
	began := time.Now()
	s.add(s, all.Key, 1, entry("extended", "1"))
	s.add(s, all.Key, 2, entry("stays", "2"))
	forget := func(stamp int64, ttl time.Duration, entries ...storage.Entry) {
		s.mutate(s, &storage.Mutate{Key: all.Key, Additions: entries, Timestamp: stamp, TTL: ttl})
	}
	forget(1, 2*time.Second, entry("a", "goes"), entry("b", "goes"))
	forget(1, 1001*time.Millisecond, entry("part of a second", "goes")) // as after two seconds
	forget(1, 2*time.Second, entry("cleared", "3"))
	forget(1, 2*time.Second, entry("lower", "4"))
	forget(2, time.Hour, entry("extended", "5"))
	s.add(s, all.Key, 2, entry("cleared", "6"))
	forget(0, time.Hour, entry("lower", "7"))
	got := s.read(s, all)
	switch goes := 0; {
	case time.Since(began) > 900*time.Millisecond:
		s.Log("it took too long to write the columns to know whether they were forgotten too early")
	default:
		for _, e := range got {
			if e.Value == "goes" || e.Column == "lower" {
				goes++
			}
		}
		if goes != 4 {
			s.Fatalf("columns are forgotten more than a second before their time: %s are left", list(got))
		}
	}
	other := s.open()
	kept := []storage.Entry{entry("cleared", "6"), entry("extended", "5"), entry("stays", "2")}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(got) > len(kept) {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("columns are not forgotten: %s are left: %v", list(got), s.ctx.Err())
		}
		got = s.read(other, all)
	}
	s.want(s, all, kept...)
	s.want(s, &storage.Slice{Key: all.Key, Limit: 1}, kept[0])
	s.add(s, all.Key, 1, entry("stays", "lower"))
	s.want(s, all, kept...)
}
