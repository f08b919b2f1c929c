package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestStates feeds a sequence of states, each written as the token of its holder, its value and its waiters, with "!" if
// the member says that others were missed and "-" for a cut.
func TestStates(t *testing.T) {
	s := States{Space: "default", Name: "x"}
	var got []string
	for word := range strings.FieldsSeq("! 1a 1a 1a !1a - 1a 1b 1bw !1bw - 0 - 0 2 !3") {
		missed := strings.HasPrefix(word, "!")
		word = strings.TrimPrefix(word, "!")
		if word == "-" {
			s.Cut()
			continue
		}
		state := &schema.Observed{Space: "default", Name: "x", Missed: missed}
		var token uint64
		var rest string
		_, _ = fmt.Sscanf(word, "%d%s", &token, &rest) // a free name has neither
		if token > 0 {
			state.Holders = []*schema.Grant{{Token: token, Value: strings.TrimSuffix(rest, "w")}}
		}
		if strings.HasSuffix(rest, "w") {
			state.Waiters = []*schema.Wait{{Session: "s", Request: 7}}
		}
		missed, differs, err := s.Next(state)
		if err != nil {
			t.Fatal(err)
		}
		if differs && missed {
			word = "!" + word
		}
		if differs {
			got = append(got, word)
		} else if missed {
			t.Errorf("%q is the state before, and reports that others were missed", word)
		}
	}
	if want := " 1a !1b 1bw !0 !2 !3"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
}
