package storagetest

import (
	"crypto/rand"
	"math/big"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
)

func rowChecks() []check {
	return []check{
		{"row_without_columns", nil, rowWithoutColumns},
		{"columns_in_order", nil, columnsInOrder},
		{"any_bytes", nil, anyBytes},
		{"longest_names", nil, longestNames},
		{"rows_do_not_mix", nil, rowsDoNotMix},
		{"visible_at_once", nil, visibleAtOnce},
	}
}

// rowWithoutColumns checks that a row is empty before the first write, and after all columns were deleted.
func rowWithoutColumns(s *stage) {
	all := &storage.Slice{Key: s.row()}
	s.want(s, all)
	s.remove(s, all.Key, 1, "never there", "neither")
	s.want(s, all)
	s.add(s, all.Key, 2, entry("a", "1"), entry("b", "2"))
	s.want(s, all, entry("a", "1"), entry("b", "2"))
	s.remove(s, all.Key, 3, "a", "never there either", "b")
	s.want(s, all)
}

// columnsInOrder checks that columns are in the order of their unsigned bytes, regardless of the order of the writes.
func columnsInOrder(s *stage) {
	columns := []string{
		"\x00\x00", "\x00\x00\x00", "\x00\x01", "\x00\xff", "\x01\x00", "a\x00", "a\x00b", "a\x01", "aa", "ab", "a\x7f", "a\x80", "a\xff",
		"a\xff\x00", "a\xff\xff", "\x7f\xff", "\x80\x00", "\xfe\xff", "\xff\x00", "\xff\xfe", "\xff\xff", "\xff\xff\xff", "\xff\xff\x00",
		"\xc3\xa9", "\xe2\x82\xac", "e\xcc\x81", "A", "Z", "z", "É", "10", "9", "09", "a b", "a\tb", "a\nb",
	}
	for b := range 256 {
		columns = append(columns, string([]byte{byte(b)}))
	}
	slices.Sort(columns)
	columns = slices.Compact(columns)
	want := make([]storage.Entry, len(columns))
	for i, column := range columns {
		want[i] = entry(column, "of "+column)
	}
	all := &storage.Slice{Key: s.row()}
	shuffled := slices.Clone(want)
	shuffle(shuffled)
	for part := range slices.Chunk(shuffled, 50) {
		s.add(s, all.Key, 1, part...)
	}
	got := s.read(s.open(), all)
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			s.Fatalf("column %d is %q, want %q", i, got[i], want[i])
		}
	}
	s.Fatalf("%d columns, want %d", len(got), len(want))
}

// shuffle is not seeded: a failed check names the columns itself.
func shuffle[T any](list []T) {
	for i := range list {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(i+1)))
		if err != nil {
			panic(err) // the system's random source does not fail
		}
		j := int(at.Int64())
		list[i], list[j] = list[j], list[i]
	}
}

// anyBytes checks that keys, columns and values may contain any bytes.
func anyBytes(s *stage) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	odd := []string{
		"\x00", "\x00\x00", "\xff", "\xff\xff", "a\x00b", "a\x00", "\xed\xa0\x80", "\xc3", "\xc3\xa9", "e\xcc\x81", "\xef\xbb\xbfa", "a/b", "a:b", "{a}b", "a*?[b]",
		"' OR 1=1 --", `"\'`, `\x41`, `\`, "%s%d", "$1", "?", "*", "\r\n", " ", "  ", "NULL", "nil", "0", "-1", "true", string(every),
	}
	row := s.row()
	other := s.open()
	keys := map[string][]storage.Entry{}
	var entries []storage.Entry
	for _, text := range odd {
		entries = append(entries, entry(text, text))
	}
	for _, text := range odd {
		e := []storage.Entry{entry("in "+text, text)}
		keys[row+text] = e
		s.add(s, row+text, 1, e...)
	}
	for key, want := range keys {
		s.want(other, &storage.Slice{Key: key}, want...)
	}
	s.add(s, row, 1, entries...)
	slices.SortFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Column, b.Column) })
	s.want(other, &storage.Slice{Key: row}, entries...)
	// Values may be empty, and may be long.
	long := random(65536)
	s.add(s, row, 2, entry("\x00", ""), entry("\xff", long))
	s.want(other, &storage.Slice{Key: row, End: "\x00\x00"}, entry("\x00", ""))
	s.want(other, &storage.Slice{Key: row, Start: "\xff", End: "\xff\xff"}, entry("\xff", long))
	s.remove(s, row, 3, odd...)
	s.want(other, &storage.Slice{Key: row})
	s.want(other, &storage.Slice{Key: row + "\x00"}, keys[row+"\x00"]...)
}

// random returns incompressible bytes.
func random(n int) string {
	bytes := make([]byte, n)
	_, _ = rand.Read(bytes) // it never fails
	return string(bytes)
}

// longestNames checks that the longest valid names are accepted, differ by their last byte, and are in order.
func longestNames(s *stage) {
	stem, key := random(storage.MaxName-1), random(storage.MaxName-1)
	a, b := entry(stem+"\x00", "1"), entry(stem+"\xff", "2")
	s.add(s, key+"\x01", 1, b, a)
	s.add(s, key+"\x02", 1, b)
	s.want(s, &storage.Slice{Key: key + "\x01"}, a, b)
	s.want(s, &storage.Slice{Key: key + "\x02"}, b)
	s.want(s, &storage.Slice{Key: key + "\x01", Start: stem + "\x00", End: stem + "\xff"}, a)
	s.remove(s, key+"\x01", 1, a.Column)
	s.want(s, &storage.Slice{Key: key + "\x01", Start: stem}, b)
	if s.Features().Swap {
		w := storage.Swap{Key: key + "\x03", Column: stem + "\x04", Absent: true, New: "3"}
		s.swap(s, &w, storage.Swapped{Done: true})
		s.swap(s, &w, storage.Swapped{Present: true, Value: "3"})
	}
	if s.Features().Watch {
		if err := s.Watch(s.ctx, key+"\x01", func() {}); err != nil {
			s.Errorf("watch the row of the longest key: %v", err)
		}
	}
}

// rowsDoNotMix uses keys and columns whose concatenations are equal.
func rowsDoNotMix(s *stage) {
	row := s.row()
	rows := map[string][]storage.Entry{}
	for _, between := range []string{"", "\x00", "\x01", "\xff", "/", ":", "|", ".", "\x00\x00", "\x00\xff"} {
		for _, parts := range [][2]string{{"a", "b" + between + "c"}, {"a" + between + "b", "c"}, {"a" + between, "b" + between + "c"}, {"a" + between + "b" + between, "c"}} {
			key := row + parts[0]
			rows[key] = append(rows[key], entry(parts[1], parts[0]+" "+parts[1]))
		}
	}
	for key, entries := range rows {
		slices.SortFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Column, b.Column) })
		rows[key] = slices.Compact(entries)
		s.add(s, key, 1, rows[key]...)
	}
	for key, entries := range rows {
		s.want(s, &storage.Slice{Key: key}, entries...)
	}
	for key, entries := range rows {
		s.remove(s, key, 2, entries[0].Column)
		rows[key] = entries[1:]
	}
	for key, entries := range rows {
		s.want(s, &storage.Slice{Key: key}, entries...)
	}
	s.want(s, &storage.Slice{Key: row})
}

// visibleAtOnce checks that every handle sees an answered write.
func visibleAtOnce(s *stage) {
	stores := s.several(3)
	all := &storage.Slice{Key: s.row()}
	for i := range int64(60) {
		value := string(rune('a' + i%26))
		s.add(stores[i%3], all.Key, 2*i, entry("c", value))
		s.want(stores[(i+1)%3], all, entry("c", value))
		s.want(stores[(i+2)%3], all, entry("c", value))
	}
	s.remove(stores[1], all.Key, 1000, "c")
	for _, store := range stores {
		s.want(store, all)
	}
}
