package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// What can be wrong with bytes, or with a message that is to become bytes.
var (
	// ErrTruncated: the bytes end within a message.
	ErrTruncated = errors.New("truncated message")
	// ErrRange: a number, or an enumeration, is not among its values.
	ErrRange = errors.New("value out of range")
	// ErrLong: a text or a list is longer than its bound, or than the bytes it is in.
	ErrLong = errors.New("text or list too long")
	// ErrKind: no message has this type.
	ErrKind = errors.New("unknown type of message")
)

// maxText is how long a text may be.
const maxText = 4096

// coder goes through the fields of a message: it appends them to bytes, or it takes
// them from there. After the first error what it takes is zero. While it appends it
// changes nothing: others may be reading the message.
type coder struct {
	b       []byte
	at      int // reading: how far
	writing bool
	err     error
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if !c.writing {
		c.at = len(c.b) // what is under way finds nothing more
	}
}

// varint codes an unsigned number: it returns the one that it was given, or the one
// that it has read.
func (c *coder) varint(n uint64) uint64 {
	switch {
	case c.writing && n < 0x80:
		c.b = append(c.b, byte(n))
		return n
	case c.writing:
		c.b = binary.AppendUvarint(c.b, n)
		return n
	case c.at < len(c.b) && c.b[c.at] < 0x80:
		c.at++
		return uint64(c.b[c.at-1])
	}
	n, size := binary.Uvarint(c.b[c.at:])
	switch {
	case size > 0:
		c.at += size
	case size == 0:
		c.fail(ErrTruncated)
	default:
		c.fail(ErrRange)
	}
	return n
}

// number codes an unsigned number.
func number[T ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	n := c.varint(uint64(*v))
	if c.writing {
		return
	}
	if *v = T(n); uint64(*v) != n {
		c.fail(ErrRange)
	}
}

// fixed codes a number that is as often large as small.
func fixed[T ~uint64](c *coder, v *T) {
	if n := c.word(uint64(*v)); !c.writing {
		*v = T(n)
	}
}

func (c *coder) word(n uint64) uint64 {
	if c.writing {
		c.b = binary.LittleEndian.AppendUint64(c.b, n)
		return n
	}
	if len(c.b)-c.at < 8 {
		c.fail(ErrTruncated)
		return 0
	}
	c.at += 8
	return binary.LittleEndian.Uint64(c.b[c.at-8:])
}

// zigzag makes small numbers of either sign small ones without.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

// span codes a duration, or a time of one member's clock.
func (c *coder) span(v *time.Duration) {
	n := c.varint(zigzag(int64(*v)))
	if !c.writing {
		*v = time.Duration(n>>1) ^ -time.Duration(n&1)
	}
}

// count codes an int that counts something.
func (c *coder) count(v *int) {
	n := time.Duration(*v)
	c.span(&n)
	switch {
	case c.writing:
	case n < math.MinInt32 || n > math.MaxInt32:
		c.fail(ErrRange)
	default:
		*v = int(n)
	}
}

// enum codes one of the values up to most.
func enum[T ~uint8](c *coder, v *T, most T) {
	n := c.octet(byte(*v), byte(most))
	if !c.writing {
		*v = T(n)
	}
}

func (c *coder) octet(n, most byte) byte {
	switch {
	case c.writing:
		c.b = append(c.b, n)
		return n
	case c.at == len(c.b):
		c.fail(ErrTruncated)
		return 0
	case c.b[c.at] > most:
		c.fail(ErrRange)
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

func (c *coder) truth(v *bool) {
	var n byte
	if *v {
		n = 1
	}
	if n = c.octet(n, 1); !c.writing {
		*v = n == 1
	}
}

func (c *coder) real(v *float64) {
	if n := c.word(math.Float64bits(*v)); !c.writing {
		*v = math.Float64frombits(n)
	}
}

// text codes a string. It is copied out of the bytes.
func text[T ~string](c *coder, v *T) {
	if c.writing {
		c.writeText(string(*v))
	} else {
		*v = T(c.readText())
	}
}

func (c *coder) writeText(s string) {
	if len(s) > maxText {
		c.fail(ErrLong)
		return
	}
	c.varint(uint64(len(s)))
	c.b = append(c.b, s...)
}

func (c *coder) readText() string {
	n := c.varint(0)
	switch {
	case n > maxText:
		c.fail(ErrLong)
		return ""
	case n > uint64(len(c.b)-c.at):
		c.fail(ErrTruncated)
		return ""
	}
	c.at += int(n)
	return string(c.b[c.at-int(n) : c.at])
}

// data codes bytes, of which there may be most. They are copied out of the bytes.
func (c *coder) data(v *[]byte, most int) {
	n := c.varint(uint64(len(*v)))
	switch {
	case n > uint64(most):
		c.fail(ErrLong)
	case c.writing:
		c.b = append(c.b, *v...)
	case n > uint64(len(c.b)-c.at):
		c.fail(ErrTruncated)
	case n > 0:
		c.at += int(n)
		*v = bytes.Clone(c.b[c.at-int(n) : c.at])
	}
}

// list codes the length of a list, makes room for its elements when reading, and
// returns it for its elements to be coded. None has fewer than least bytes.
func list[T any](c *coder, v *[]T, least int) []T { return bounded(c, v, least, math.MaxInt) }

// bounded is a list of up to most elements, for those that take much more room than bytes.
func bounded[T any](c *coder, v *[]T, least, most int) []T {
	n := c.varint(uint64(len(*v)))
	switch {
	case n > uint64(most):
		c.fail(ErrLong)
		return nil
	case c.writing:
	case n > uint64((len(c.b)-c.at)/least):
		c.fail(ErrLong)
	case n > 0:
		*v = make([]T, n)
	}
	return *v
}

// optional codes whether there is a value, and makes one when reading.
func optional[T any](c *coder, v **T) bool {
	there := *v != nil
	c.truth(&there)
	if !c.writing && there {
		*v = new(T)
	}
	return there
}

func (c *coder) numbers(v *[]uint64) {
	for i := range list(c, v, 1) {
		number(c, &(*v)[i])
	}
}

func (c *coder) ids(v *[]protocol.ID) {
	for i := range list(c, v, leastID) {
		fixed(c, &(*v)[i])
	}
}

func (c *coder) ports(v *[]protocol.Port) {
	for i := range list(c, v, 1) {
		number(c, &(*v)[i])
	}
}

func (c *coder) texts(v *[]string) {
	for i := range list(c, v, 1) {
		text(c, &(*v)[i])
	}
}

func (c *coder) epoch(v *protocol.Epoch) {
	number(c, &v.Counter)
	fixed(c, &v.Candidate)
}

func (c *coder) tenure(v *protocol.Tenure) {
	number(c, &v.Incarnation)
	number(c, &v.Lapses)
}
