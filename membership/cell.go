package membership

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Cell is what a member remembers for ever (membership.md §2). The zero Cell is
// that of a member that has never started.
type Cell struct {
	Cluster     uint64      // names the cluster; drawn by whoever bootstraps it
	ID          protocol.ID // names the member
	Incarnation uint64      // counts starts
	Promised    uint64      // highest epoch counter promised or begun
	Horizon     time.Duration
	Clean       bool // nothing is promised to any client
}

// The layout: a line that people recognize, fixed numbers, a checksum. A cell of
// another version is refused rather than guessed at.
const (
	cellMagic = "holdfast cell 1\n"
	cellBytes = len(cellMagic) + 5*8 + 1 + 8
)

// Encode returns the cell's bytes.
func (c Cell) Encode() []byte {
	b := append(make([]byte, 0, cellBytes), cellMagic...)
	for _, n := range []uint64{c.Cluster, uint64(c.ID), c.Incarnation, c.Promised, uint64(c.Horizon)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	if c.Clean {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint64(b, checksum(b))
}

// DecodeCell reads what Encode wrote. The error says what is wrong with the bytes:
// a damaged cell must not be taken for one that was never written.
func DecodeCell(b []byte) (Cell, error) {
	if !strings.HasPrefix(string(b), "holdfast cell ") {
		return Cell{}, fmt.Errorf("these %d bytes are not a stable cell", len(b))
	}
	if !strings.HasPrefix(string(b), cellMagic) {
		version, _, _ := strings.Cut(string(b[:min(len(b), 32)]), "\n")
		return Cell{}, fmt.Errorf("%q: this version reads %q", version, strings.TrimSpace(cellMagic))
	}
	if len(b) != cellBytes {
		return Cell{}, fmt.Errorf("a stable cell has %d bytes, this one has %d", cellBytes, len(b))
	}
	body, sum := b[:cellBytes-8], binary.BigEndian.Uint64(b[cellBytes-8:])
	if checksum(body) != sum {
		return Cell{}, fmt.Errorf("checksum %016x does not match the content's %016x", sum, checksum(body))
	}
	fields := body[len(cellMagic):]
	at := func(i int) uint64 { return binary.BigEndian.Uint64(fields[8*i:]) }
	return Cell{
		Cluster: at(0), ID: protocol.ID(at(1)), Incarnation: at(2), Promised: at(3),
		Horizon: time.Duration(at(4)), Clean: fields[40] == 1,
	}, nil
}

// checksum is FNV-1a: it tells damage from content, not an attacker from a friend.
func checksum(b []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}
