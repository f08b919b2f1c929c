package membership_test

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

const sumBytes = 8

func summed(content []byte) []byte {
	sum := fnv.New64a()
	sum.Write(content) // never returns an error
	return binary.BigEndian.AppendUint64(append([]byte(nil), content...), sum.Sum64())
}

// FuzzDecodeCell: bytes whose checksum is right, since a fuzzer would not find it, are a
// cell that encodes to them, and from which a member starts; or they are refused. Neither
// takes much more memory than the bytes.
func FuzzDecodeCell(f *testing.F) {
	small := membership.Cell{ID: 1, Incarnation: 1, Promised: 3, Candidate: 1, Floor: 3, Owed: 7}
	for _, cell := range []membership.Cell{{ID: 1}, small, recorded()} {
		b := cell.Encode()
		f.Add(b[:len(b)-sumBytes])
	}
	for _, text := range []string{"", "holdfast cell 1\n", "holdfast cell 2\n", "holdfast cell 3\n", "holdfast cell 1\n" + strings.Repeat("\x00", 41), "holdfast cell 2\n" + strings.Repeat("\xff", 57), "holdfast cell 3\n" + strings.Repeat("\xff", 50)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		data := summed(content)
		c, err := membership.DecodeCell(data)
		if got, most := leastMemory(data), uint64(8192+128*len(data)); got > most {
			t.Errorf("%d bytes took %d bytes of memory, over %d", len(data), got, most)
		}
		if err != nil {
			return
		}
		if again := c.Encode(); strings.HasPrefix(string(data), "holdfast cell 3") && string(again) != string(data) {
			t.Errorf("%x decodes to %+v, which encodes otherwise", data, c)
		}
		restart(t, c)
	})
}

// restart begins a life from a cell. A member that cannot have lived so is refused.
func restart(t *testing.T, c membership.Cell) {
	t.Helper()
	m, err := membership.New(membership.Config{Kept: true, Cell: c, Serves: true, Wall: wall(1000), Rand: random()})
	if err != nil {
		return
	}
	var now protocol.Time
	event := protocol.Event{Kind: protocol.Start}
	for range 8 {
		var out protocol.Effects
		m.Step(now, event, &out)
		event = protocol.Event{Kind: protocol.Tick}
		for _, sent := range out.Sends {
			if save, ok := sent.Message.(storage.Save); ok {
				event = protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: save.ID}}
			}
		}
		if event.Kind == protocol.Tick {
			if m.Wake() == protocol.Never {
				return
			}
			now = max(now, m.Wake())
		}
	}
}

// FuzzDamagedCell: anything that a disk does to a cell (a part of another one in its
// place, an end that is missing, bits that have changed), is seen, or nothing is damaged:
// no other promise is ever read.
func FuzzDamagedCell(f *testing.F) {
	f.Add(uint16(0), uint16(0), []byte{}, uint8(0))
	f.Add(uint16(40), uint16(8), []byte{1}, uint8(0))
	f.Add(uint16(20), uint16(300), []byte{}, uint8(1))
	f.Add(uint16(16), uint16(512), []byte{0, 0, 0, 0}, uint8(2))
	old := recorded()
	old.Promised, old.Floor, old.Incarnation = 7, 6, 2
	whole, former := recorded().Encode(), old.Encode()
	f.Fuzz(func(t *testing.T, at, length uint16, bits []byte, way uint8) {
		from := int(at) % len(whole)
		to := min(from+int(length), len(whole))
		data := append([]byte(nil), whole...)
		switch way % 3 {
		case 0:
			for i := range bits {
				data[(from+i)%len(data)] ^= bits[i]
			}
		case 1:
			data = append(data[:from], data[to:]...)
		case 2:
			copy(data[from:to], former[from:min(to, len(former))])
		}
		c, err := membership.DecodeCell(data)
		switch diff := cmp.Diff(recorded(), c); {
		case err == nil && diff != "" && cmp.Diff(old, c) != "":
			t.Errorf("damage goes unnoticed: %s", diff)
		case err == nil && diff != "" && string(data) != string(former):
			t.Errorf("an older cell is read from bytes that are not its own: %s", diff)
		case err != nil && string(data) == string(whole):
			t.Errorf("nothing is damaged: %v", err)
		}
	})
}

// leastMemory returns how many bytes decoding data allocates. The counter is the process's,
// and the fuzzer's own goroutines allocate as well: never less, so the least of a few
// counts is the nearest.
func leastMemory(data []byte) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = membership.DecodeCell(data)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
