package server

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestNeedText: who must be there for a space to grant, and who is missing, in one sentence.
func TestNeedText(t *testing.T) {
	name := func(id protocol.ID) string { return "m" + string(rune('0'+id)) }
	wall := func(at protocol.Time) time.Time {
		return time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local).Add(at)
	}
	ids := func(all ...protocol.ID) []protocol.ID { return all }
	missing := func(names ...string) (all []membership.Missing) {
		for i, name := range names {
			all = append(all, membership.Missing{Name: name, Address: "h:1", Since: time.Duration(i+1) * time.Minute})
		}
		return all
	}
	for want, tt := range map[string]struct {
		need    membership.Need
		missing []membership.Missing
	}{
		"":                   {},
		"m1":                 {need: membership.Need{Voters: ids(1), Count: 1, Here: ids(1), Indispensable: ids(1)}},
		"2 of m1, m2, m3":    {need: membership.Need{Voters: ids(3, 1, 2), Count: 2, Here: ids(1, 2, 3)}},
		"m1 (m3 is missing)": {need: membership.Need{Voters: ids(1, 2), Count: 2, Half: true, Here: ids(1, 2), Indispensable: ids(1)}, missing: missing("m3")},
		"m1 (alone since 12:02:00; m2 and h:1 are missing)": {
			need: membership.Need{Voters: ids(1), Count: 1, Here: ids(1), Indispensable: ids(1)}, missing: missing("m2", ""),
		},
		"3 of m1, m2, m3, m4, or 2 with m1": {need: membership.Need{Voters: ids(1, 2, 3, 4), Count: 3, Half: true, Here: ids(1, 2, 3, 4)}},
		"2 of m1, m2, m3 (m2 and m3 are missing)": {
			need: majority(&protocol.View{Members: []protocol.Member{{ID: 1}}}, ids(1, 2, 3)), missing: missing("m3", "m2"),
		},
		"m1 and m2 (m3 is missing)": {
			need: majority(&protocol.View{Members: []protocol.Member{{ID: 1}, {ID: 2}, {ID: 7}}}, ids(1, 2, 3)), missing: missing("m3"),
		},
	} {
		if got := needText(tt.need, &membership.Self{Missing: tt.missing}, name, wall); got != want {
			t.Errorf("%+v without %v: %q, want %q", tt.need, tt.missing, got, want)
		}
	}
}
