package shard

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestAWholeSnapshotIsHeardOfInEachTerm checks a slow journal that stores the last part of a snapshot when the term of
// its leader is over. The same leader leads in the next term too, and sends it again. Without the rule the member
// answers forever that it has all parts, and makes no progress.
func TestAWholeSnapshotIsHeardOfInEachTerm(t *testing.T) {
	defer mutation.Switch("")
	const rule = "a whole snapshot is heard of in each term"
	parts := partsOf(t, 3)
	for _, without := range []string{"", rule} {
		mutation.Switch(without)
		s := alone(t, Config{})
		mark := group.Mark{Index: 50, Term: 1, Conf: group.Conf{Voters: []uint64{1, 2, 3}}}
		var out Output
		var writes []uint64 // unanswered by the journal
		answers := 0
		hear := func(m Message) {
			t.Helper()
			out.Reset()
			if err := s.Hear(0, 2, m, &out); err != nil {
				t.Fatal(err)
			}
			for _, e := range out.Messages {
				if a, is := e.Message.(SnapshotAck); is && !a.Refused {
					answers++
				}
			}
			for _, q := range out.Journal {
				if chunk, is := q.(storage.Chunk); is {
					writes = append(writes, chunk.ID)
				}
			}
		}
		send := func(term uint64) {
			t.Helper()
			for n, data := range parts {
				hear(SnapshotPart{
					Index: mark.Index, Number: uint64(n), Data: data, Last: n+1 == len(parts),
					Message: group.Message{From: 2, To: 1, Term: term, Kind: 7, Snapshot: &mark},
				})
			}
		}
		send(1)
		hear(RaftMessage{group.Message{From: 2, To: 1, Term: 3, Kind: 8}}) // a heartbeat
		for _, id := range slices.Clone(writes) {
			s.Stored(0, storage.Chunked{ID: id}, &out)
		}
		if len(writes) != len(parts) || s.taking == nil || !s.taking.complete() {
			t.Fatalf("without %q: of %d parts it has %d: %+v", without, len(parts), len(writes), s.taking)
		}
		answers = 0
		send(3)
		if answers != len(parts) {
			t.Errorf("without %q: %d of %d parts are answered", without, answers, len(parts))
		}
		if goesOn := s.keeping != nil && s.keeping.index == mark.Index; goesOn != (without == "") {
			t.Errorf("without %q: goes on from the snapshot: %v", without, goesOn)
		}
	}
}
