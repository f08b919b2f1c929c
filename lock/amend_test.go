package lock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestAmend checks that a grant has the value of its latest revision, in every order of the amendments, and that each
// answer has the value in force.
func TestAmend(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	s := SessionID{1, 1}
	table.Acquire(5, &Request{Session: s, ID: 1, Name: "x", Arrived: 5, Attributes: holdfast.Attributes{Owner: "o", Value: "first"}, WaitEnd: Never}, &out)
	table.Acquire(0, &Request{Session: s, ID: 2, Name: "x", Attributes: holdfast.Attributes{Owner: "o", Value: "not the grant's"}, WaitEnd: Never}, &out)
	token := out[0].Token
	if len(out) != 2 || out[1].Token != token || out[1].Value != "first" {
		t.Fatalf("%+v", out)
	}
	for i, tt := range []struct {
		request, revision uint64
		value             string
		changed           bool
		want              string
		now               uint64
	}{
		{1, 2, "second", true, "second", 2},
		{2, 1, "late", false, "second", 2},
		{2, 2, "again", false, "second", 2},
		{2, 7, "third", true, "third", 7},
		{1, 8, "", true, "", 8},
		{0, 9, "by its token", true, "by its token", 9},
	} {
		d, changed := table.Amend(time.Second, s, "x", token, tt.request, &Amendment{tt.revision, tt.value})
		if d.Kind != Amended || changed != tt.changed || d.Value != tt.want || d.Revision != tt.now || d.Since != 0 != tt.changed {
			t.Errorf("%d: %+v, %v", i, d, changed)
		}
		if g := table.Show("x").Holders[0]; g.Value != tt.want || g.Revision != tt.now || g.Holds != 2 {
			t.Errorf("%d: shown is %+v", i, g)
		}
	}
	copied := newTable(t, Config{})
	if err := copied.Restore(0, table.Snapshot(0, 0, 100)); err != nil {
		t.Fatal(err)
	}
	if g := copied.Show("x").Holders[0]; g.Value != "by its token" || g.Revision != 9 {
		t.Errorf("a copy has %+v", g)
	}
	out = nil
	table.EndSession(time.Second, s, "", &out)
	if h := table.Show("x").History; len(h) != 1 || h[0].Value != "" {
		t.Errorf("the history keeps the value: %+v", h)
	}
}

// TestAmendRefuses checks what is not amended, and that it stays as it is.
func TestAmendRefuses(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	s, other := SessionID{1, 1}, SessionID{2, 1}
	table.Acquire(0, &Request{Session: s, ID: 1, Name: "x", Attributes: holdfast.Attributes{Hold: time.Second, Value: "v"}, WaitEnd: Never}, &out)
	table.Acquire(0, &Request{Session: other, ID: 1, Name: "x", WaitEnd: Never}, &out)
	table.Acquire(0, &Request{Session: s, ID: 2, Name: "broken", Attributes: holdfast.Attributes{Value: "v"}, WaitEnd: Never}, &out)
	if _, err := table.Break(0, "broken", 0, &out); err != nil {
		t.Fatal(err)
	}
	token := out[0].Token
	for name, tt := range map[string]struct {
		now       Time
		session   SessionID
		lock      string
		token     holdfast.Token
		request   uint64
		amendment Amendment
		want      error
	}{
		"a waiter":          {0, other, "x", 0, 1, Amendment{1, "w"}, holdfast.ErrNotHeld},
		"another session":   {0, other, "x", token, 0, Amendment{1, "w"}, holdfast.ErrNotHeld},
		"another token":     {0, s, "x", token + 1, 1, Amendment{1, "w"}, holdfast.ErrNotHeld},
		"a free name":       {0, s, "y", token, 1, Amendment{1, "w"}, holdfast.ErrNotHeld},
		"a broken lock":     {0, s, "broken", 0, 2, Amendment{1, "w"}, holdfast.Broken},
		"a passed limit":    {time.Hour, s, "x", token, 1, Amendment{1, "w"}, holdfast.HoldLimit},
		"no revision":       {0, s, "x", token, 1, Amendment{0, "w"}, holdfast.ErrConflict},
		"a value too long":  {0, s, "x", token, 1, Amendment{1, strings.Repeat("w", holdfast.MaxValue+1)}, holdfast.ErrName},
		"a value of bytes":  {0, s, "x", token, 1, Amendment{1, "\xff"}, holdfast.ErrName},
		"a value of a zero": {0, s, "x", token, 1, Amendment{1, "a\x00b"}, holdfast.ErrName},
	} {
		d, changed := table.Amend(tt.now, tt.session, tt.lock, tt.token, tt.request, &tt.amendment)
		if d.Kind != Refused || changed || !errors.Is(d.Err, tt.want) || d.Revision != tt.amendment.Revision {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, name := range []string{"x", "broken"} {
		if g := table.Show(name).Holders[0]; g.Value != "v" || g.Revision != 0 {
			t.Errorf("%s is shown with %+v", name, g)
		}
	}
}

// TestAdoptedValues checks that of several holds of one grant the value of the latest revision counts, in any order of
// their adoption.
func TestAdoptedValues(t *testing.T) {
	for _, revisions := range [][]uint64{{1, 3, 2}, {3, 1, 2}, {1, 2, 3}} {
		table := newTable(t, Config{})
		table.BeginReign(2, 0)
		for i, revision := range revisions {
			e := Entry{
				Name: "x", Session: SessionID{1, 1}, Request: uint64(i + 1), Token: Token(1, 0), Left: Never,
				Attributes: holdfast.Attributes{Owner: "o", Value: strings.Repeat("v", int(revision)), Revision: revision},
			}
			if err := table.Adopt(0, &e, Never); err != nil {
				t.Fatal(err)
			}
		}
		if g := table.Show("x").Holders[0]; g.Value != "vvv" || g.Revision != 3 || g.Holds != 3 {
			t.Errorf("%v: %+v", revisions, g)
		}
	}
}
