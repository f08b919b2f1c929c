package redis

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// The parts of a sorted set's member.
const (
	escaped    = "\x00\xff" // 0x00 in a column
	endOfName  = "\x00\x01" // sorts before the continuation of any longer column
	stampBytes = 8
	endBytes   = 4
)

// escape encodes a column so that its end is recognizable, and so that the order is kept.
func escape(column string) string { return strings.ReplaceAll(column, "\x00", escaped) }

// stamp encodes a timestamp so that it sorts as a number.
func stamp(timestamp int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(timestamp)))
}

// seconds rounds a TTL up to full seconds.
func seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// parse splits a member into its parts. The end is in seconds since 1970, and 0 for none.
func parse(member string) (entry storage.Entry, end int64, err error) {
	name, rest, found := strings.Cut(member, endOfName)
	if !found || len(rest) < stampBytes+endBytes {
		return entry, 0, fmt.Errorf("a member of %d bytes that this driver has not written", len(member))
	}
	end = int64(binary.BigEndian.Uint32([]byte(rest[stampBytes : stampBytes+endBytes])))
	return storage.Entry{Column: strings.ReplaceAll(name, escaped, "\x00"), Value: rest[stampBytes+endBytes:]}, end, nil
}

// bounds returns the bounds of a range of columns, for ZRANGEBYLEX.
func bounds(s *storage.Slice) (least, most string) {
	least, most = "-", "+"
	if s.Start != "" {
		least = "[" + escape(s.Start)
	}
	if s.End != "" {
		most = "(" + escape(s.End)
	}
	return least, most
}
