package shard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// behind is a world in which member 3 needs a snapshot of many parts, and is far away from now on.
func behind(t *testing.T, way time.Duration) (w *world, away *member) {
	w = newWorld(t, 1, 3)
	w.every, w.part, w.users = 50, 1, nil
	for _, m := range w.members {
		w.crash(m)
		w.start(m)
	}
	away = w.members[2]
	w.crash(away)
	w.opens = true
	w.load(3 * time.Second)
	w.far, w.way = away.id, way
	w.start(away)
	return w, away
}

// caughtUp returns how long it takes until a member has all that the leader has applied.
func (w *world) caughtUp(away *member) Time {
	begin := w.now
	for w.leader().shard.applied != away.shard.applied {
		if w.run(5 * time.Millisecond); w.now > begin+time.Minute {
			w.fatalf("member %d has applied %d, and the leader %d", away.id, away.shard.applied, w.leader().shard.applied)
		}
	}
	return w.now - begin
}

// TestPartsAreOnTheirWayTogether checks that a snapshot takes as many round trips as it has windows. When each part
// waited for the answer to the one before, a distant member, or one whose leader has small parts, did not have a
// snapshot before the next replaced it.
func TestPartsAreOnTheirWayTogether(t *testing.T) {
	const way = 100 * time.Millisecond
	w, away := behind(t, way)
	took, parts := w.caughtUp(away), w.leader().shard.parts
	trips := uint64(took / (2 * way))
	t.Logf("%d parts in %v, which is %d round trips", parts, took, trips)
	if parts < 2*windowParts || w.taken == 0 {
		t.Fatalf("the snapshot has %d parts, and %d were taken", parts, w.taken)
	}
	if trips > parts/10 {
		t.Errorf("%d round trips for %d parts", trips, parts)
	}
}

// TestLostPartsAreSentAgain checks that lost parts are sent again, and that lost answers do no harm.
func TestLostPartsAreSentAgain(t *testing.T) {
	w, away := behind(t, 20*time.Millisecond)
	lost := map[string]bool{}
	w.loses = func(m Message) bool {
		number := uint64(0)
		switch m := m.(type) {
		case SnapshotPart:
			number = m.Number
		case SnapshotAck:
			number = m.Number
		default:
			return false
		}
		which := fmt.Sprintf("%T %d", m, number)
		if number%13 != 5 || lost[which] {
			return false
		}
		lost[which] = true
		return true
	}
	took := w.caughtUp(away)
	t.Logf("in %v, with %d of the parts of %d and of their answers lost", took, len(lost), w.leader().shard.parts)
	if len(lost) < 10 || w.taken == 0 {
		t.Errorf("%d were lost, and %d snapshots were taken", len(lost), w.taken)
	}
}

// fills reads parts of size bytes for a transfer, until it asks for none, and returns their numbers.
func fills(t *testing.T, s *Shard, to uint64, size int, out *Output) (numbers []uint64) {
	t.Helper()
	for len(out.Journal) > 0 {
		fetch, is := out.Journal[0].(storage.Fetch)
		if !is || len(out.Journal) > 1 {
			t.Fatalf("it asks %v", out.Journal)
		}
		r := s.journal[fetch.ID]
		out.Reset()
		s.fetched(1, r.sent, r.number, make([]byte, size), out)
		for _, e := range out.Messages {
			if p, is := e.Message.(SnapshotPart); is && e.To == to {
				numbers = append(numbers, p.Number)
			}
		}
	}
	return numbers
}

// TestWindowsOfPartsAreBounded checks the bounds on windows, in bytes and in parts, and that the first part goes alone.
func TestWindowsOfPartsAreBounded(t *testing.T) {
	for size, most := range map[int]int{1: windowParts, 128 << 10: 8, 100 << 10: 11, windowBytes: 1} {
		s := alone(t, Config{})
		mark := group.Founding([]uint64{1, 2, 3})
		s.snapshot, s.parts = mark.Index, 100
		var out Output
		s.bring(0, &group.Message{From: 1, To: 2, Snapshot: &mark}, &out)
		if first := fills(t, s, 2, size, &out); !slices.Equal(first, []uint64{0}) {
			t.Fatalf("parts of %d bytes: at first %v are sent", size, first)
		}
		s.isAck(1, 2, &SnapshotAck{Index: mark.Index}, &out)
		window := fills(t, s, 2, size, &out)
		if len(window) != most || window[0] != 1 || window[most-1] != uint64(most) {
			t.Errorf("parts of %d bytes: %v are on their way, where %d are to be", size, window, most)
		}
		// One answer is for all parts up to its own.
		s.isAck(1, 2, &SnapshotAck{Index: mark.Index, Number: uint64(most)}, &out)
		if next := fills(t, s, 2, size, &out); len(next) == 0 || next[0] != uint64(most)+1 {
			t.Errorf("parts of %d bytes: %v follow %d", size, next, most)
		}
	}
}

// TestPartsComeInAnyOrder checks that a part that comes early waits, except one that no leader sends then.
func TestPartsComeInAnyOrder(t *testing.T) {
	s := alone(t, Config{})
	mark := group.Mark{Index: 50, Term: 1, Conf: group.Conf{Voters: []uint64{1, 2, 3}}}
	var out Output
	hear := func(number uint64, data []byte, last bool) (written, answered []uint64, refused bool) {
		t.Helper()
		out.Reset()
		part := SnapshotPart{Index: mark.Index, Number: number, Data: data, Last: last, Message: group.Message{From: 2, To: 1, Term: 1, Kind: 7, Snapshot: &mark}}
		if err := s.Hear(0, 2, part, &out); err != nil {
			t.Fatal(err)
		}
		for _, q := range slices.Clone(out.Journal) {
			if chunk, is := q.(storage.Chunk); is {
				written = append(written, chunk.Number)
				s.Stored(0, storage.Chunked{ID: chunk.ID}, &out)
			}
		}
		for _, e := range out.Messages {
			if a, is := e.Message.(SnapshotAck); is {
				answered, refused = append(answered, a.Number), refused || a.Refused
			}
		}
		return written, answered, refused
	}
	parts := partsOf(t, 200)
	last := uint64(len(parts) - 1)
	if last < windowParts+4 {
		t.Fatalf("%d parts", len(parts))
	}
	for _, step := range []struct {
		number            uint64
		written, answered []uint64
		refused           bool
	}{
		{1, nil, []uint64{1}, true}, // of an unknown snapshot
		{0, []uint64{0}, []uint64{0}, false},
		{2, nil, nil, false},
		{3, nil, nil, false},
		{2, nil, nil, false},
		{windowParts + 2, nil, nil, false}, // too early
		{1, []uint64{1, 2, 3}, []uint64{1, 2, 3}, false},
		{2, nil, []uint64{2}, false},
		{windowParts + 3, nil, nil, false},
		{4, []uint64{4}, []uint64{4}, false},
	} {
		written, answered, refused := hear(step.number, parts[step.number], step.number == last)
		if !slices.Equal(written, step.written) || !slices.Equal(answered, step.answered) || refused != step.refused {
			t.Errorf("of part %d it writes %v and answers %v, refused=%v; want %+v", step.number, written, answered, refused, step)
		}
	}
	for number := last; number > 4; number-- { // those that are too early are left out
		hear(number, parts[number], number == last)
	}
	for number := uint64(5); number <= last; number++ {
		hear(number, parts[number], number == last)
	}
	if s.keeping == nil || s.keeping.parts != last+1 || s.keeping.waits != 0 {
		t.Errorf("with all parts it has taken %+v", s.taking)
	}
}

// partsOf is a snapshot of so many sessions, in small parts.
func partsOf(t *testing.T, sessions uint64) (parts [][]byte) {
	t.Helper()
	r, err := replica.New(replica.Config{Part: 1})
	if err != nil {
		t.Fatal(err)
	}
	var e replica.Entry
	for n := range sessions {
		e.Ops = append(e.Ops, from2(n+1, opens(lock.SessionID{Member: 2, Number: n + 1})))
	}
	var effects replica.Effects
	r.Apply(&replica.Entry{Begin: true}, &effects)
	r.Apply(&e, &effects)
	for c, more := r.Copy(), true; more; {
		var part []byte
		part, more = c.Next()
		parts = append(parts, part)
	}
	return parts
}
