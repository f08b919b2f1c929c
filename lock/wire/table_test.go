package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Types of messages; a parcel carries a card.
type (
	card struct{ Text string }
	note struct {
		Numbers []uint64
		Card    *card
	}
	parcel struct{ Body any }
	box    struct{ Cards []card }
	pallet struct{ box }
)

func (m *card) Code(c *wire.Coder) { wire.Text(c, &m.Text) }

func (m *note) Code(c *wire.Coder) {
	wire.Numbers(c, &m.Numbers)
	wire.Optional(c, &m.Card)
}

func (m *parcel) Code(c *wire.Coder) { wire.Body(c, &m.Body, cards) }

func (m *box) Code(c *wire.Coder) { wire.List(c, &m.Cards) }

var (
	cards = []wire.Type{wire.Message[card](7)}
	types = []wire.Type{wire.Message[note](1), wire.Message[parcel](2, cards...), wire.Message[box](300)}
	table = wire.NewTable(types)
)

// TestBytes checks that the numbers and the fields are where the documentation says.
func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		message any
		want    string
	}{
		{note{}, "\x01\x00\x00"},
		{note{Numbers: []uint64{5, 300}, Card: &card{"ab"}}, "\x01\x02\x05\xac\x02\x01\x02ab"},
		{parcel{card{"ab"}}, "\x02\x07\x02ab"},
		{box{[]card{{}, {"c"}}}, "\xac\x02\x02\x00\x01c"},
	} {
		b, err := table.Append([]byte("before"), tt.message)
		if err != nil || string(b) != "before"+tt.want {
			t.Errorf("%#v: %q, %v, want %q", tt.message, b, err, tt.want)
		}
		m, rest, err := table.Take(append(b[6:], "after"...))
		if again, failed := table.Append(nil, m); err != nil || string(rest) != "after" || failed != nil || string(again) != tt.want {
			t.Errorf("%#v comes back as %#v, rest %q, %v", tt.message, m, rest, err)
		}
	}
}

// TestTableRefuses checks that a type outside all of its lists is refused, and leaves the bytes before it unchanged.
func TestTableRefuses(t *testing.T) {
	for _, m := range []any{nil, card{}, &note{}, parcel{}, parcel{note{}}, parcel{&card{}}, 7} {
		if b, err := table.Append([]byte("before"), m); !errors.Is(err, wire.ErrKind) || string(b) != "before" {
			t.Errorf("%#v: %q, %v", m, b, err)
		}
	}
	for bytes, want := range map[string]error{
		"":                         wire.ErrTruncated,
		"\x00":                     wire.ErrKind,
		"\x07\x02ab":               wire.ErrKind, // what is carried
		"\x02\x01\x00\x00":         wire.ErrKind, // a message where one is carried
		"\x02":                     wire.ErrTruncated,
		"\xff\xff\x04":             wire.ErrRange,
		"\x01\x03\x00\x00":         wire.ErrLong,
		"\xac\x02\x04\x00\x00\x00": wire.ErrLong,
	} {
		if m, rest, err := table.Take([]byte(bytes)); !errors.Is(err, want) || m != nil || rest != nil {
			t.Errorf("%q: %v, %q, %v, want %v", bytes, m, rest, err, want)
		}
	}
}

// TestTypesOfATable checks that a type may be in several lists, with one number, and that each number has one type.
func TestTypesOfATable(t *testing.T) {
	if got := wire.NewTable(types, types[1:]).Types(); len(got) != len(types) {
		t.Errorf("%d types, want %d", len(got), len(types))
	}
	if got := wire.Values(types); len(got) != 4 || !slices.Contains(got[2:3], any(card{})) {
		t.Errorf("%#v, want what a parcel carries behind it", got)
	}
	for want, added := range map[string]wire.Type{
		"wire_test.note and wire_test.card have the number 1": wire.Message[card](1),
		"type wire_test.note have the numbers 1 and 9":        wire.Message[note](9),
		"wire_test.note and wire_test.card have the number 4": wire.Message[pallet](8, wire.Message[note](4), wire.Message[card](4)),
	} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.Contains(got.(string), want) {
					t.Errorf("%v, want %q", got, want)
				}
			}()
			wire.NewTable(types, []wire.Type{added})
		}()
	}
}
