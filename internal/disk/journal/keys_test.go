package journal

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzEntry gives any key and value to what reads the database: it takes what a journal writes
// and nothing else, and never more than it was given.
func FuzzEntry(f *testing.F) {
	h := head{base: 3, last: 5, baseSum: 1, lastSum: 2, snapshot: 7, state: []byte("state")}
	s := snapshot{number: 1, chunks: 2, sums: 3, meta: []byte("meta")}
	for at, content := range map[string][]byte{
		string(key(rootKind)):           (&root{1, 2, 3, 4}).encode(),
		string(key(headKind, 1)):        h.encode(),
		string(key(snapshotKind, 1)):    s.encode(),
		string(key(recordKind, 1, 4)):   []byte("record"),
		string(key(chunkKind, 1, 1, 0)): []byte("chunk"),
		"":                              nil,
	} {
		value, _ := sealed(0, []byte(at), content)
		f.Add([]byte(at), value)
		f.Add([]byte(at), content)
	}
	f.Fuzz(func(t *testing.T, at, value []byte) {
		kind, numbers, err := parseKey(at)
		if err != nil {
			return
		}
		if again := key(kind, numbers[:numbersOf(kind)]...); !bytes.Equal(again, at) {
			t.Fatalf("%x is read as %x", at, again)
		}
		content, sum, err := unseal(0, at, value)
		if err == nil {
			if again, s := sealed(0, at, content); !bytes.Equal(again, value) || s != sum {
				t.Fatalf("%x at %x is read as %x", value, at, again)
			}
			for i := range value {
				sick := slices.Clone(value)
				sick[i] ^= 1
				if _, _, err := unseal(0, at, sick); err == nil {
					t.Fatalf("%x at %x is taken for %x", sick, at, value)
				}
			}
		}
		for _, decode := range []func([]byte) ([]byte, error){
			func(b []byte) ([]byte, error) { r, err := decodeRoot(b); return r.encode(), err },
			func(b []byte) ([]byte, error) { h, err := decodeHead(b); return h.encode(), err },
			func(b []byte) ([]byte, error) { s, err := decodeSnapshot(b); return s.encode(), err },
		} {
			if again, err := decode(value); err == nil && !bytes.Equal(again, value) {
				t.Fatalf("%x is read as %x", value, again)
			}
		}
		v := &verifier{folder: "f", logs: map[uint64]*ledger{1: {log: 1, head: h, sums: []uint32{1}}}, chunks: map[uint64]*chunks{1: {snapshot: s}}}
		v.see(at, value)
		v.end()
	})
}

// TestSumsAreOfAPlace: an entry is not taken for that of another place, nor a record for one that
// follows another.
func TestSumsAreOfAPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func() []byte {
		kinds := []byte{rootKind, headKind, snapshotKind, recordKind, chunkKind}
		kind := kinds[random.IntN(len(kinds))]
		numbers := make([]uint64, numbersOf(kind))
		for i := range numbers {
			numbers[i] = random.Uint64N(3)
		}
		return key(kind, numbers...)
	}
	for range 2000 {
		here, there, before := draw(), draw(), random.Uint32()
		value, _ := sealed(before, here, []byte("content"))
		if _, _, err := unseal(before, here, value); err != nil {
			t.Fatalf("at %x: %v", here, err)
		}
		if _, _, err := unseal(before, there, value); (err == nil) != bytes.Equal(here, there) {
			t.Fatalf("what was written at %x is read at %x: %v", here, there, err)
		}
		if _, _, err := unseal(before+1, here, value); err == nil {
			t.Fatalf("what was written at %x behind something else is taken", here)
		}
	}
}

// entry is one of a database.
type entry struct{ at, value []byte }

// build makes the entries of log 4, four records that are all the same and a snapshot of two
// chunks, and of log 6, which has a state alone.
func build() (made []entry) {
	add := func(before uint32, content []byte, kind byte, numbers ...uint64) uint32 {
		at := key(kind, numbers...)
		value, s := sealed(before, at, content)
		made = append(made, entry{at, value})
		return s
	}
	snap := snapshot{number: 2, chunks: 2, meta: []byte("m")}
	for n := range uint64(2) {
		snap.sums = addSum(snap.sums, add(0, []byte("chunk"), chunkKind, 4, 2, n))
	}
	last := uint32(0)
	for i := uint64(1); i <= 4; i++ {
		last = add(last, []byte("same"), recordKind, 4, i)
	}
	h := head{last: 4, lastSum: last, snapshot: add(0, snap.encode(), snapshotKind, 4)}
	r := root{batches: 9, heads: uint64(add(0, h.encode(), headKind, 4))}
	h = head{state: []byte("s")}
	r.heads += uint64(add(0, h.encode(), headKind, 6))
	add(0, r.encode(), rootKind)
	return sorted(made)
}

func sorted(all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int { return bytes.Compare(a.at, b.at) })
	return all
}

func find(all []entry, at []byte) int {
	return slices.IndexFunc(all, func(e entry) bool { return bytes.Equal(e.at, at) })
}

// harm does something to entries.
type harm func([]entry) []entry

func without(at []byte) harm {
	return func(all []entry) []entry { i := find(all, at); return slices.Delete(all, i, i+1) }
}

func flip(at []byte) harm {
	return func(all []entry) []entry { all[find(all, at)].value[sumSize+1] ^= 8; return all }
}

func swap(a, b []byte) harm {
	return func(all []entry) []entry {
		i, k := find(all, a), find(all, b)
		all[i].value, all[k].value = all[k].value, all[i].value
		return all
	}
}

func added(e entry) harm { return func(all []entry) []entry { return sorted(append(all, e)) } }

// TestVerifierErrors of each kind, naming the log, the index, and what is wrong.
func TestVerifierErrors(t *testing.T) {
	for _, c := range []struct {
		harm harm
		says string
	}{
		{func(all []entry) []entry { return all }, ""},
		{without(key(recordKind, 4, 2)), "record 2 of log 4: it is missing; the next one that is there is 3"},
		{without(key(recordKind, 4, 4)), "record 4 of log 4: it is missing, and so is all up to 4"},
		{flip(key(recordKind, 4, 3)), "record 3 of log 4: its checksum is"},
		{swap(key(recordKind, 4, 3), key(recordKind, 4, 2)), "record 2 of log 4: its checksum is"},
		{added(entry{key(recordKind, 4, 5), []byte("12345")}), "record 5 of log 4: the log has records 1 to 4"},
		{added(entry{key(recordKind, 5, 5), []byte("12345")}), "record 5 of log 5: the log has no head"},
		{without(key(chunkKind, 4, 2, 0)), "chunk 0 of log 4: it is missing; the next one of snapshot 2 that is there is 1"},
		{without(key(chunkKind, 4, 2, 1)), "chunk 1 of log 4: it is missing; snapshot 2 has 2"},
		{flip(key(chunkKind, 4, 2, 1)), "chunk 1 of log 4: it is of snapshot 2: its checksum is"},
		{added(entry{key(chunkKind, 4, 1, 0), nil}), "chunk 0 of log 4: it is of snapshot 1, and the log has snapshot 2"},
		{without(key(snapshotKind, 4)), "the snapshot of log 4: it is missing"},
		{flip(key(snapshotKind, 4)), "the snapshot of log 4: its checksum is"},
		{without(key(headKind, 4)), "the log has no head"},
		{without(key(headKind, 6)), "the root: it vouches for heads with the sum"},
		{flip(key(headKind, 4)), "the head of log 4: its checksum is"},
		{without(key(rootKind)), "the root: it is missing"},
		{flip(key(rootKind)), "the root: its checksum is"},
		{added(entry{[]byte{endKind}, nil}), "the database: a key 05; it has none of the forms"},
	} {
		v := &verifier{folder: "/f", logs: map[uint64]*ledger{}, chunks: map[uint64]*chunks{}}
		for _, e := range c.harm(build()) {
			v.see(e.at, e.value)
		}
		v.end()
		lines := ""
		for _, e := range v.wrong {
			lines += e.Error() + "\n"
		}
		switch {
		case c.says == "" && lines != "", !strings.Contains(lines, c.says):
			t.Errorf("it says\n%swant %q in it", lines, c.says)
		case c.says != "" && !strings.HasPrefix(lines, `the journal in folder "/f" is damaged: `):
			t.Errorf("%s does not name the folder", lines)
		}
	}
}

// TestRootsAreFound in a log of the database, at every position: in the middle of a block, and
// across the end of one. What is no root of this journal is not taken for one.
func TestRootsAreFound(t *testing.T) {
	const identity = 77
	value, _ := sealed(0, key(rootKind), (&root{batches: 9, synced: 8, identity: identity}).encode())
	other, _ := sealed(0, key(rootKind), (&root{batches: 19, synced: 18, identity: identity + 1}).encode())
	sick := slices.Clone(value)
	sick[sumSize+15] ^= 16 // 24 synced
	for before := 0; before < 2*blockSize+100; before++ {
		if before%blockSize > 100 && before%blockSize < blockSize-100 && before%997 != 0 {
			continue
		}
		data := make([]byte, before, 3*blockSize)
		for _, b := range value {
			if n := len(data); n > 0 && n%blockSize == 0 {
				data = append(data, make([]byte, blockHead)...)
			}
			data = append(data, b)
		}
		data = append(append(append(data, other...), sick...), make([]byte, 200)...)
		if found := latestSynced(data, identity); found != 8 {
			t.Fatalf("behind %d bytes a root knows of %d synced batches, want 8", before, found)
		}
	}
}
