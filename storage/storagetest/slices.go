package storagetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
)

func sliceChecks() []check {
	return []check{
		{"slice_bounds", nil, sliceBounds},
		{"slice_of_many", nil, sliceOfMany},
		{"serial_slice_bounds", needSwap, serialSliceBounds},
	}
}

// cutOut returns the columns of a row that a slice must return.
func cutOut(row []storage.Entry, r *storage.Slice) (want []storage.Entry) {
	for _, e := range row {
		if e.Column >= r.Start && (r.End == "" || e.Column < r.End) && (r.Limit == 0 || len(want) < r.Limit) {
			want = append(want, e)
		}
	}
	return want
}

// chosen returns distinct short columns, in order, so that many are prefixes of others.
func chosen(dice *rand.Rand, n int) (row []storage.Entry) {
	for len(row) < n {
		row = append(row, entry(short(dice), fmt.Sprint(len(row))))
		slices.SortFunc(row, func(a, b storage.Entry) int { return strings.Compare(a.Column, b.Column) })
		row = slices.CompactFunc(row, func(a, b storage.Entry) bool { return a.Column == b.Column })
	}
	return row
}

func short(dice *rand.Rand) string {
	const bytes = "\x00\x01ab\x7f\x80\xfe\xff"
	column := make([]byte, 1+dice.IntN(4))
	for i := range column {
		column[i] = bytes[dice.IntN(len(bytes))]
	}
	return string(column)
}

// sliceBounds checks Start, which is inclusive, End, which is exclusive, and Limit.
func sliceBounds(s *stage) {
	dice := rand.New(rand.NewPCG(1, 2))
	key, row := s.row(), chosen(dice, 60)
	s.add(s, key, 1, row...)
	s.bounds(dice, key, row, false)
}

// serialSliceBounds checks the same for a row written by Swap.
func serialSliceBounds(s *stage) {
	dice := rand.New(rand.NewPCG(3, 4))
	key, row := s.row(), chosen(dice, 20)
	for _, e := range row {
		s.swap(s, &storage.Swap{Key: key, Column: e.Column, Absent: true, New: e.Value}, storage.Swapped{Done: true})
	}
	s.bounds(dice, key, row, true)
}

// bounds tries many slices of a row.
func (s *stage) bounds(dice *rand.Rand, key string, row []storage.Entry, serial bool) {
	s.Helper()
	other := s.open()
	for i := range 150 {
		r := &storage.Slice{Key: key, Serial: serial}
		if i%4 != 0 {
			r.Start = short(dice)
		}
		if i%3 != 0 {
			if r.End = short(dice); r.End < r.Start {
				r.Start, r.End = r.End, r.Start
			}
		}
		if i%5 == 0 { // exactly a column
			r.Start = row[dice.IntN(len(row))].Column
			if r.End != "" && r.End < r.Start {
				r.End = r.Start
			}
		}
		if i%2 == 0 {
			r.Limit = 1 + dice.IntN(len(row)+5)
		}
		s.want(other, r, cutOut(row, r)...)
	}
}

// sliceOfMany checks that a slice of many columns returns all of them, and the remaining ones after most were deleted.
func sliceOfMany(s *stage) {
	const n = 3000
	key := s.row()
	row := make([]storage.Entry, n)
	for i := range row {
		row[i] = entry(fmt.Sprintf("column %06d", i), strings.Repeat("v", i%50))
	}
	for part := range slices.Chunk(row, 500) {
		s.add(s, key, 1, part...)
	}
	s.want(s, &storage.Slice{Key: key}, row...)
	s.want(s, &storage.Slice{Key: key, Start: row[n/2].Column, Limit: 10}, row[n/2:n/2+10]...)
	for part := range slices.Chunk(row[:n-7], 500) {
		columns := make([]string, len(part))
		for i, e := range part {
			columns[i] = e.Column
		}
		s.remove(s, key, 2, columns...)
	}
	s.want(s, &storage.Slice{Key: key}, row[n-7:]...)
	s.want(s, &storage.Slice{Key: key, Limit: 2}, row[n-7:n-5]...)
}
