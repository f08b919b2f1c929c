package wire_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

// kept has fields that only disk formats have.
type kept struct {
	Small   int
	High    uint64
	A, B, C bool
	Sum     [3]byte
	Text    string
	Since   time.Duration
	Rest    []byte
}

func (k *kept) Code(c *wire.Coder) {
	wire.UpTo(c, &k.Small, 300)
	wire.Big(c, &k.High)
	c.Flags(&k.A, &k.B, &k.C)
	c.Raw(k.Sum[:])
	wire.TextUpTo(c, &k.Text, 5)
	c.Duration(&k.Since)
	c.Rest(&k.Rest)
}

// TestKept checks that encoded values are read back, and that others are refused with a description of the error.
func TestKept(t *testing.T) {
	whole := "\xac\x02" + "\x01\x02\x03\x04\x05\x06\x07\x08" + "\x05" + "sum" + "\x05texts" + "\x03" + "rest"
	want := kept{300, 0x0102030405060708, true, false, true, [3]byte{'s', 'u', 'm'}, "texts", -2, []byte("rest")}
	c := wire.To([]byte("before"))
	want.Code(&c)
	if got := string(c.Appended()); got != "before"+whole || c.End() != nil {
		t.Errorf("%q, want %q behind what was before; %v", got, whole, c.End())
	}
	var got kept
	c = wire.From([]byte(whole))
	got.Code(&c)
	if err := c.End(); err != nil || got.Small != want.Small || got.High != want.High || got.A != want.A || got.B != want.B || got.C != want.C ||
		got.Sum != want.Sum || got.Text != want.Text || got.Since != want.Since || !bytes.Equal(got.Rest, want.Rest) {
		t.Errorf("%+v, %v", got, err)
	}
	for b, says := range map[string]string{
		"":                         "ends early",
		"\xad\x02":                 "301, where 300 is the most",
		"\x80\x00":                 "shortest form",
		"\x00" + whole[2:6]:        "ends early",
		whole[:10] + "\x08":        "8, where 7 is the most",
		whole[:11] + "su":          "ends early",
		whole[:14] + "\x06texts.":  "6, where 5 is the most",
		whole[:14] + "\x05text":    "ends early",
		strings.Repeat("\xff", 11): "64 bits",
	} {
		var k kept
		c := wire.From([]byte(b))
		if k.Code(&c); !errors.Is(c.Err(), wire.ErrMalformed) || !strings.Contains(c.Err().Error(), says) || len(c.Bytes()) > 0 {
			t.Errorf("%q: %v, want an error that says %q", b, c.Err(), says)
		}
	}
}

// TestFirstErrorStays checks that the first error stays, such as that for trailing bytes, and that bytes of a value
// without a form are not returned.
func TestFirstErrorStays(t *testing.T) {
	var n uint64
	c := wire.From([]byte("\x01\x02\x03"))
	wire.Number(&c, &n)
	if err := c.End(); !errors.Is(err, wire.ErrMalformed) || !strings.Contains(err.Error(), "2 bytes") {
		t.Errorf("bytes are left: %v", err)
	}
	c.Refuse("something else")
	if wire.Number(&c, &n); strings.Contains(c.Err().Error(), "else") || n != 0 {
		t.Errorf("%v, %d", c.Err(), n)
	}
	for what, k := range map[string]kept{"below 0": {Small: -1}, "too large": {Small: 301}, "too long": {Text: "a text"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a number that is %s is appended", what)
				}
			}()
			c := wire.To(nil)
			k.Code(&c)
			c.Appended()
		}()
	}
}
