package storagetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

func timestampChecks() []check {
	return []check{
		{"timestamps_decide", nil, timestampsDecide},
		{"timestamps_in_any_order", nil, timestampsInAnyOrder},
		{"timestamps_of_racers", nil, timestampsOfRacers},
		{"deletion", nil, deletion},
		{"deletion_and_late_addition", nil, deletionAndLateAddition},
	}
}

// timestampsDecide checks which of two additions of a column wins: the higher timestamp, or with equal ones the higher
// value.
func timestampsDecide(s *stage) {
	all := &storage.Slice{Key: s.row()}
	for _, c := range []struct {
		stamp       int64
		value, want string
	}{
		{10, "ten", "ten"},
		{9, "z", "ten"}, {0, "z", "ten"}, // lower ones change nothing
		{10, "m", "ten"}, {10, "", "ten"}, {10, "tem\xff", "ten"}, // with equal ones the higher value wins
		{10, "ten\x00", "ten\x00"}, {10, "ten", "ten\x00"}, {10, "\xff", "\xff"}, {10, "\x7f", "\xff"},
		{11, "", ""}, {11, "\x00", "\x00"}, {11, "", "\x00"},
		// Neither the digits of a number nor the bits of a float order these correctly.
		{99, "99", "99"}, {100, "100", "100"}, {99, "99", "100"},
		{1 << 60, "a", "a"}, {1<<60 + 1, "\x00", "\x00"}, {1 << 60, "b", "\x00"},
		{1 << 62, "c", "c"}, {1<<62 - 1, "d", "c"},
	} {
		s.add(s, all.Key, c.stamp, entry("c", c.value))
		s.want(s, all, entry("c", c.want))
	}
	// Each column has a separate timestamp, also if one request writes several.
	s.add(s, all.Key, 50, entry("b", "new"), entry("c", "too low"), entry("d", "new"))
	s.want(s, all, entry("b", "new"), entry("c", "c"), entry("d", "new"))
}

// timestampsInAnyOrder checks that the order of the requests does not matter.
func timestampsInAnyOrder(s *stage) {
	dice := rand.New(rand.NewPCG(5, 6))
	stores := s.several(2)
	for range 20 {
		all := &storage.Slice{Key: s.row()}
		best, stamp := "", int64(-1)
		for i := range 6 {
			at, value := dice.Int64N(3), fmt.Sprint(dice.IntN(4))
			s.add(stores[i%2], all.Key, at, entry("c", value))
			if at > stamp || at == stamp && value > best {
				best, stamp = value, at
			}
		}
		s.want(stores[0], all, entry("c", best))
	}
}

// timestampsOfRacers checks that timestamps also decide between concurrent requests.
func timestampsOfRacers(s *stage) {
	const racers, columns = 12, 3
	stores := s.several(3)
	for range 10 {
		key := s.row()
		s.together(racers, func(i int) {
			m := &storage.Mutate{Key: key, Timestamp: int64(100 + i/2)}
			for c := range columns {
				m.Additions = append(m.Additions, entry(fmt.Sprint("c", (c+i)%columns), fmt.Sprintf("%02d", i)))
			}
			if err := again(func() error { return stores[i%3].Mutate(s.ctx, m) }); err != nil {
				s.Errorf("%s: %v", brief(m), err)
			}
		})
		last := fmt.Sprintf("%02d", racers-1)
		s.want(stores[0], &storage.Slice{Key: key}, entry("c0", last), entry("c1", last), entry("c2", last))
	}
}

// again retries a refused request a few times: many concurrent writes to one row may conflict.
func again(do func() error) (err error) {
	for range 20 {
		if err = do(); kind(err) != storage.ErrRefused {
			return err
		}
	}
	return err
}

// deletion checks that a deletion removes a column with the same timestamp or a lower one, and a higher one restores
// it.
func deletion(s *stage) {
	all := &storage.Slice{Key: s.row()}
	s.add(s, all.Key, 5, entry("a", "1"), entry("b", "2"), entry("c", "3"))
	s.remove(s, all.Key, 5, "a")
	s.want(s, all, entry("b", "2"), entry("c", "3"))
	s.remove(s, all.Key, 6, "b", "b")
	s.want(s, all, entry("c", "3"))
	s.add(s, all.Key, 7, entry("a", "4"), entry("b", ""))
	s.want(s, all, entry("a", "4"), entry("b", ""), entry("c", "3"))
	s.mutate(s, &storage.Mutate{Key: all.Key, Additions: []storage.Entry{entry("d", "5")}, Deletions: []string{"a", "b", "c"}, Timestamp: 8})
	s.want(s, all, entry("d", "5"))
}

// deletionAndLateAddition under a timestamp that is not higher has one of two results: no column if the store remembers
// the deletion, and the added column if it does not. A column that is not written again stays deleted in both.
func deletionAndLateAddition(s *stage) {
	all := &storage.Slice{Key: s.row()}
	s.add(s, all.Key, 5, entry("a", "1"), entry("b", "2"))
	s.remove(s, all.Key, 6, "a", "b")
	for _, stamp := range []int64{5, 6} {
		s.add(s, all.Key, stamp, entry("a", "late"))
		switch got := s.read(s, all); {
		case len(got) == 0:
			s.Logf("an addition under timestamp %d, after a deletion under 6: the deletion is remembered", stamp)
		case len(got) == 1 && got[0] == entry("a", "late"):
			s.Logf("an addition under timestamp %d, after a deletion under 6: the deletion is forgotten", stamp)
		default:
			s.Fatalf("after an addition under %d: %s", stamp, list(got))
		}
	}
	s.remove(s, all.Key, 6, "a")
	s.want(s, all)
}
