package claim

import (
	"encoding/binary"
	"time"
)

// With CAS a lock is one column, its cell, which is taken and given back by conditional writes:
//
//	1 byte 'F' free or 'H' held | 1 byte flags | 8 bytes token | 4 bytes renewals | 8 bytes lease in µs |
//	[8 bytes taken in µs] | rid | [value | 8 bytes revision of the value | 2 bytes length of the value]
//
// all big-endian. A flag says whether taken is there: when the holder took the cell, by its own wall clock. Another one
// says the same of the grant's value. Both are shown to people, and decide nothing. A process of an earlier version
// reads a value as the end of the rid, and writes it back unchanged with its own flag; so it waits for the holder by
// its lease. A cell that is free keeps the token of its last holder. No contents come twice. A holder believes in it
// for the lease, from when it asked for that; a process that waits takes the cell over when it has not changed for
// (1+δ) times the lease since it was first seen so. So no two clocks are compared.

// cellColumn is the name of the column.
const cellColumn = "cell"

// The flags of a cell: others wait for its release; an operator has asked its holder to give it up; it has the time at
// which it was taken; it has a value. The last two are in the encoding only.
const (
	waitedFor = 1
	broken    = 2
	dated     = 4
	valued    = 8
)

// content is the contents of a cell.
type content struct {
	held     bool
	flags    byte
	token    uint64
	renewals uint32
	lease    time.Duration
	taken    uint64 // by the wall clock, in µs since 1970; 0: not recorded
	rid      string
	value    string // of the grant
	revision uint64
}

// cellHead is the length of what comes first, and cellTail of what comes behind a value.
const (
	cellHead = 1 + 1 + 8 + 4 + 8
	cellTail = 8 + 2
)

func (c *content) encode() string {
	state := byte('F')
	if c.held {
		state = 'H'
	}
	flags := c.flags
	if c.taken != 0 {
		flags |= dated
	}
	if c.says() {
		flags |= valued
	}
	b := append(make([]byte, 0, cellHead+8+len(c.rid)+len(c.value)+cellTail), state, flags)
	b = binary.BigEndian.AppendUint64(b, c.token)
	b = binary.BigEndian.AppendUint32(b, c.renewals)
	b = binary.BigEndian.AppendUint64(b, uint64(c.lease.Microseconds()))
	if c.taken != 0 {
		b = binary.BigEndian.AppendUint64(b, c.taken)
	}
	b = append(b, c.rid...)
	if c.says() {
		b = binary.BigEndian.AppendUint64(append(b, c.value...), c.revision)
		b = binary.BigEndian.AppendUint16(b, uint16(len(c.value)))
	}
	return string(b)
}

// says reports whether the cell has a value, or has had one under this holder.
func (c *content) says() bool { return c.value != "" || c.revision != 0 }

// decodeCell decodes a cell, and reports whether it is valid.
func decodeCell(value string) (c content, ok bool) {
	if len(value) < cellHead || value[0] != 'F' && value[0] != 'H' {
		return c, false
	}
	b := []byte(value)
	micros := binary.BigEndian.Uint64(b[14:])
	c = content{
		held: value[0] == 'H', flags: value[1], token: binary.BigEndian.Uint64(b[2:]), renewals: binary.BigEndian.Uint32(b[10:]),
		lease: time.Duration(micros) * time.Microsecond, rid: value[cellHead:],
	}
	ok = c.token < 1<<63 && micros <= uint64((48*time.Hour).Microseconds())
	if c.flags&dated != 0 {
		if len(c.rid) < 8 {
			return c, false
		}
		c.flags, c.taken, c.rid = c.flags&^dated, binary.BigEndian.Uint64(b[cellHead:]), c.rid[8:]
		ok = ok && c.taken != 0 && c.taken < 1<<63
	}
	if c.flags&valued != 0 {
		ok = c.cutValue() && ok
	}
	return c, ok
}

// cutValue takes the value off the end of the rid, and reports whether there is one.
func (c *content) cutValue() bool {
	end := len(c.rid) - cellTail
	if end < 0 {
		return false
	}
	tail := []byte(c.rid[end:])
	length := int(binary.BigEndian.Uint16(tail[8:]))
	if length > end {
		return false
	}
	c.flags, c.revision = c.flags&^valued, binary.BigEndian.Uint64(tail)
	c.value, c.rid = c.rid[end-length:end], c.rid[:end-length]
	return c.says()
}
