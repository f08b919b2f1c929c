package option_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/option"
)

// options has one option of each kind.
type options struct {
	on, sides bool
	unit      int64
	count     int
	length    time.Duration
	text      string
	tuned     int
}

func (o *options) list() option.List {
	return option.List{
		{Name: "on", Value: option.Switch{At: &o.on}, Default: "false"},
		{
			Name: "sides", Value: option.Switch{At: &o.sides, Words: [2]string{"primary", "any"}, Only: true}, Default: "primary",
			Refused: map[string]option.Reason{"any": {Wrong: "there are no sides", Fix: "use primary"}},
		},
		{Name: "unit", Value: option.Choice[int64]{At: &o.unit, Words: option.Words{{Text: "us", Number: 1000}, {Text: "ns", Number: 1}}}, Default: "us"},
		{Name: "count", Value: option.Count[int]{At: &o.count, Most: 8, Words: option.Words{{Text: "off"}}}, Default: "off"},
		{
			Name: "length", Default: "1h", Local: true,
			Value: option.Duration{At: &o.length, Least: time.Second, Most: 2 * time.Hour, Words: option.Words{{Text: "off", Number: -1}, {Text: "on", Number: int64(time.Minute)}}},
		},
		{Name: "text", Value: option.Text{At: &o.text, Most: 4}, Default: "the name"},
		{Name: "tuned", Value: option.Count[int]{At: &o.tuned, Most: 9}, Tuning: true},
	}
}

// TestValues checks that the fields have the values that were read, and that these are formatted in the usual spelling.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		given option.Values
		want  options
		text  string // without defaults
	}{
		{nil, options{}, ""},
		{option.Values{"on": "true", "sides": "primary", "unit": "us", "count": "off"}, options{on: true, unit: 1000}, "on=true"},
		{option.Values{"on": "false", "unit": "ns", "count": "8", "length": "60m"}, options{unit: 1, count: 8, length: time.Hour}, "count=8,unit=ns"},
		{option.Values{"length": "on", "text": "é=,"}, options{length: time.Minute, text: "é=,"}, "length=1m,text=é=,"},
		{option.Values{"length": "off"}, options{length: -1}, "length=off"},
		{option.Values{"length": "1h30m0s"}, options{length: 90 * time.Minute}, "length=1h30m"},
	} {
		var got options
		list := got.list()
		if err := list.Check(test.given); err != nil || got != test.want {
			t.Errorf("%v: %+v, %v; want %+v", test.given, got, err, test.want)
		}
		if text := list.Given().String(); text != test.text {
			t.Errorf("%v is written as %q, want %q", test.given, text, test.text)
		}
		var again options
		if err := again.list().Parse(list.Given()); err != nil || again.list().Given().String() != test.text {
			t.Errorf("%v read again: %+v, %v", list.Given(), again, err)
		}
	}
}

// TestRefused checks that a refusal names the option, the value, the allowed values and the fix, and leaves the field
// unchanged.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"on", "yes", `option on cannot be "yes"; allowed: false, true; leave it out for false`},
		{"sides", "any", `option sides cannot be "any": there are no sides; allowed: primary; use primary`},
		{"sides", "all", `option sides cannot be "all"; allowed: primary; leave it out for primary`},
		{"unit", "s", `option unit cannot be "s"; allowed: us, ns; leave it out for us`},
		{"count", "0", `option count cannot be "0": it is too small; allowed: off, 1 to 8; give 1 or more`},
		{"count", "9", `option count cannot be "9": it is too large; allowed: off, 1 to 8; give 8 or less`},
		{"count", "1e1", `option count cannot be "1e1"; allowed: off, 1 to 8; leave it out for off`},
		{"length", "-1ns", `option length cannot be "-1ns": it is too short; allowed: off, on, 1s to 2h; give 1s or more`},
		{"length", "3h", `option length cannot be "3h": it is too long; allowed: off, on, 1s to 2h; give 2h or less`},
		{"length", "5", `option length cannot be "5"; allowed: off, on, 1s to 2h; leave it out for 1h`},
		{"text", "", `option text cannot be "": it is empty; allowed: 1 to 4 bytes; leave it out, or give a text`},
		{"text", "12345", `option text cannot be "12345": it is too long; allowed: 1 to 4 bytes; shorten it`},
		{"text", "a\x00", `option text cannot be "a\x00": it has a control character; allowed: 1 to 4 bytes; remove that character`},
		{"text", "\xff", `option text cannot be "\xff": it is not UTF-8; allowed: 1 to 4 bytes; write it in UTF-8`},
		{"tuned", "3", `option "tuned" is not known; allowed: on, sides, unit, count, length, text; leave it out`},
		{"none", "3", `option "none" is not known; allowed: on, sides, unit, count, length, text; leave it out`},
	} {
		var o options
		err := o.list().Check(option.Values{test.name: test.value})
		if refusal := (*option.Refusal)(nil); !errors.As(err, &refusal) || err.Error() != test.says {
			t.Errorf("%s=%s: %v, want %s", test.name, test.value, err, test.says)
		}
		if o != (options{}) {
			t.Errorf("%s=%s: set %+v", test.name, test.value, o)
		}
	}
}

// TestParseChecksNoRange checks that Parse accepts values outside the configurable range, for the simulator and tests,
// as long as they can be read.
func TestParseChecksNoRange(t *testing.T) {
	var o options
	if err := o.list().Parse(option.Values{"count": "100", "length": "1ms", "tuned": "20", "sides": "any"}); err != nil {
		t.Fatal(err)
	}
	if want := (options{count: 100, length: time.Millisecond, tuned: 20, sides: true}); o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
	if err := o.list().Parse(option.Values{"length": "soon"}); err == nil {
		t.Error("a length that is none is read")
	}
}

// TestLists checks the lists of effective options, of those on which members agree, and of numbers by name.
func TestLists(t *testing.T) {
	o := options{on: true, count: 3, length: time.Minute, tuned: 2}
	list := o.list()
	want := option.Values{"on": "true", "sides": "primary", "unit": "us", "count": "3", "length": "1m", "text": "the name"}
	if got := list.Effective(); !maps.Equal(got, want) {
		t.Errorf("effective %v, want %v", got, want)
	}
	var agreed []string
	for _, o := range list.Agreed() {
		agreed = append(agreed, o.Name+" "+o.Text())
	}
	if got := strings.Join(agreed, ", "); got != "on true, count 3" {
		t.Errorf("agreed on %q", got)
	}
	if list.Number("count") != 3 || list.Number("on") != 1 || list.Number("length") != int64(time.Minute) || list.Number("none") != 0 {
		t.Error("a number by its name is another one")
	}
	if !list.Find("on").Alone() || list.Find("sides").Alone() || list.Find("count").Alone() {
		t.Error("the names that stand for true are others")
	}
}
