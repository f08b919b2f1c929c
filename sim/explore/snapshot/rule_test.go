package snapshot

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// machine is a type with a field for each kind of rule.
type machine struct {
	inner struct {
		busy  bool
		since time.Duration
	}
	round uint64
	epoch uint64
	due   time.Duration
	sent  []sending
	peers map[uint64]*peer
	self  uint64
}

type sending struct {
	round uint64
	at    time.Duration
}

type peer struct{ heard time.Duration }

func ruled(t *testing.T) *Copier {
	t.Helper()
	of := reflect.TypeFor[machine]()
	c, err := New(
		Rule{In: of, Field: "inner.since", Moot: func(m reflect.Value) bool { return !m.FieldByName("inner").FieldByName("busy").Bool() }},
		Rule{In: of, Field: "round", Class: 1, Group: func(m reflect.Value) uint64 { return m.FieldByName("epoch").Uint() }},
		Rule{In: of, Field: "due", Class: 2},
		Rule{In: of, Field: "sent", Class: 1, Table: true},
		Rule{In: of, Field: "peers.heard", Entry: func(m reflect.Value) reflect.Value { return m.FieldByName("self") }},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func grown() *machine {
	m := &machine{round: 7, epoch: 3, due: 70, sent: []sending{{5, 50}, {7, 70}}, peers: map[uint64]*peer{1: {10}, 2: {20}}, self: 1}
	m.inner.since = 40
	return m
}

// TestRulesShapeForms checks that moot fields are not in a form, and everything else is; that values of a class are
// separate, with their group; and that a table's entries have their own list.
func TestRulesShapeForms(t *testing.T) {
	c := ruled(t)
	form := func(change func(*machine)) Form {
		m := grown()
		change(m)
		f, err := c.Form(m, 9)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := form(func(*machine) {})
	for _, at := range []struct {
		what   string
		change func(*machine)
		same   bool
	}{
		{"a moot field", func(m *machine) { m.inner.since = 41 }, true},
		{"the field of an entry", func(m *machine) { m.peers[1].heard = 11 }, true},
		{"the field of another entry", func(m *machine) { m.peers[2].heard = 21 }, false},
		{"a field that is no longer moot", func(m *machine) { m.inner.busy = true }, false},
		{"a number with a class", func(m *machine) { m.round = 8 }, false},
		{"a group", func(m *machine) { m.epoch = 4 }, false},
		{"a time with a class", func(m *machine) { m.due = 71 }, false},
		{"a table", func(m *machine) { m.sent[0].at = 51 }, false},
	} {
		if same := reflect.DeepEqual(first, form(at.change)); same != at.same {
			t.Errorf("%s differs: the forms are the same: %v", at.what, same)
		}
	}
	want := []Number{{1, 3, 7}}
	if got := first.Numbers[len(first.Numbers)-1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("numbers %v end with %v; want %v", first.Numbers, got, want)
	}
	if want := []Time{{2, 70}}; !reflect.DeepEqual(first.Classed, want) {
		t.Errorf("times with a class are %v; want %v", first.Classed, want)
	}
	if want := []Row{{Number{1, 9, 5}, 50}, {Number{1, 9, 7}, 70}}; !reflect.DeepEqual(first.Rows, want) {
		t.Errorf("rows are %v; want %v", first.Rows, want)
	}
}

// TestCopiesObeyNoRule checks that a copy has the fields that a form leaves out.
func TestCopiesObeyNoRule(t *testing.T) {
	m := grown()
	if fresh, err := Copy(ruled(t), m); err != nil || !reflect.DeepEqual(fresh, m) {
		t.Errorf("%+v is copied as %+v, %v", m, fresh, err)
	}
}

// TestRulesThatDoNotFit checks that each error names the rule and its fault.
func TestRulesThatDoNotFit(t *testing.T) {
	of := reflect.TypeFor[machine]()
	always := func(reflect.Value) bool { return true }
	for _, at := range []struct {
		rule Rule
		says string
	}{
		{Rule{In: of, Field: "none", Moot: always}, "rule for none of snapshot.machine: snapshot.machine has no field none"},
		{Rule{In: of, Path: "peers", Field: "none", Moot: always}, "peers.none"},
		{Rule{In: of, Path: "none", Field: "heard", Moot: always}, "has no field none"},
		{Rule{In: of, Field: "due", Table: true}, "it is a time.Duration"},
		{Rule{In: of, Field: "round.x", Entry: func(v reflect.Value) reflect.Value { return v }}, "no map of pointers"},
		{Rule{In: of, Field: "inner.since", Class: 1, Group: func(reflect.Value) uint64 { return 0 }}, "give its Path"},
	} {
		if _, err := New(at.rule); err == nil || !strings.Contains(err.Error(), at.says) {
			t.Errorf("%v; want that it says %q", err, at.says)
		}
	}
}

// TestRuledShowsFields checks that every field with a rule is shown, and can be changed.
func TestRuledShowsFields(t *testing.T) {
	m, shown := grown(), 0
	err := ruled(t).Ruled(m, 9, func(f Ruled) {
		shown++
		if f.Class == 2 {
			f.Value.SetInt(99)
		}
	})
	if err != nil || shown != 5 || m.due != 99 {
		t.Errorf("%d fields were shown, of five, and due is %d; %v", shown, m.due, err)
	}
}
