package storage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestWhatNoStoreTakes is refused by name, and with what is allowed.
func TestWhatNoStoreTakes(t *testing.T) {
	long := strings.Repeat("k", storage.MaxName+1)
	one := []storage.Entry{{Column: "c", Value: "v"}}
	for _, c := range []struct {
		request interface{ Check() error }
		says    string // empty where it is taken
	}{
		{storage.Mutate{Key: "k", Additions: one}, ""},
		{storage.Mutate{Key: long[1:], Additions: one, Deletions: []string{long[1:], "\x00"}, Timestamp: 1, TTL: 1}, ""},
		{storage.Mutate{Key: "k", Deletions: []string{"c", "c"}}, ""},
		{storage.Mutate{Additions: one}, "a key of 0 bytes; 1 to 1024 are allowed"},
		{storage.Mutate{Key: long, Additions: one}, "a key of 1025 bytes; "},
		{storage.Mutate{Key: "k"}, "name at least one column"},
		{storage.Mutate{Key: "k", Additions: []storage.Entry{{}}}, "a column of 0 bytes; 1 to 1024 are allowed"},
		{storage.Mutate{Key: "k", Deletions: []string{long}}, "a column of 1025 bytes; "},
		{storage.Mutate{Key: "k", Additions: append(one, one...)}, `column "c" is added twice`},
		{storage.Mutate{Key: "k", Additions: one, Deletions: []string{"c"}}, `column "c" is added and deleted`},
		{storage.Mutate{Key: "k", Additions: one, Timestamp: -1}, "timestamp -1; 0 or more"},
		{storage.Mutate{Key: "k", Additions: one, TTL: -1}, "ttl -1ns; more than 0s"},
		{storage.Slice{Key: "k"}, ""},
		{storage.Slice{Key: "k", Start: "b", End: "b", Limit: 1}, ""},
		{storage.Slice{Key: "k", Start: "b"}, ""},
		{storage.Slice{}, "a key of 0 bytes"},
		{storage.Slice{Key: "k", Start: "b", End: "a"}, `end "a" comes before start "b"`},
		{storage.Slice{Key: "k", Limit: -1}, "limit -1; more than 0"},
	} {
		err := c.request.Check()
		switch {
		case c.says == "":
			if err != nil {
				t.Errorf("%v: %v", c.request, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, storage.ErrInvalid):
			t.Errorf("%.40v: %v; want %q in it, of the kind %q", c.request, err, c.says, storage.ErrInvalid)
		}
	}
}

// TestMessagesAreReadable in a trace: what is asked for, of which row, and what came of it.
func TestMessagesAreReadable(t *testing.T) {
	for want, message := range map[string]interface{ String() string }{
		"save #1 2 bytes":  storage.Save{ID: 1, Data: []byte("ab")},
		"saved #1":         storage.Saved{ID: 1},
		"save #1: no room": storage.Saved{ID: 1, Err: errors.New("no room")},
		`mutate #2 "n0" adds "a" adds "b" deletes "c"`: storage.Mutate{ID: 2, Key: "n0", Additions: []storage.Entry{{Column: "a", Value: "1"}, {Column: "b"}}, Deletions: []string{"c"}},
		"mutated #2":         storage.Mutated{ID: 2},
		"mutate #2: no room": storage.Mutated{ID: 2, Err: errors.New("no room")},
		`slice #3 "n0"`:      storage.Slice{ID: 3, Key: "n0"},
		`slice #3 "n0" from "a" to "b" at most 7`: storage.Slice{ID: 3, Key: "n0", Start: "a", End: "b", Limit: 7},
		`sliced #3 "a" "b"`:                       storage.Sliced{ID: 3, Entries: []storage.Entry{{Column: "a"}, {Column: "b"}}},
		"slice #3: no room":                       storage.Sliced{ID: 3, Err: errors.New("no room")},
	} {
		if got := message.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
