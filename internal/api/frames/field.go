package frames

import (
	"encoding/binary"
	"unicode/utf8"
)

// Wire types of fields, the lower bits of a tag.
const (
	typeVarint = 0
	typeBytes  = 2
	typeBits   = 3
)

// appendNumber appends a number field, unless it is zero. The tag has one byte: fields up to 15.
func appendNumber(b []byte, field byte, n uint64) []byte {
	if n == 0 {
		return b
	}
	return appendVarint(append(b, field<<typeBits|typeVarint), n)
}

func appendVarint(b []byte, n uint64) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, n)
}

// appendText appends a text field, unless it is empty.
func appendText(b []byte, field byte, text string) []byte {
	if text == "" {
		return b
	}
	b = appendVarint(append(b, field<<typeBits|typeBytes), uint64(len(text)))
	return append(b, text...)
}

// begin starts a nested message: it reserves one byte for its length, which usually suffices. Append the message, then
// call end with start.
func begin(b []byte, field byte) (grown []byte, start int) {
	b = append(b, field<<typeBits|typeBytes, 0)
	return b, len(b)
}

// end writes the length of the nested message that began at start.
func end(b []byte, start int) []byte {
	n := len(b) - start
	if n < 0x80 {
		b[start-1] = byte(n)
		return b
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	b = append(b, length[:size-1]...) // any bytes: they make room
	copy(b[start+size-1:], b[start:start+n])
	copy(b[start-1:], length[:size])
	return b
}

// reader decodes fields. A field that it cannot decode makes it odd: then the general code decodes the message instead,
// and reports any fault.
type reader struct {
	b   []byte
	odd bool
}

// field reads the tag of the next field. More is false at the end, and for a tag of more than one byte, which no field
// decoded here has.
func (r *reader) field() (tag byte, more bool) {
	if len(r.b) == 0 || r.odd {
		return 0, false
	}
	tag = r.b[0]
	r.b = r.b[1:]
	return tag, true
}

// varint reads a number.
func (r *reader) varint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		n := uint64(r.b[0])
		r.b = r.b[1:]
		return n
	}
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.odd = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// bytes reads length-prefixed bytes.
func (r *reader) bytes() []byte {
	n := r.varint()
	if r.odd || n > uint64(len(r.b)) {
		r.odd = true
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// eachItem calls take for each item of a frame. It reports false if the frame itself is odd, and the general code must
// decode it.
func eachItem(frame []byte, take func(item []byte) error) (plain bool, err error) {
	for r := (reader{b: frame}); ; {
		tag, more := r.field()
		if !more {
			return true, nil
		}
		if tag != fieldItem<<typeBits|typeBytes {
			return false, nil
		}
		item := r.bytes()
		if r.odd {
			return false, nil
		}
		if err := take(item); err != nil {
			return true, err
		}
	}
}

// text reads a text.
func (r *reader) text() string { return r.textLike("") }

// textLike reads a text, and returns before if it is equal, which saves an allocation.
func (r *reader) textLike(before string) string {
	taken := r.bytes()
	if string(taken) == before {
		return before
	}
	if !utf8.Valid(taken) {
		r.odd = true
		return ""
	}
	return string(taken)
}
