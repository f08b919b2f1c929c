package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// What can be wrong with bytes, or with a value that is to become bytes.
var (
	// ErrTruncated: the bytes end within a value.
	ErrTruncated = errors.New("truncated message")
	// ErrRange: a number, or an enumeration, is not among its values.
	ErrRange = errors.New("value out of range")
	// ErrLong: a text or a list is longer than its bound, or than the bytes it is in.
	ErrLong = errors.New("text or list too long")
	// ErrKind: no message has this type.
	ErrKind = errors.New("unknown type of message")
)

// MaxText is how many bytes a text may have.
const MaxText = 4096

// Coder goes through the fields of a value: it appends them to bytes, or it takes
// them from there. After the first error what it takes is zero. While it appends it
// changes nothing: others may be reading the value.
type Coder struct {
	b       []byte
	at      int // taking: how far
	writing bool
	err     error
	leasts  map[uintptr]int // the fewest bytes of an element, by the address of its type; kept from message to message
}

// Writing reports whether the Coder appends. Else it takes.
func (c *Coder) Writing() bool { return c.writing }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail keeps the error, if it is the first one.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if !c.writing {
		c.at = len(c.b) // what is under way finds nothing more
	}
}

// Bytes returns what was appended so far, or what is left to take: for a value that has a format
// of its own, which goes on with SetBytes.
func (c *Coder) Bytes() []byte { return c.b[c.at:] }

// SetBytes says what has become of Bytes: it has grown, or less is left.
func (c *Coder) SetBytes(b []byte) {
	if c.writing {
		c.b = b
	} else {
		c.at = len(c.b) - len(b)
	}
}

// Varint codes an unsigned number: it returns the one that it was given, or the one
// that it has taken.
func (c *Coder) Varint(n uint64) uint64 {
	if c.writing {
		c.put(n)
		return n
	}
	return c.take()
}

func (c *Coder) put(n uint64) {
	for n >= 0x80 {
		c.b = append(c.b, byte(n)|0x80)
		n >>= 7
	}
	c.b = append(c.b, byte(n))
}

func (c *Coder) take() uint64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1])
	}
	n, size := binary.Uvarint(c.b[c.at:])
	switch {
	case size > 0:
		c.at += size
	case size == 0:
		c.Fail(ErrTruncated)
	default:
		c.Fail(ErrRange)
	}
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
		c.Fail(ErrRange)
	}
}

// Fixed codes a number that is as often large as small, in 8 bytes.
func Fixed[T ~uint64](c *Coder, v *T) {
	if n := c.fixed(uint64(*v)); !c.writing {
		*v = T(n)
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

// zigzag makes small numbers of either sign small ones without.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

// Duration codes a duration, or a time of one member's clock.
func (c *Coder) Duration(v *time.Duration) {
	n := c.Varint(zigzag(int64(*v)))
	if !c.writing {
		*v = time.Duration(n>>1) ^ -time.Duration(n&1)
	}
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
		c.Fail(ErrRange)
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// Bool codes a truth.
func (c *Coder) Bool(v *bool) {
	var n byte
	if *v {
		n = 1
	}
	if n = c.octet(n, 1); !c.writing {
		*v = n == 1
	}
}

// Float codes a number with a fraction.
func (c *Coder) Float(v *float64) {
	if n := c.fixed(math.Float64bits(*v)); !c.writing {
		*v = math.Float64frombits(n)
	}
}

// Text codes a text of up to [MaxText] bytes. What it takes is a copy.
func Text[T ~string](c *Coder, v *T) {
	if c.writing {
		c.writeText(string(*v))
	} else {
		*v = T(c.readText())
	}
}

func (c *Coder) writeText(s string) {
	if len(s) > MaxText {
		c.Fail(ErrLong)
		return
	}
	c.Varint(uint64(len(s)))
	c.b = append(c.b, s...)
}

func (c *Coder) readText() string {
	n := c.Varint(0)
	switch {
	case n > MaxText:
		c.Fail(ErrLong)
		return ""
	case n > uint64(len(c.b)-c.at):
		c.Fail(ErrTruncated)
		return ""
	}
	c.at += int(n)
	return string(c.b[c.at-int(n) : c.at])
}

// Data codes bytes, of which there may be most. What it takes is a copy.
func (c *Coder) Data(v *[]byte, most int) {
	n := c.Varint(uint64(len(*v)))
	switch {
	case n > uint64(most):
		c.Fail(ErrLong)
	case c.writing:
		c.b = append(c.b, *v...)
	case n > uint64(len(c.b)-c.at):
		c.Fail(ErrTruncated)
	case n > 0:
		c.at += int(n)
		*v = slices.Clone(c.b[c.at-int(n) : c.at])
	}
}
