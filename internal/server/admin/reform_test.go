package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestReform: a member is known by its name or its address, also when the view has it no more, and by its id.
func TestReform(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	var reforms []protocol.Reform
	b.space.answer = func(fact any) any {
		if f, is := fact.(*protocol.Reform); is {
			reforms = append(reforms, *f)
			return &protocol.Reformed{}
		}
		return &protocol.Shards{
			List:  []protocol.Shard{{Voters: []protocol.ID{7, 40}, Learners: []protocol.ID{41}}},
			Known: []protocol.Member{{ID: 40, Name: "gone", Address: "gone.example:4040"}},
		}
	}
	var view protocol.View
	for member, id := range map[string]protocol.ID{"b": 8, "b.example:4040": 8, "gone": 40, "gone.example:4040": 40, view.Name(41): 41} {
		reforms = nil
		if err := o.Reform(t.Context(), "billing", member, protocol.Learner); err != nil {
			t.Errorf("%s: %v", member, err)
		}
		if len(reforms) != 1 || reforms[0] != (protocol.Reform{Member: id, As: protocol.Learner}) {
			t.Errorf("for %s the space was asked %+v", member, reforms)
		}
	}
	if shards, err := o.Shards(t.Context(), "billing"); err != nil || len(shards.List) != 1 {
		t.Errorf("the shards: %+v, %v", shards, err)
	}
}

// TestReformRefused: each refusal has its kind, and a sentence that says why.
func TestReformRefused(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	behind := fmt.Errorf("%w: it lacks 200 entries", holdfast.ErrConflict)
	for _, c := range []struct {
		space, member string
		answer        error
		want          error
		text          string
	}{
		{"billing", "b", holdfast.ErrUnsupported, holdfast.ErrUnsupported, "protocol grantor does not offer votes of members"},
		{"billing", "stranger", holdfast.ErrUnsupported, holdfast.ErrUnsupported, "protocol grantor does not offer votes of members"},
		{"billing", "stranger", nil, holdfast.ErrConflict, `member "stranger" is not in view 4, whose members are a, b, c; name one of these`},
		{"billing", "", nil, holdfast.ErrConflict, `member "" is not in view 4`},
		{"billing", "b", behind, holdfast.ErrConflict, `member "b" cannot be made voter in space "billing": conflict: it lacks 200 entries`},
		{"billing", "b", holdfast.ErrUnavailable, holdfast.ErrUnavailable, "unavailable"},
		{"nowhere", "b", nil, holdfast.ErrSpace, `unknown space "nowhere": this member serves default, billing`},
	} {
		b.space.answer = func(fact any) any {
			if _, is := fact.(*protocol.ListShards); is {
				return &protocol.Shards{}
			}
			return &protocol.Reformed{Err: c.answer}
		}
		err := o.Reform(t.Context(), c.space, c.member, protocol.Voter)
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%q in %s: %v, want %s", c.member, c.space, err, c.text)
		}
	}
}
