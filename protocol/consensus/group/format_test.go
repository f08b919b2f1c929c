package group

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

// TestFormatStays checks that marks, states and records keep their format, byte for byte, and are read back.
func TestFormatStays(t *testing.T) {
	mark := Mark{Index: 7, Term: 300, Conf: Conf{Voters: []uint64{1, 1<<63 + 5}, Learners: []uint64{2}, Outgoing: []uint64{4}, LearnersNext: []uint64{5, 300}, AutoLeave: true}}
	entries := []Entry{{Index: 8, Term: 300}, {Index: 1 << 40, Term: 1 << 62, Kind: LastEntryKind, Data: []byte("data")}}
	state := hardState{300, 1<<63 + 5, 1 << 40}
	for what, tt := range map[string]struct {
		b    []byte
		want string
	}{
		"a founding mark": {func() []byte { m := Founding([]uint64{1, 2, 3}); return m.Append(nil) }(), "0101000301020300" + "0000"},
		"a mark":          {mark.Append([]byte("x"))[1:], "07ac0201020185808080808080808001010201040205ac02"},
		"no state":        {new(hardState).write(), "000000"},
		"a state":         {state.write(), "ac0285808080808080808001808080808020"},
		"a record":        {entries[0].record(), "0008ac02"},
		"a record's data": {entries[1].record(), "0280808080802080808080808080804064617461"},
	} {
		if got := fmt.Sprintf("%x", tt.b); got != tt.want {
			t.Errorf("%s is kept as %s, want %s", what, got, tt.want)
		}
	}
	for _, e := range entries {
		if got, err := readRecord(e.record()); err != nil || !reflect.DeepEqual(*got, e) {
			t.Errorf("%+v is read as %+v: %v", e, got, err)
		}
	}
	if got, err := readState(state.write()); err != nil || *got != state {
		t.Errorf("%+v is read as %+v: %v", state, got, err)
	}
}

// TestDamageIsNoticed checks that damage in states and records is detected.
func TestDamageIsNoticed(t *testing.T) {
	full := slices.Repeat([]byte{0xff}, 9)
	for what, b := range map[string][]byte{
		"nothing": {}, "too few": {1, 1}, "too many": {1, 1, 1, 1}, "a number that ends early": {1, 1, 0x80}, "a number beyond 64 bits": slices.Concat([]byte{1, 1}, full, []byte{2}),
	} {
		if s, err := readState(b); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("a state with %s: %v, %v", what, s, err)
		}
	}
	for what, b := range map[string][]byte{
		"nothing": {}, "an unknown kind": {byte(raftpb.EntryConfChangeV2) + 1, 1, 1}, "no index": {0}, "no term": {0, 1}, "a number beyond 64 bits": slices.Concat([]byte{0, 1}, full, []byte{2}),
	} {
		if e, err := readRecord(b); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("a record with %s: %v, %v", what, e, err)
		}
	}
	if s, err := readState(nil); s != nil || err != nil {
		t.Errorf("without a state: %v, %v", s, err)
	}
}
