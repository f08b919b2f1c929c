package shard

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

func alone(t *testing.T, c Config) *Shard {
	t.Helper()
	c.Group.Self, c.Life = 1, 1
	s, err := New(c, &Kept{Group: group.Kept{Snapshot: group.Founding([]uint64{1, 2, 3})}, Begins: 1, Number: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPendingOperationsAreBounded checks the bound on pending operations, and that a caller that withdraws one makes
// room.
func TestPendingOperationsAreBounded(t *testing.T) {
	s := alone(t, Config{Pending: 2})
	var out Output
	first, err := s.Submit(0, replica.Op{Kind: replica.Break, Name: "x"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	var numbers [2]uint64
	var errs [2]error
	for i := range numbers {
		numbers[i], errs[i] = s.Submit(0, replica.Op{Kind: replica.Break, Name: "x"}, &out)
	}
	if errs[0] != nil || !errors.Is(errs[1], holdfast.ErrLimit) || !strings.Contains(errs[1].Error(), "pending_operations") {
		t.Errorf("%v; want the third to be refused, by name", errs)
	}
	s.Withdraw(first)
	if next, err := s.Submit(0, replica.Op{Kind: replica.Break, Name: "x"}, &out); err != nil || next <= numbers[0] {
		t.Errorf("%d, %v; want a higher number than %d", next, err, numbers[0])
	}
}

// TestLongOperationsAreForwarded checks that long operations fit the messages of a transport: one that does not fit is
// sent again forever, and its operations are never done.
func TestLongOperationsAreForwarded(t *testing.T) {
	s := alone(t, Config{})
	var out Output
	long := strings.Repeat("x", holdfast.MaxText)
	const count, largest = MostForwarded + 1, entryBytes + 4<<10
	var last uint64
	for range count {
		op := replica.Op{Kind: replica.Acquire, Name: long[:holdfast.MaxName], Attributes: holdfast.Attributes{Owner: long, Reason: long}, Client: long}
		var err error
		if last, err = s.Submit(0, op, &out); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Hear(0, 2, RaftMessage{group.Message{Kind: 8, From: 2, To: 1, Term: 1}}, &out); err != nil || s.Leader() != 2 {
		t.Fatalf("member %d leads: %v", s.Leader(), err)
	}
	next, all := last-count+1, 0
	for _, e := range out.Messages {
		m, is := e.Message.(Forward)
		size := 0
		for i := range m.Ops {
			if m.Ops[i].ID.Number != next {
				t.Fatalf("operation %d comes after %d", m.Ops[i].ID.Number, next-1)
			}
			next++
			c := wire.To(nil)
			m.Ops[i].Code(&c)
			size += len(c.Appended())
		}
		if all += size; is && (size == 0 || size > largest) {
			t.Errorf("%d operations in a message of %d bytes; %d are the most", len(m.Ops), size, largest)
		}
	}
	if next != last+1 || all < 4*largest {
		t.Errorf("%d operations of %d are missing; the others have %d bytes", last+1-next, count, all)
	}
}

// TestFailedJournalEndsTheShard checks that a failed journal ends the shard, and that the error of a later call has the
// reason.
func TestFailedJournalEndsTheShard(t *testing.T) {
	s := alone(t, Config{})
	var out Output
	if err := s.Hear(0, 2, RaftMessage{group.Message{Kind: 8, From: 2, To: 1, Term: 2}}, &out); err != nil || len(out.Journal) != 1 {
		t.Fatalf("of a new term it writes %+v: %v", out.Journal, err)
	}
	write, isWrite := out.Journal[0].(storage.Append)
	if !isWrite {
		t.Fatalf("%+v", out.Journal)
	}
	full := errors.New("no space left on device")
	out.Reset()
	s.Stored(1, storage.Appended{ID: write.ID, Err: full}, &out)
	_, err := s.Submit(1, replica.Op{Kind: replica.Break, Name: "x"}, &out)
	if !errors.Is(s.Failed(), full) || !errors.Is(err, full) || s.Wake() != protocol.Never {
		t.Errorf("failed with %v, the call with %v, wakes at %v", s.Failed(), err, s.Wake())
	}
	if err := s.Hear(1, 2, ReadRequest{1}, &out); !errors.Is(err, full) {
		t.Errorf("heard with %v", err)
	}
	s.Tick(1<<40, &out)
	s.ReadIndex(1, 1, &out)
	s.Beat(1, Beat{ID: 1}, &out)
	if len(out.Journal)+len(out.Messages) > 0 {
		t.Errorf("it goes on: %+v", out)
	}
}

// TestForgedMessagesAreRefused checks that messages that name another member, or something that was not sent, are
// refused.
func TestForgedMessagesAreRefused(t *testing.T) {
	s := alone(t, Config{})
	mark := group.Founding([]uint64{1, 2, 3})
	for what, m := range map[string]Message{
		"another's operation":   Forward{[]replica.Op{{ID: replica.OpID{Member: 3, Number: 1}}}},
		"one without a number":  Forward{[]replica.Op{{ID: replica.OpID{Member: 2}}}},
		"too many":              Forward{make([]replica.Op, MostForwarded+1)},
		"another's word":        RaftMessage{group.Message{From: 3, To: 1, Term: 1, Kind: 8}},
		"a snapshot at once":    RaftMessage{group.Message{From: 2, To: 1, Term: 1, Kind: 7, Snapshot: &mark}},
		"a part of nothing":     SnapshotPart{Index: 5},
		"a part of another one": SnapshotPart{Index: 5, Message: group.Message{From: 2, Snapshot: &mark}},
	} {
		var out Output
		if err := s.Hear(0, 2, m, &out); err == nil || len(out.Journal)+len(out.Messages) > 0 {
			t.Errorf("%s: %v, %+v", what, err, out)
		}
	}
}
