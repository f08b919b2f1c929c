package lock

import "fmt"

// A slab allocates its first records individually, since most tables stay small, and then chunkSize at a time. Growing
// never copies a record, so a pointer to one stays valid as long as the record is in use.
const (
	firstSize = 32
	chunkSize = 256
)

// linked is a pointer to a record that can carry the link of a free list while unused.
type linked[T any] interface {
	*T
	link() *int32
}

// slab stores records of one kind, identified by small numbers. Number 0 is none, so the zero value of a field that
// refers to a record refers to none. Freed records are reused before the slab grows.
type slab[T any, P linked[T]] struct {
	first  *[firstSize]T
	chunks []*[chunkSize]T // the first one lacks the records that first has
	free   int32           // the first of the free list
	top    int32           // the highest number ever handed out
	used   int
}

// at returns record i.
func (s *slab[T, P]) at(i int32) P {
	if uint32(i) < firstSize {
		return &s.first[i]
	}
	return &s.chunks[uint32(i)/chunkSize][uint32(i)%chunkSize]
}

// take allocates a zero record.
func (s *slab[T, P]) take() (i int32, record P) {
	s.used++
	if i := s.free; i != 0 {
		record := s.at(i)
		link := record.link()
		s.free, *link = *link, 0
		return i, record
	}
	s.top++
	if s.top < 0 {
		panic("lock: a slab has run out of numbers")
	}
	switch {
	case s.top < firstSize:
		if s.first == nil {
			s.first = new([firstSize]T)
		}
	case int(s.top)/chunkSize == len(s.chunks):
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	return s.top, s.at(s.top)
}

// give frees record i.
func (s *slab[T, P]) give(i int32) {
	if i <= 0 || i > s.top || s.used == 0 {
		panic(fmt.Sprintf("lock: record %d of %d is given back, with %d in use", i, s.top, s.used))
	}
	var zero T
	record := s.at(i)
	*record = zero
	*record.link() = s.free
	s.free = i
	s.used--
}
