package claim

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
)

// before is what a process of the version without values reads of a cell, and writes.
type before struct {
	held     bool
	flags    byte
	token    uint64
	renewals uint32
	lease    uint64
	taken    uint64
	rid      string
}

func decodeBefore(value string) (c before, ok bool) {
	if len(value) < cellHead || value[0] != 'F' && value[0] != 'H' {
		return c, false
	}
	b := []byte(value)
	c = before{
		value[0] == 'H', value[1], binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint32(b[10:]), binary.BigEndian.Uint64(b[14:]), 0, value[cellHead:],
	}
	if c.flags&4 == 0 {
		return c, true
	}
	if len(c.rid) < 8 {
		return c, false
	}
	c.flags, c.taken, c.rid = c.flags&^4, binary.BigEndian.Uint64(b[cellHead:]), c.rid[8:]
	return c, true
}

func (c *before) encode() string {
	state, flags := byte('F'), c.flags
	if c.held {
		state = 'H'
	}
	if c.taken != 0 {
		flags |= 4
	}
	b := binary.BigEndian.AppendUint64([]byte{state, flags}, c.token)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, c.renewals), c.lease)
	if c.taken != 0 {
		b = binary.BigEndian.AppendUint64(b, c.taken)
	}
	return string(b) + c.rid
}

// TestCellWithValue checks the layout of a cell with a value, and that a process of an earlier version waits for its
// holder and records that without a loss.
func TestCellWithValue(t *testing.T) {
	full := content{held: true, token: 7, renewals: 3, lease: 30 * time.Second, taken: 1770825600008999, rid: "a"}
	text := "48" + "0c" + "0000000000000007" + "00000003" + "0000000001c9c380" + "00064a8e76d90327" + "61" + "6f6e65" + "0000000000000002" + "0003"
	with := full
	with.value, with.revision = "one", 2
	if got := hex.EncodeToString([]byte(with.encode())); got != text {
		t.Errorf("it is written as %s, want %s", got, text)
	}
	longest, removed := full, full
	longest.value, removed.revision = strings.Repeat("v", holdfast.MaxValue), 9
	o := &Options{CAS: true}
	for _, c := range []content{with, longest, removed} {
		if got, ok := decodeCell(c.encode()); !ok || got != c {
			t.Errorf("it is read as %+v %v, want %+v", got, ok, c)
		}
		shown := o.Inspect([]storage.Entry{{Column: cellColumn, Value: c.encode()}}, 0)
		if shown.Value != c.value || shown.Revision != c.revision || shown.RID != "a" || shown.Token != 7 {
			t.Errorf("it is shown as %+v", shown)
		}
		old, ok := decodeBefore(c.encode())
		if !ok || !old.held || old.token != 7 || old.lease != 30_000_000 || !strings.HasPrefix(old.rid, "a") || old.rid == "a" {
			t.Errorf("before it was read as %+v %v", old, ok)
		}
		old.flags |= waitedFor
		waits := c
		waits.flags = waitedFor
		if got, ok := decodeCell(old.encode()); !ok || got != waits {
			t.Errorf("with the mark of a waiter of before it is read as %+v %v, want %+v", got, ok, waits)
		}
		if freed, ok := decodeCell(Freeing("row", c.encode()).New); !ok || freed != (content{token: 7}) {
			t.Errorf("freed it is %+v %v", freed, ok)
		}
		if broke, ok := decodeCell(Breaking("row", c.encode()).New); !ok || broke.value != c.value || broke.revision != c.revision {
			t.Errorf("broken it is %+v %v", broke, ok)
		}
	}
	for _, bad := range []string{
		text[:len(text)-4] + "0005",                  // longer than the rest
		text[:len(text)-26] + "00" + "0003",          // cut
		text[:len(text)-26] + "00000000000000000000", // no value and no revision
	} {
		value, err := hex.DecodeString(bad)
		if c, ok := decodeCell(string(value)); ok || err != nil {
			t.Errorf("%s is read as %+v (%v)", bad, c, err)
		}
	}
	invalid := with
	invalid.value = "\xff"
	if shown := o.Inspect([]storage.Entry{{Column: cellColumn, Value: invalid.encode()}}, 0); shown.Value != "" || shown.RID != "a" {
		t.Errorf("a value that is not UTF-8 is shown as %+v", shown)
	}
}

// TestClaimWithValue checks the values of claims' columns: as the original and earlier versions write them, and with the
// value of a grant.
func TestClaimWithValue(t *testing.T) {
	for _, c := range []struct {
		what, hex string
		is        saying
		rewrites  uint32
	}{
		{"without a value", "00000000", saying{}, 0},
		{"with one", "00000000" + "0000000000000000" + "0000000000000000" + "6f6e65", saying{value: "one"}, 0},
		{"a renewal", "00000000" + "0000000000000007" + "0000000000000000", saying{token: 7}, 0},
		{"written anew", "00000003" + "0000000000000007" + "0000000000000002" + "74776f", saying{7, 2, "two"}, 3},
		{"without a value any more", "00000004" + "0000000000000007" + "0000000000000003", saying{7, 3, ""}, 4},
	} {
		if got := hex.EncodeToString([]byte(c.is.encode(c.rewrites))); got != c.hex {
			t.Errorf("%s: it is written as %s, want %s", c.what, got, c.hex)
		}
		value, err := hex.DecodeString(c.hex)
		if says, rewrites := decodeSaying(string(value)); says != c.is || rewrites != c.rewrites || err != nil {
			t.Errorf("%s: it is read as %+v, %d (%v)", c.what, says, rewrites, err)
		}
	}
	for _, other := range []string{"", "\x00", "\x00\x00\x00\x05", strings.Repeat("x", sayingHead-1)} {
		if says, rewrites := decodeSaying(other); says != (saying{}) || rewrites != 0 {
			t.Errorf("%q says %+v", other, says)
		}
	}
}

// TestInspectValues checks which value a row shows: what the latest of its holder's claims says of the latest grant,
// and nothing that uncertain writes have left there.
func TestInspectValues(t *testing.T) {
	o := &Options{Wait: 100 * time.Millisecond, Skew: 40 * time.Millisecond, Expiry: 30 * time.Second, Unit: Micro}
	column := func(stamp int64, rid string, s saying) storage.Entry {
		return storage.Entry{Column: Column(stamp, rid), Value: s.encode(0)}
	}
	old := storage.Entry{Column: Column(100, "a"), Value: claimValue}
	for _, c := range []struct {
		what     string
		row      []storage.Entry
		value    string
		revision uint64
	}{
		{"nothing", nil, "", 0},
		{"a claim of before", []storage.Entry{old}, "", 0},
		{"its renewal of before", []storage.Entry{old, {Column: Column(200, "a"), Value: claimValue}}, "", 0},
		{"a claim", []storage.Entry{column(100, "a", saying{0, 0, "one"})}, "one", 0},
		{"who waits", []storage.Entry{column(100, "a", saying{0, 0, "one"}), column(110, "b", saying{0, 9, "two"})}, "one", 0},
		{"a renewal", []storage.Entry{column(100, "a", saying{0, 1, "one"}), column(200, "a", saying{100, 1, "one"})}, "one", 1},
		{"after a renewal of before the value", []storage.Entry{column(100, "a", saying{100, 1, "one"}), column(200, "a", saying{100, 0, ""})}, "one", 1},
		{"left by an earlier hold", []storage.Entry{column(50, "a", saying{50, 9, "gone"}), column(100, "a", saying{0, 1, "one"})}, "one", 1},
		{"removed", []storage.Entry{column(100, "a", saying{100, 2, ""})}, "", 2},
		{"not UTF-8", []storage.Entry{column(100, "a", saying{0, 1, "\xff"})}, "", 1},
	} {
		if s := o.Inspect(c.row, 1000); s.Value != c.value || s.Revision != c.revision {
			t.Errorf("%s: it is shown as %+v", c.what, s)
		}
	}
}

// TestLastWrite checks that a column that was written anew is deleted: by its process, and by those that find it.
func TestLastWrite(t *testing.T) {
	for unit, stamp := range map[Unit]int64{Micro: 1770825600008999, Milli: 1770825600008, Nano: 1770825600008999123} {
		for _, rewrites := range []uint32{0, 1, 999, 1000, 1001, 1 << 31} {
			last := unit.lastWrite(stamp, rewrites)
			if written := unit.micros(stamp) + int64(rewrites); unit.micros(last) < written || last < stamp || last > stamp+unit.count(time.Duration(rewrites+1)*time.Microsecond) {
				t.Errorf("%v: written anew %d times %d is %d, at %d instead of %d", unit, rewrites, stamp, last, unit.micros(last), written)
			}
		}
	}
	o := &Options{Unit: Micro}
	says := saying{token: 100, revision: 3, value: "v"}
	m := o.FreeingClaims("row", []storage.Entry{{Column: Column(100, "a"), Value: says.encode(5)}}, "a")
	if mark, by, ok := parseMark(&m.Additions[0]); m.Timestamp != 105 || mark != 105 || by != "a" || !ok {
		t.Errorf("it is freed by %v at %d, with mark %d", m, m.Timestamp, mark)
	}
}

// FuzzSaying checks that any value of a claim's column is read without harm, and written back unchanged.
func FuzzSaying(f *testing.F) {
	says := saying{7, 2, "two"}
	for _, seed := range []string{"", claimValue, says.encode(3), strings.Repeat("\xff", 30)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		says, rewrites := decodeSaying(value)
		if len(value) >= sayingHead && (says != (saying{}) || rewrites != 0) && says.encode(rewrites) != value {
			t.Errorf("%x is read as %+v", value, says)
		}
		if shown := shownValue(says.value); shown != "" && holdfast.CheckValue(shown) != nil {
			t.Errorf("%q is shown", shown)
		}
	})
}
