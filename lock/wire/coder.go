package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// ErrMalformed is wrapped by every error about bytes, or about a value to encode.
var ErrMalformed = errors.New("malformed")

// The classes of errors.
var (
	// ErrTruncated: the bytes end within a value.
	ErrTruncated = fmt.Errorf("it ends early: %w", ErrMalformed)
	// ErrRange: a number, or an enumeration, is out of range.
	ErrRange = fmt.Errorf("value out of range: %w", ErrMalformed)
	// ErrLong: a text or a list is longer than its limit, or than its bytes.
	ErrLong = fmt.Errorf("text or list too long: %w", ErrMalformed)
	// ErrKind: no message has this type.
	ErrKind = fmt.Errorf("unknown type of message: %w", ErrMalformed)
)

// MaxText is the maximum length of a text, in bytes.
const MaxText = 4096

// Coder codes the fields of a value: it appends them to bytes, or reads them from there. After the first error it reads
// zeros. While it appends it changes nothing: others may be reading the value.
type Coder struct {
	b       []byte
	at      int // reading: the position
	writing bool
	err     error
	leasts  map[uintptr]int // the minimum size of an element, by the address of its type; kept from message to message
}

// To returns a Coder that appends to b.
func To(b []byte) Coder { return Coder{b: b, writing: true} }

// From returns a Coder that reads values from b.
func From(b []byte) Coder { return Coder{b: b} }

// Writing reports whether the Coder appends. Otherwise it reads.
func (c *Coder) Writing() bool { return c.writing }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail records the error, if it is the first one.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if !c.writing {
		c.at = len(c.b) // the rest reads nothing more
	}
}

// Refuse records a formatted error if there is none yet.
func (c *Coder) Refuse(format string, values ...any) {
	if c.err == nil {
		c.Fail(fmt.Errorf(format+": %w", append(values, ErrMalformed)...))
	}
}

// above fails if a number is above its limit.
func (c *Coder) above(n, most uint64, err error) {
	c.Fail(fmt.Errorf("%d, where %d is the most: %w", n, most, err))
}

// Bytes returns the bytes appended so far, or those left to read.
func (c *Coder) Bytes() []byte { return c.b[c.at:] }

// Appended returns the appended bytes. It panics with the first error: the owner of a value keeps it within the limits
// of its format.
func (c *Coder) Appended() []byte {
	if c.err != nil {
		panic(fmt.Sprintf("wire: append a value that could not be taken again: %v", c.err))
	}
	return c.b
}

// End returns the first error; bytes left over are an error.
func (c *Coder) End() error {
	if left := len(c.Bytes()); left > 0 && !c.writing {
		c.Refuse("%d bytes follow its end", left)
	}
	return c.err
}

// Varint codes an unsigned number: it returns the given one, or the one read.
func (c *Coder) Varint(n uint64) uint64 {
	if c.writing {
		c.put(n)
		return n
	}
	return c.take()
}

func (c *Coder) put(n uint64) {
	if n < 0x80 {
		c.b = append(c.b, byte(n))
	} else {
		c.putLong(n)
	}
}

// putLong is kept out of what calls put, which is faster without it.
//
//go:noinline
func (c *Coder) putLong(n uint64) { c.b = binary.AppendUvarint(c.b, n) }

func (c *Coder) take() uint64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1])
	}
	n, size := binary.Uvarint(c.b[c.at:])
	switch {
	case size == 0:
		c.Fail(ErrTruncated)
		return 0
	case size < 0 || c.b[c.at+size-1] == 0: // the last of several bytes adds nothing
		c.Fail(fmt.Errorf("a number that is not in its shortest form, or beyond 64 bits: %w", ErrRange))
		return 0
	}
	c.at += size
	return n
}

// Number codes an unsigned number.
func Number[T ~uint16 | ~uint32 | ~uint64](c *Coder, v *T) {
	if c.writing {
		c.put(uint64(*v))
		return
	}
	n := c.take()
	if *v = T(n); uint64(*v) != n {
		c.above(n, uint64(^T(0)), ErrRange)
	}
}

// UpTo codes an unsigned number that is not above most.
func UpTo[T ~int | ~uint8 | ~uint32 | ~uint64](c *Coder, v *T, most T) {
	n := c.Varint(uint64(*v))
	if n > uint64(most) {
		c.above(n, uint64(most), ErrRange)
		return
	}
	if !c.writing {
		*v = T(n)
	}
}

// Fixed codes a number in 8 bytes, for numbers that are as often large as small.
func Fixed[T ~uint64](c *Coder, v *T) {
	if n := c.fixed(uint64(*v)); !c.writing {
		*v = T(n)
	}
}

// Big codes a number in 8 bytes, big endian.
func Big[T ~uint64](c *Coder, v *T) {
	if n := c.fixed(bits.ReverseBytes64(uint64(*v))); !c.writing {
		*v = T(bits.ReverseBytes64(n))
	}
}

func (c *Coder) fixed(n uint64) uint64 {
	if c.writing {
		c.b = binary.LittleEndian.AppendUint64(c.b, n)
		return n
	}
	if len(c.b)-c.at < 8 {
		c.Fail(ErrTruncated)
		return 0
	}
	c.at += 8
	return binary.LittleEndian.Uint64(c.b[c.at-8:])
}

// Duration codes a duration, or a time of one member's clock.
func (c *Coder) Duration(v *time.Duration) {
	if c.writing {
		c.put(uint64(*v)<<1 ^ uint64(*v>>63)) // zigzag
		return
	}
	n := c.take()
	*v = time.Duration(n>>1) ^ -time.Duration(n&1)
}

// Int codes an int of 32 bits.
func (c *Coder) Int(v *int) {
	n := time.Duration(*v)
	c.Duration(&n)
	switch {
	case c.writing:
	case n < math.MinInt32 || n > math.MaxInt32:
		c.Fail(ErrRange)
	default:
		*v = int(n)
	}
}

// Enum codes one of the values up to most.
func Enum[T ~uint8](c *Coder, v *T, most T) {
	n := c.octet(byte(*v), byte(most))
	if !c.writing {
		*v = T(n)
	}
}

func (c *Coder) octet(n, most byte) byte {
	switch {
	case c.writing:
		c.b = append(c.b, n)
		return n
	case c.at == len(c.b):
		c.Fail(ErrTruncated)
		return 0
	case c.b[c.at] > most:
		c.above(uint64(c.b[c.at]), uint64(most), ErrRange)
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// Bool codes a boolean.
func (c *Coder) Bool(v *bool) {
	var n byte
	if *v {
		n = 1
	}
	if n = c.octet(n, 1); !c.writing {
		*v = n == 1
	}
}

// Flags codes booleans as the bits of one byte, the first one lowest. No other bit is set.
func (c *Coder) Flags(truths ...*bool) {
	n := byte(0)
	for i, truth := range truths {
		if *truth {
			n |= 1 << i
		}
	}
	if n = c.octet(n, 1<<len(truths)-1); !c.writing {
		for i, truth := range truths {
			*truth = n>>i&1 != 0
		}
	}
}

// Float codes a number with a fraction.
func (c *Coder) Float(v *float64) {
	if n := c.fixed(math.Float64bits(*v)); !c.writing {
		*v = math.Float64frombits(n)
	}
}

// Text codes a text of up to [MaxText] bytes. A text that it reads is a copy.
func Text[T ~string](c *Coder, v *T) { TextUpTo(c, v, MaxText) }

// TextUpTo codes a text of up to most bytes. What it takes is a copy.
func TextUpTo[T ~string](c *Coder, v *T, most int) {
	switch {
	case !c.writing:
		*v = T(c.raw(c.size(0, most)))
	case len(*v) > most:
		c.above(uint64(len(*v)), uint64(most), ErrLong)
	default:
		c.put(uint64(len(*v)))
		c.b = append(c.b, *v...)
	}
}

// size codes the number of bytes that follow.
func (c *Coder) size(n, most int) int {
	size := c.Varint(uint64(n))
	if size > uint64(most) {
		c.above(size, uint64(most), ErrLong)
		return 0
	}
	return int(size)
}

// raw reads size bytes.
func (c *Coder) raw(size int) []byte {
	if size > len(c.b)-c.at {
		c.Fail(ErrTruncated)
		return nil
	}
	c.at += size
	return c.b[c.at-size : c.at]
}

// Data codes at most most bytes. Bytes that it reads are a copy.
func (c *Coder) Data(v *[]byte, most int) {
	if size := c.size(len(*v), most); c.writing {
		c.b = append(c.b, *v...)
	} else if size > 0 {
		*v = slices.Clone(c.raw(size))
	}
}

// Raw codes exactly len(v) bytes.
func (c *Coder) Raw(v []byte) {
	if c.writing {
		c.b = append(c.b, v...)
	} else {
		copy(v, c.raw(len(v)))
	}
}

// Rest codes the last bytes of a message. Bytes that it reads are a copy.
func (c *Coder) Rest(v *[]byte) {
	if c.writing {
		c.b = append(c.b, *v...)
	} else if left := len(c.b) - c.at; left > 0 {
		*v = slices.Clone(c.raw(left))
	}
}
