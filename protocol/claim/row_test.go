package claim

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestLayout checks that the layout is the original's, byte for byte.
func TestLayout(t *testing.T) {
	for _, c := range []struct{ what, got, want string }{
		{"the example of the original: ts=1, rid=a", Column(1, "a"), "000000000000000161"},
		{"a column of 2026 in microseconds", Column(1770825600008000, "titan-1"), "00064a8e76d8ff4" + "0" + "746974616e2d31"},
		{"the largest timestamp", Column(1<<63-1, "z"), "7fffffffffffffff7a"},
		{"a row", Row("locks", "x"), "000000056c6f636b7378"},
		{"a row without a key", Row("", "x"), "0000000078"},
		{"a row without a column", Row("a", ""), "0000000161"},
		{"(a, bc)", Row("a", "bc"), "00000001616263"},
		{"(ab, c)", Row("ab", "c"), "00000002616263"},
		{"the value", claimValue, "00000000"},
		{"where claims begin", claimsFrom, "00"},
		{"where they end", marks, "ffffffffffffffffff"},
	} {
		if got := hex.EncodeToString([]byte(c.got)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if Row("a", "bc") == Row("ab", "c") {
		t.Error("(a, bc) and (ab, c) have one row")
	}
	if SettingsRow[:4] == Row("locks", "")[:4] || SettingsRow >= Row(strings.Repeat("k", 512), "")[:4] && SettingsRow[0] != 0xff {
		t.Error("a lock may have the row of the settings")
	}
}

// TestOrder checks that columns are ordered by timestamp, then by rid, and that all are in the range that the original
// reads, which contains no mark.
func TestOrder(t *testing.T) {
	want := []string{
		Column(0, "a"), Column(1, "a"), Column(1, "aa"), Column(1, "b"), Column(1, "é"), Column(255, "a"), Column(256, "a"),
		Column(1<<32-1, "z"), Column(1<<32, "a"), Column(1<<62, "\U0010ffff"), Column(1<<63-1, "z"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	for _, column := range want {
		if column < claimsFrom || column >= marks {
			t.Errorf("%x is not in the range of claims", column)
		}
		stamp, rid, ok := ParseColumn(column)
		if !ok || Column(stamp, rid) != column {
			t.Errorf("%x is read as %d %q %v", column, stamp, rid, ok)
		}
	}
	for _, not := range []string{"", "\x00", strings.Repeat("\x00", 8), marks, "\x80" + strings.Repeat("\x00", 8), marks + "a"} {
		if stamp, rid, ok := ParseColumn(not); ok {
			t.Errorf("%x is read as a claim: %d %q", not, stamp, rid)
		}
	}
}

// TestUnits checks the units of timestamps, and that a timestamp is never later than its time.
func TestUnits(t *testing.T) {
	const micros = 1770825600008999
	for unit, want := range map[Unit]int64{Micro: micros, Milli: micros / 1000, Nano: micros * 1000} {
		if got := unit.of(micros); got != want || unit.micros(got) > micros || micros-unit.micros(got) >= int64(unit.count(0)+max(1, int64(unit)/1000)) {
			t.Errorf("%v: %d, and back %d", unit, got, unit.micros(got))
		}
	}
	if n := Milli.count(1500 * time.Microsecond); n != 2 {
		t.Errorf("1.5 ms are %d ms; they are rounded up", n)
	}
}

// FuzzParseColumn checks that any column is read without harm, and is formatted back unchanged.
func FuzzParseColumn(f *testing.F) {
	for _, seed := range []string{"", Column(1, "a"), Column(1<<63-1, "z"), marks, claimsFrom, SettingsRow, strings.Repeat("\xff", 20)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, column string) {
		stamp, rid, ok := ParseColumn(column)
		if ok && (stamp < 0 || rid == "" || Column(stamp, rid) != column) {
			t.Errorf("%x is read as %d %q", column, stamp, rid)
		}
	})
}

// TestCell checks the layout of cells, with the time at which they were taken and as earlier versions write them.
func TestCell(t *testing.T) {
	since := time.UnixMicro(1770825600008999)
	old := content{held: true, flags: waitedFor, token: 7, renewals: 3, lease: 30 * time.Second, rid: "a"}
	taken := old
	taken.taken = uint64(since.UnixMicro())
	o := &Options{CAS: true}
	for _, c := range []struct {
		what, hex string
		is        content
		since     time.Time
	}{
		{"without a time", "48" + "01" + "0000000000000007" + "00000003" + "0000000001c9c380" + "61", old, time.Time{}},
		{"with one", "48" + "05" + "0000000000000007" + "00000003" + "0000000001c9c380" + "00064a8e76d90327" + "61", taken, since},
		{"free", "46" + "00" + "0000000000000007" + "00000000" + "0000000000000000", content{token: 7}, time.Time{}},
	} {
		value, err := hex.DecodeString(c.hex)
		if got := hex.EncodeToString([]byte(c.is.encode())); got != c.hex || err != nil {
			t.Errorf("%s: it is written as %s, want %s (%v)", c.what, got, c.hex, err)
		}
		if got, ok := decodeCell(string(value)); !ok || got != c.is {
			t.Errorf("%s: it is read as %+v %v, want %+v", c.what, got, ok, c.is)
		}
		shown := o.Inspect([]storage.Entry{{Column: cellColumn, Value: string(value)}}, 0)
		if !shown.Since.Equal(c.since) || !shown.Until.IsZero() || shown.RID != c.is.rid {
			t.Errorf("%s: it is shown as %+v", c.what, shown)
		}
	}
	if _, ok := decodeCell(taken.encode()[:cellHead+7]); ok {
		t.Error("a cell without the time that its flag announces is read")
	}
	if broke, ok := decodeCell(Breaking("row", taken.encode()).New); !ok || broke.taken != taken.taken || !SameHold(taken.encode(), broke.encode()) {
		t.Errorf("broken it is %+v", broke)
	}
}

// FuzzCell checks the same for cells.
func FuzzCell(f *testing.F) {
	full := content{held: true, flags: waitedFor, token: 1 << 62, renewals: 3, lease: 30 * time.Second, rid: "a"}
	timed := full
	timed.taken = 1770825600008999
	valued := timed
	valued.value, valued.revision = "http://a:1\n", 7
	for _, seed := range []string{valued.encode(), valued.encode()[1:], valued.encode()[:40], "", full.encode(), timed.encode(), timed.encode()[:cellHead+7], (&content{token: 1}).encode(), "H", strings.Repeat("F", cellHead), strings.Repeat("\xff", 30)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		c, ok := decodeCell(value)
		if ok && c.encode() != value {
			t.Errorf("%x is read as %+v, which is written as %x", value, c, c.encode())
		}
	})
}

// FuzzScan checks that a row with any contents is read without harm, and has at most one first claim.
func FuzzScan(f *testing.F) {
	f.Add(Column(1, "a"), Column(2, "b"), "\x00\x00\x00\x00", int64(1))
	f.Add(marks, Column(1, "me"), strings.Repeat("\xff", 9), int64(1))
	f.Fuzz(func(t *testing.T, one, other, value string, stamp int64) {
		m := &Machine{config: Config{Options: Options{RID: "me"}}}
		entries := []storage.Entry{{Column: one, Value: value}, {Column: other, Value: value}}
		s := m.scan(&claim{of: &name{}, stamp: stamp}, entries)
		if s.own && s.ahead == 0 && one < other {
			if at, rid, is := ParseColumn(one); is && rid != "me" && at < stamp {
				t.Errorf("%x is before the claim, and was passed over", one)
			}
		}
	})
}
