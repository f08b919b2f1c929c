package text

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type colour uint8

const (
	red colour = iota
	green
)

func (c colour) String() string { return [...]string{"red", "green"}[c] }

type secret [4]byte

type limit struct{ Name string }

func (l *limit) Error() string { return "limit " + l.Name }

type loss string

func (l loss) Error() string { return "lost: " + string(l) }

type inner struct {
	Number uint64
	Next   *inner
}

type everything struct {
	inner
	Inner    inner
	Truth    bool
	Small    int8
	Large    uint64
	Real     float64
	Text     string
	After    time.Duration
	Colour   colour
	Bytes    []byte
	Secret   secret
	List     []inner
	Pointers []*inner
	Texts    []string
	Any      any
	Err      error
}

var errGone = errors.New("gone")

func newTestCodec(t testing.TB) *Codec {
	t.Helper()
	c, err := New([]any{everything{}, &inner{}, &limit{}, loss(""), colour(0)}, Sentinel{"errGone", errGone})
	if err != nil {
		t.Fatal(err)
	}
	c.Veil(reflect.TypeFor[secret]())
	return c
}

// TestText: each kind of value has the text that the package's comment says, and comes
// back from it as it was.
func TestText(t *testing.T) {
	c := newTestCodec(t)
	for _, tt := range []struct {
		value any
		text  string
	}{
		{nil, `nil`},
		{everything{}, `text.everything{}`},
		{&inner{Number: 7, Next: &inner{Number: 8}}, `&text.inner{Number: 7, Next: &{Number: 8}}`},
		{everything{Inner: inner{Number: 1}, Truth: true, Small: -128}, `text.everything{Inner: {Number: 1}, Truth: true, Small: -128}`},
		{everything{Large: math.MaxUint64, Real: 0.05}, `text.everything{Large: 18446744073709551615, Real: 0.05}`},
		{everything{Real: math.Inf(-1)}, `text.everything{Real: -Inf}`},
		{everything{Text: "a \"b\"\n\xff\u2028é"}, `text.everything{Text: "a \"b\"\n\xff\u2028é"}`},
		{everything{After: math.MaxInt64}, `text.everything{After: never}`},
		{everything{After: math.MinInt64}, `text.everything{After: -2562047h47m16.854775808s}`},
		{everything{After: 1203041123}, `text.everything{After: 1.203041123s}`},
		{everything{Colour: green}, `text.everything{Colour: green}`},
		{everything{Colour: 77}, `text.everything{Colour: 77}`},
		{everything{Bytes: []byte{0, 255}, Secret: secret{1, 2, 3, 4}}, `text.everything{Bytes: x"00ff", Secret: x"01020304"}`},
		{everything{Bytes: []byte{}, List: []inner{}, Texts: []string{"", "b"}}, `text.everything{Bytes: x"", List: [], Texts: ["", "b"]}`},
		{everything{List: []inner{{}, {Number: 2}}, Pointers: []*inner{nil, {}}}, `text.everything{List: [{}, {Number: 2}], Pointers: [nil, &{}]}`},
		{everything{Any: &inner{}, Err: errGone}, `text.everything{Any: &text.inner{}, Err: errGone}`},
		{everything{Any: green, Err: loss("broken")}, `text.everything{Any: text.colour(green), Err: text.loss("broken")}`},
		{everything{Err: &limit{"names"}}, `text.everything{Err: &text.limit{Name: "names"}}`},
	} {
		b, err := c.Append([]byte("> "), tt.value, nil)
		if err != nil || string(b) != "> "+tt.text {
			t.Errorf("%#v is written as %s, %v; want %s", tt.value, b, err, tt.text)
		}
		back, err := c.Parse(tt.text)
		if err != nil || !reflect.DeepEqual(back, tt.value) {
			t.Errorf("%s is read as %#v, %v; want %#v", tt.text, back, err, tt.value)
		}
	}
}

// TestErrorsOfNoListedType come back with what they say and all that they can be tested for.
func TestErrorsOfNoListedType(t *testing.T) {
	c := newTestCodec(t)
	for _, tt := range []struct {
		err  error
		text string
	}{
		{errors.New("plain"), `error("plain")`},
		{fmt.Errorf("it is %w: really", errGone), `error("it is gone: really", errGone)`},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", &limit{"x"})), `error("a: b: limit x", &text.limit{Name: "x"})`},
		{errors.Join(errGone, loss("y")), `error("gone\nlost: y", errGone, text.loss("y"))`},
	} {
		b, err := c.Append(nil, everything{Err: tt.err}, nil)
		text := "text.everything{Err: " + tt.text + "}"
		if err != nil || string(b) != text {
			t.Errorf("%v is written as %s, %v; want %s", tt.err, b, err, text)
		}
		v, err := c.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		back := v.(everything).Err
		var is, was *limit
		var lost, wasLost loss
		if back.Error() != tt.err.Error() || errors.Is(back, errGone) != errors.Is(tt.err, errGone) ||
			errors.As(back, &is) != errors.As(tt.err, &was) || errors.As(back, &lost) != errors.As(tt.err, &wasLost) || lost != wasLost {
			t.Errorf("%#v comes back as %#v", tt.err, back)
		}
		if again, err := c.Append(nil, v, nil); err != nil || string(again) != text {
			t.Errorf("%s becomes %s, %v", text, again, err)
		}
	}
}

// TestVeil: bytes of the veiled type are written as the veil says, in every place where they stand, and
// zero stays zero; the value itself is not changed.
func TestVeil(t *testing.T) {
	c := newTestCodec(t)
	value := everything{Secret: secret{1, 2, 3, 4}, Bytes: []byte{1, 2, 3, 4}}
	b, err := c.Append(nil, &value, func(b []byte) {
		for i := range b {
			b[i] ^= 0xf0
		}
	})
	if want := `&text.everything{Bytes: x"01020304", Secret: x"f1f2f3f4"}`; err != nil || string(b) != want {
		t.Errorf("it is written as %s, %v; want %s", b, err, want)
	}
	if value.Secret != (secret{1, 2, 3, 4}) {
		t.Errorf("the value is %v now", value.Secret)
	}
	if b, err = c.Append(nil, everything{}, func([]byte) { t.Error("zero is veiled") }); err != nil || string(b) != "text.everything{}" {
		t.Errorf("it is written as %s, %v", b, err)
	}
}

// TestFields: a line for each field that is not zero, and each back from its line.
func TestFields(t *testing.T) {
	c := newTestCodec(t)
	value := everything{Text: "a: b", List: []inner{{Number: 1}}, After: time.Second}
	b, err := c.AppendFields(nil, &value)
	if want := "Text: \"a: b\"\nAfter: 1s\nList: [{Number: 1}]\n"; err != nil || string(b) != want {
		t.Fatalf("the lines are %q, %v; want %q", b, err, want)
	}
	var back everything
	for line := range strings.Lines(string(b)) {
		if err := c.ParseField(strings.TrimSuffix(line, "\n"), &back); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(back, value) {
		t.Errorf("they are read as %+v", back)
	}
	for line, want := range map[string]string{
		"Nothing: 1":    `"Nothing" is no field of text.everything`,
		"inner: {}":     `"inner" is no field of text.everything`,
		"Small: 128":    `at byte 3, in field Small: "128" is no whole number of 8 bits`,
		"Truth: true 1": `at byte 4, in field Truth: " 1" stands behind the value`,
		"Truth":         `"Truth" is no field of text.everything`,
	} {
		if err := c.ParseField(line, &back); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("line %q: %v, want %s", line, err, want)
		}
	}
}

// TestWrongTexts are refused with their place, their field and what stands there.
func TestWrongTexts(t *testing.T) {
	c := newTestCodec(t)
	deep := strings.Repeat("&{Next: ", maxDepth+1)
	for text, want := range map[string]string{
		``:                                          `"" is no type that is listed`,
		`other{}`:                                   `"other" is no type that is listed`,
		`text.everything`:                           `want '{', and there is ""`,
		`text.everything{`:                          `"" is no field of text.everything`,
		`text.everything{}x`:                        `"x" stands behind the value`,
		`text.everything{Wrong: 1}`:                 `"Wrong" is no field of text.everything`,
		`text.everything{Text: a}`:                  `in field Text: want a text in quotes, and there is "a}"`,
		`text.everything{Text: 'a'}`:                `in field Text: want a text in quotes`,
		"text.everything{Text: `a`}":                `in field Text: want a text in quotes`,
		`text.everything{Text: "\q"}`:               `in field Text: want a text in quotes`,
		`text.everything{Inner: {Number: -1}}`:      `at byte 34, in field Inner.Number: "-1" is no number of 64 bits`,
		`text.everything{List: [{}, {Number: x}]}`:  `in field List[1].Number: "x" is no number`,
		`text.everything{Truth: yes}`:               `in field Truth: "yes" is neither true nor false`,
		`text.everything{Colour: blue}`:             `in field Colour: "blue" is no text.colour`,
		`text.everything{Colour: 256}`:              `in field Colour: "256" is no number of 8 bits`,
		`text.everything{After: 5}`:                 `in field After: "5" is no duration`,
		`text.everything{Bytes: x"0"}`:              `in field Bytes: bytes are written as pairs`,
		`text.everything{Bytes: x"00`:               `in field Bytes: bytes without an end`,
		`text.everything{Secret: x"00"}`:            `in field Secret: 1 bytes, want 4`,
		`text.everything{Err: nothing}`:             `in field Err: "nothing" is no type that is listed`,
		`text.everything{Err: text.inner{}}`:        `in field Err: text.inner cannot stand there`,
		`text.everything{Err: error("a", nil)}`:     `in field Err: an error wraps none`,
		`text.everything{Truth: true, Truth: true}`: `field Truth of text.everything stands out of order, or twice`,
		`text.everything{Small: 1, Truth: true}`:    `stands out of order`,
		`&text.inner{Next: ` + deep:                 `a value goes deeper than 64`,
	} {
		v, err := c.Parse(text)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || v != nil {
			t.Errorf("%.60s: %v, %v; want %s", text, v, err, want)
		}
	}
}

// TestManyElements: a list longer than its bound is refused in both directions.
func TestManyElements(t *testing.T) {
	c := newTestCodec(t)
	if _, err := c.Append(nil, everything{Texts: make([]string, maxElements+1)}, nil); err == nil {
		t.Error("too many elements are written")
	}
	text := `text.everything{List: [` + strings.Repeat("{}, ", maxElements+1) + `{}]}`
	if _, err := c.Parse(text); err == nil || !strings.Contains(err.Error(), "more than 262144 elements") {
		t.Errorf("too many elements are read: %v", err)
	}
}

// TestArrays: an array is written and read with as many elements as it has.
func TestArrays(t *testing.T) {
	type row struct{ Of [3]uint64 }
	c, err := New([]any{row{}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Append(nil, row{[3]uint64{7, 0, 9}}, nil)
	if want := `text.row{Of: [7, 0, 9]}`; err != nil || string(b) != want {
		t.Fatalf("written as %s, %v; want %s", b, err, want)
	}
	if v, err := c.Parse(string(b)); err != nil || v != (row{[3]uint64{7, 0, 9}}) {
		t.Errorf("read as %v, %v", v, err)
	}
	for text, want := range map[string]string{
		`text.row{Of: [7, 0]}`:       "2 of the 3 elements of [3]uint64",
		`text.row{Of: [7, 0, 9, 1]}`: "more than the 3 elements of [3]uint64",
		`text.row{Of: nil}`:          "want '['",
	} {
		if v, err := c.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, v, err, want)
		}
	}
}

// TestNoPlace: what has no place in a text is refused when the codec is made, with the
// field; and what depends on the value when it is written.
func TestNoPlace(t *testing.T) {
	type mapped struct{ Map map[string]int }
	type called struct{ In struct{ Call func() } }
	type other struct{ Channels []chan int }
	for _, tt := range []struct {
		value any
		want  string
	}{
		{mapped{}, "field Map of text.mapped: type map[string]int is a map"},
		{called{}, "field In of text.called: field Call of struct"},
		{other{}, "field Channels of text.other: elements of []chan int"},
		{nil, "a value is nil"},
		{struct{ Funcs [3]func() }{}, "elements of [3]func()"},
	} {
		if _, err := New([]any{tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v, want %s", tt.value, err, tt.want)
		}
	}
	c := newTestCodec(t)
	circle := &inner{}
	circle.Next = circle
	for _, tt := range []struct {
		value any
		want  string
	}{
		{everything{inner: inner{Number: 1}}, "field inner of text.everything is not exported, and is not zero"},
		{struct{}{}, "type struct {} is not listed"},
		{everything{Any: 7}, "type int is not listed"},
		{circle, "a value goes deeper than 64"},
	} {
		b, err := c.Append([]byte("kept"), tt.value, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || string(b) != "kept" {
			t.Errorf("%T is written as %s, %v; want %s", tt.value, b, err, tt.want)
		}
	}
}

// FuzzParse: no text does harm, and what is read is written and read again as the same.
func FuzzParse(f *testing.F) {
	c := newTestCodec(f)
	for _, text := range []string{
		`&text.inner{Number: 7, Next: &{Number: 8}}`,
		`text.everything{Inner: {Number: 1}, Truth: true, Small: -128, Real: NaN, Text: "\xff", After: never}`,
		`text.everything{Colour: green, Bytes: x"00", Secret: x"01020304", List: [{}], Pointers: [nil, &{}]}`,
		`text.everything{Any: text.colour(green), Err: error("a", errGone, &text.limit{}, error("b"))}`,
		`text.everything{Any: text.everything{Any: nil}, Err: text.loss("")}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := c.Parse(text)
		if err != nil {
			return
		}
		once, err := c.Append(nil, v, nil)
		if err != nil {
			t.Fatalf("%q is read, and not written: %v", text, err)
		}
		again, err := c.Parse(string(once))
		if err != nil {
			t.Fatalf("%q is written as %q, which is not read: %v", text, once, err)
		}
		if twice, err := c.Append(nil, again, nil); err != nil || string(twice) != string(once) {
			t.Fatalf("%q becomes %q, then %q, %v", text, once, twice, err)
		}
	})
}
