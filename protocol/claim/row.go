package claim

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/option"
)

// A lock's row, byte for byte that of Titan's ConsistentKeyLocker, with what tokens need in addition.
//
//	row     4 bytes big-endian length of key | key | column
//	claim   8 bytes big-endian timestamp | rid               4 zero bytes
//	mark    9 × 0xFF                                         8 bytes big-endian timestamp | rid
//
// Claims are in [claimsFrom, marks): who reads that range only, as the original does, sees no mark.

// claimsFrom comes before all claims, and marks behind them, because a rid does not begin with 0xFF.
const (
	claimsFrom = "\x00"
	marks      = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"
)

// claimValue is the value of every claim: an int32 that is never read.
const claimValue = "\x00\x00\x00\x00"

// Row returns the key of the row in which a lock of (key, column) is claimed. The length before
// the key keeps ("a", "bc") and ("ab", "c") apart.
func Row(key, column string) string {
	row := make([]byte, 0, 4+len(key)+len(column))
	row = binary.BigEndian.AppendUint32(row, uint32(len(key)))
	row = append(row, key...)
	return string(append(row, column...))
}

// CellName names the lock of (key, column) in a space with Options.Cells: both in hexadecimal, so that
// they may be any bytes. A name has 512 bytes at most, so both together have 255.
func CellName(key, column string) string { return fmt.Sprintf("%x/%x", key, column) }

// parseCellName parses a result of CellName, and reports whether it is one.
func parseCellName(name string) (key, column string, ok bool) {
	first, second, both := strings.Cut(name, "/")
	key, ok1 := parseHex(first)
	column, ok2 := parseHex(second)
	return key, column, both && ok1 && ok2 && CellName(key, column) == name
}

func parseHex(text string) (string, bool) {
	if len(text)%2 != 0 {
		return "", false
	}
	b := make([]byte, 0, len(text)/2)
	for i := 0; i < len(text); i += 2 {
		value, err := strconv.ParseUint(text[i:i+2], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(value))
	}
	return string(b), true
}

// row returns the key of the row of a name, and reports whether the name has one.
func (o *Options) row(name string) (string, bool) {
	if !o.Cells {
		return Row(o.Group, name), true
	}
	key, column, ok := parseCellName(name)
	return Row(key, column), ok
}

// nameOf returns the name whose row has that key, or "".
func (o *Options) nameOf(row string) string {
	if len(row) < 4 {
		return ""
	}
	length := uint64(binary.BigEndian.Uint32([]byte(row)))
	if length > uint64(len(row)-4) {
		return ""
	}
	key, column := row[4:4+length], row[4+length:]
	switch {
	case o.Cells:
		return CellName(key, column)
	case key == o.Group:
		return column
	}
	return ""
}

// Column returns the name of a claim's column. Columns sort by timestamp, and of equal ones by
// rid.
func Column(timestamp int64, rid string) string {
	column := make([]byte, 0, 8+len(rid))
	column = binary.BigEndian.AppendUint64(column, uint64(timestamp))
	return string(append(column, rid...))
}

// ParseColumn parses a result of Column, and reports whether it is one.
func ParseColumn(column string) (timestamp int64, rid string, ok bool) {
	if len(column) < 9 || column >= marks {
		return 0, "", false
	}
	timestamp = int64(binary.BigEndian.Uint64([]byte(column)))
	return timestamp, column[8:], timestamp >= 0
}

// SettingsRow is the row in which users of a store record their settings. No lock has it: its length is −1.
const SettingsRow = "\xff\xff\xff\xffholdfast settings"

// Unit is the unit of timestamps: graph.timestamps of the original.
type Unit time.Duration

// The units.
const (
	Micro Unit = Unit(time.Microsecond)
	Milli Unit = Unit(time.Millisecond)
	Nano  Unit = Unit(time.Nanosecond)
)

// units are their words.
var units = option.Words{{Text: "us", Number: int64(Micro)}, {Text: "ms", Number: int64(Milli)}, {Text: "ns", Number: int64(Nano)}}

// String returns us, ms or ns, and "" for an invalid unit.
func (u Unit) String() string {
	for _, word := range units {
		if word.Number == int64(u) {
			return word.Text
		}
	}
	return ""
}

// of converts a time in microseconds, and micros back.
func (u Unit) of(micros int64) int64 {
	if u < Micro {
		return micros * int64(Micro/u)
	}
	return micros / int64(u/Micro)
}

func (u Unit) micros(stamp int64) int64 {
	if u < Micro {
		return stamp / int64(Micro/u)
	}
	return stamp * int64(u/Micro)
}

// count returns d in units, rounded up.
func (u Unit) count(d time.Duration) int64 {
	return int64((d + time.Duration(u) - 1) / time.Duration(u))
}
