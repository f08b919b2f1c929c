package timeline

import (
	"strings"
	"testing"
	"time"
)

// lanes are two lanes and a message between them.
func lanes() []Event {
	return []Event{
		{Kind: Lane, Who: "a"},
		{Kind: Lane, Who: "client0", Client: true},
		{Kind: Started, Who: "a"},
		{Kind: Sent, Who: "client0", To: "a", ID: 1, Short: "hello", At: time.Second},
	}
}

func TestCheckRefusesWhatIsNoTimeline(t *testing.T) {
	if err := Check(append(lanes(), Event{Kind: Delivered, Who: "a", ID: 1, At: time.Second})); err != nil {
		t.Errorf("a timeline is refused: %v", err)
	}
	for _, c := range []struct {
		wrong Event
		says  string
	}{
		{Event{Kind: Woke, Who: "a"}, "it was 1s before"},
		{Event{Kind: Woke, Who: "b", At: time.Second}, `"b" was not introduced`},
		{Event{Kind: Woke, At: time.Second}, "in no lane"},
		{Event{Kind: Lane, Who: "a", At: time.Second}, "that of another lane"},
		{Event{Kind: Fault, Who: "a", Lanes: []string{"x"}, At: time.Second}, `"x" was not introduced`},
		{Event{Kind: Sent, Who: "a", To: "client0", ID: 1, At: time.Second}, "that of another"},
		{Event{Kind: Copied, Who: "a", ID: 2, Of: 9, At: time.Second}, "was not sent"},
		{Event{Kind: Delivered, Who: "a", ID: 9, At: time.Second}, "message 9 is not open"},
		{Event{Kind: Ended, Who: "a", ID: 1, At: time.Second}, "grant 1 is not open"},
		{Event{Kind: Held, Who: "a", ID: 1, At: time.Second}, "grant 1 is not held"},
		{Event{Kind: Violated, Grants: []uint64{7}, At: time.Second}, "grant 7"},
		{Event{At: time.Second}, "kind 0 is none"},
	} {
		err := Check(append(lanes(), c.wrong))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v; want %q in it", c.wrong.Kind, err, c.says)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		`acquire 3w2zofy6irggz-1z141z6 w2 "n0" · e3603407 t1.0`: "acquire w2 n0",
		`granted 1z w7 "n0" token=3603407:1 · e3603407`:         "granted 1z w7 n0",
		`granted w7 "n0" token=3603407:1`:                       "granted w7 n0 3603407:1",
		"new view v1@3603407{a/1:0 b/1:0} poll #1":              "new view v1@3603407",
		"promise @3603407 at=228.46ms 1:0 accepted no view":     "promise @3603407 1:0",
		"":                             "",
		strings.Repeat("ü", 40):        strings.Repeat("ü", Shown-1) + "…",
		"info answer 0 last · e1 t1.0": "info answer 0 last",
	} {
		if got := Shorten(text); got != want {
			t.Errorf("%q is shortened to %q, want %q", text, got, want)
		}
		if n := len([]rune(Shorten(text))); n > Shown {
			t.Errorf("%q is shortened to %d characters", text, n)
		}
	}
	if got := Token(3603407<<32 | 4); got != "3603407:4" {
		t.Errorf("a token with a reign is %q", got)
	}
	if got := Token(4); got != "4" {
		t.Errorf("a token without is %q", got)
	}
	if got := Kind(200).String() + Sent.String(); got != "unknownsent" {
		t.Errorf("kinds are called %q", got)
	}
}
