package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// TestWhatIsHeard checks that a message of a peer counts if it is of this view and under the peer's tenure there. One
// of a later view waits, and all others are noted.
func TestWhatIsHeard(t *testing.T) {
	m := newMember(t, 3)
	right := m.standing.Tag()
	for name, test := range map[string]struct {
		from   protocol.ID
		change func(*Tag)
		heard  bool
		early  int
	}{
		"a peer's":                     {2, func(*Tag) {}, true, 0},
		"of no member":                 {9, func(*Tag) {}, false, 0},
		"its own":                      {1, func(*Tag) {}, false, 0},
		"of another tenure":            {2, func(tag *Tag) { tag.Tenure.Lapses++ }, false, 0},
		"of the view before":           {2, func(tag *Tag) { tag.View-- }, false, 0},
		"of the next view":             {2, func(tag *Tag) { tag.View++ }, false, 1},
		"of the epoch before":          {2, func(tag *Tag) { tag.Epoch.Counter--; tag.View++ }, false, 0},
		"of the next epoch":            {2, func(tag *Tag) { tag.Epoch.Counter++; tag.View-- }, false, 1},
		"of another one's epoch":       {2, func(tag *Tag) { tag.Epoch.Candidate++ }, false, 0},
		"of another one's, later view": {2, func(tag *Tag) { tag.Epoch.Candidate++; tag.View++ }, false, 0},
	} {
		tag := right
		test.change(&tag)
		var out protocol.Effects
		heard := m.standing.Hears(protocol.Event{Kind: protocol.Receive, From: test.from, Fact: Query{Tag: tag}}, tag, &out)
		early := len(m.standing.Early())
		if noted := len(out.Notes) == 1; heard != test.heard || early != test.early || noted == (heard || early > 0) {
			t.Errorf("%s: heard %t, %d early, notes %v", name, heard, early, out.Notes)
		}
	}
}

// TestEarlyMessagesAreBounded checks that 1024 messages of a coming view are kept, in order, and that one more is
// dropped.
func TestEarlyMessagesAreBounded(t *testing.T) {
	m := newMember(t, 2)
	tag := m.standing.Tag()
	tag.View++
	for i := range uint64(maxEarly + 1) {
		if out := m.receive(2, Query{tag, admin.Query{Number: i}}); len(out.Notes)+len(out.Sends) > 0 {
			t.Fatalf("early message %d: %+v", i, out)
		}
	}
	m.view(2, 2)
	early := m.standing.Early()
	if len(early) != maxEarly || early[maxEarly-1].Fact.(Query).Number != maxEarly-1 {
		t.Errorf("%d are kept, the last is %v", len(early), early[len(early)-1].Fact)
	}
}

// TestPlaces checks that a member has a place as long as a view has it under its own tenure, and that a change begins
// another stay. Early messages are useless after a lapse.
func TestPlaces(t *testing.T) {
	m := newMember(t, 3)
	s := m.standing
	if !s.Admitted() || s.Alone() || !slices.Equal(s.Members(), []protocol.ID{1, 2, 3}) {
		t.Errorf("standing is %+v", s)
	}
	tag := s.Tag()
	tag.View++
	s.Halted = true
	m.receive(2, Query{Tag: tag})
	view := *s.View
	if same := s.Take(&view); !same || s.Settle() || s.Halted {
		t.Error("the same view begins another stay, or goes on being halted")
	}
	s.Leave()
	if s.Admitted() || len(s.Early()) != 0 {
		t.Errorf("after its lease it stands %+v", s)
	}
	if c := m.Condition(0, &protocol.Condition{}); c.State != protocol.Unavailable || !strings.Contains(c.Why, "lease has run out") {
		t.Errorf("the space is %+v", c)
	}
	next := view
	next.Number, next.Lease = 2, &protocol.Lease{Tenure: protocol.Tenure{Lapses: 1}}
	if s.Take(&next) || s.Settle() || s.Admitted() {
		t.Error("it is admitted under a tenure that the view does not have")
	}
	next.Members = slices.Clone(view.Members)
	next.Members[0].Tenure.Lapses, next.Number = 1, 3
	third := next
	if s.Take(&third); !s.Settle() || !s.Admitted() || s.Tag() != (Tag{View: 3, Epoch: view.Epoch, Tenure: protocol.Tenure{Lapses: 1}}) {
		t.Errorf("it stands %+v", s)
	}
	defer func() {
		if recover() == nil {
			t.Error("an epoch may go back")
		}
	}()
	third.Epoch.Counter--
	back := third
	s.View = &next
	s.Take(&back)
}
