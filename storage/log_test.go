package storage_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestWhatNoJournalTakes is refused by name, and with what is allowed: at each bound and one past
// it.
func TestWhatNoJournalTakes(t *testing.T) {
	part, state := make([]byte, storage.MaxPart+1), make([]byte, storage.MaxState+1)
	parts := func(n, size int) (all [][]byte) {
		for range n {
			all = append(all, part[:size])
		}
		return all
	}
	for _, c := range []struct {
		request interface{ Check() error }
		says    string // empty where it is taken
	}{
		{&storage.Append{First: 1}, ""},
		{&storage.Append{State: []byte{}}, ""},
		{&storage.Append{First: 1, Records: parts(8, storage.MaxPart)}, ""},
		{&storage.Append{First: 1, Records: parts(1, storage.MaxPart), State: state[1:]}, ""},
		{&storage.Append{First: math.MaxUint64 - 1, Records: parts(1, 0)}, ""},
		{&storage.Append{Log: 3}, "an append to log 3 with neither records nor a state"},
		{&storage.Append{Log: 3, Records: parts(1, 0)}, "1 records of log 3 from index 0 on; indices begin at 1"},
		{&storage.Append{Log: 3, First: 7, Records: parts(1, storage.MaxPart+1)}, "record 7 of log 3 has 1048577 bytes; up to 1048576"},
		{&storage.Append{Log: 3, First: 1, Records: parts(8, storage.MaxPart), State: state[:1]}, "an append to log 3 of 8388609 bytes; up to 8388608"},
		{&storage.Append{Log: 3, State: state}, "a state of log 3 has 65537 bytes; up to 65536"},
		{&storage.Append{Log: 3, First: math.MaxUint64, Records: parts(1, 0)}, "there are no such indices"},
		{&storage.Chunk{Snapshot: 1, Number: storage.MaxChunks - 1, Data: part[1:]}, ""},
		{&storage.Chunk{Log: 3}, "a chunk of snapshot 0 of log 3; snapshots are numbered from 1 on"},
		{&storage.Chunk{Snapshot: math.MaxUint64}, "the last number is none"},
		{&storage.Chunk{Log: 3, Snapshot: 1, Number: storage.MaxChunks}, "chunk 1048576 of a snapshot of log 3; there are up to 1048576"},
		{&storage.Chunk{Log: 3, Snapshot: 1, Data: part}, "a chunk of log 3 has 1048577 bytes"},
		{&storage.Install{Snapshot: 1, Chunks: storage.MaxChunks, Meta: part[1:], State: state[1:]}, ""},
		{&storage.Install{Log: 3}, "an install of snapshot 0 of log 3"},
		{&storage.Install{Log: 3, Snapshot: 1, Chunks: storage.MaxChunks + 1}, "an install of 1048577 chunks of log 3"},
		{&storage.Install{Log: 3, Snapshot: 1, Meta: part}, "of log 3 has 1048577 bytes"},
		{&storage.Install{Log: 3, Snapshot: 1, State: state}, "a state of log 3 has 65537 bytes"},
		{&storage.Install{Log: 3, Snapshot: 1, Drop: math.MaxUint64, Anew: true}, "behind the last index there is"},
	} {
		err := c.request.Check()
		switch {
		case c.says == "":
			if err != nil {
				t.Errorf("%v: %v", c.request, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, storage.ErrInvalid):
			t.Errorf("%v: %v; want %q in it, of the kind %q", c.request, err, c.says, storage.ErrInvalid)
		}
	}
	if !errors.Is(storage.ErrGone, storage.ErrInvalid) {
		t.Error("ErrGone is no ErrInvalid")
	}
}

// TestMessagesOfAJournalAreReadable in a trace: what is asked for, of which log, and what came of
// it.
func TestMessagesOfAJournalAreReadable(t *testing.T) {
	for want, message := range map[string]interface{ String() string }{
		"append #1 log 2 3 from 7 on state 5 bytes":                         storage.Append{ID: 1, Log: 2, First: 7, Records: make([][]byte, 3), State: make([]byte, 5)},
		"append #1 log 2 removes from 7 on":                                 storage.Append{ID: 1, Log: 2, First: 7},
		"append #1 log 2 state 0 bytes":                                     storage.Append{ID: 1, Log: 2, State: []byte{}},
		"appended #1":                                                       storage.Appended{ID: 1},
		"append #1: no room":                                                storage.Appended{ID: 1, Err: errors.New("no room")},
		"chunk #1 log 2 snapshot 3 chunk 4 5 bytes":                         storage.Chunk{ID: 1, Log: 2, Snapshot: 3, Number: 4, Data: make([]byte, 5)},
		"chunked #1":                                                        storage.Chunked{ID: 1},
		"install #1 log 2 snapshot 3 of 4 chunks drops to 5":                storage.Install{ID: 1, Log: 2, Snapshot: 3, Chunks: 4, Drop: 5},
		"install #1 log 2 snapshot 3 of 4 chunks drops to 5 and all behind": storage.Install{ID: 1, Log: 2, Snapshot: 3, Chunks: 4, Drop: 5, Anew: true},
		"installed #1":                                                      storage.Installed{ID: 1},
		"fetch #1 log 2 snapshot 3 chunk 4":                                 storage.Fetch{ID: 1, Log: 2, Snapshot: 3, Number: 4},
		"fetched #1 5 bytes":                                                storage.Fetched{ID: 1, Data: make([]byte, 5)},
		"fetch #1: gone":                                                    storage.Fetched{ID: 1, Err: storage.ErrGone},
		"install #1: the store does not take it":                            storage.Installed{ID: 1, Err: storage.ErrInvalid},
	} {
		if got := message.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
