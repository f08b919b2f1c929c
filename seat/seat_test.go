package seat_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/seat"
	"github.com/holdfast-locks/holdfast/session"
)

func chance() seat.Chance { return seat.Chance{Rand: rand.New(rand.NewPCG(1, 2))} }

// TestBuild: the machines are those of the member that the seat describes, with a space at
// each port, and the same again from the same seat and chance.
func TestBuild(t *testing.T) {
	s := &seat.Seat{Name: "a", Serves: true, Wall: time.Duration(1_900_000_000) * time.Second, Spaces: []seat.Space{
		{Name: "default", Protocol: "central"}, {Name: "billing", Protocol: "permission", Capacity: 2, Defer: true, Retain: true},
	}}
	var ids []protocol.ID
	for range 2 {
		built, err := seat.Build(s, chance(), seat.Protocols())
		if err != nil {
			t.Fatal(err)
		}
		if len(built.Spaces) != 2 || built.Member.Cell().Incarnation != 1 {
			t.Errorf("%d spaces, incarnation %d", len(built.Spaces), built.Member.Cell().Incarnation)
		}
		ids = append(ids, built.Member.Cell().ID)
		var out protocol.Effects
		built.Desk.Step(0, protocol.Event{Kind: protocol.Start}, &out)
		built.Desk.Step(0, protocol.Event{Kind: protocol.Call, Port: 2, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &protocol.Inspect{}}, &out)
		if n := len(out.Replies); n != 1 || out.Replies[0].Port != 2 {
			t.Errorf("the space at port 2 answers %+v", out.Replies)
		}
	}
	if ids[0] != ids[1] || ids[0] == 0 {
		t.Errorf("the two are called %v", ids)
	}
}

// TestSecretsAreDrawnApart: where somebody draws secrets, ids and jitter are none of them.
func TestSecretsAreDrawnApart(t *testing.T) {
	c, drawn := chance(), 0
	c.Secret = func() session.Secret {
		drawn++
		return session.Secret{1}
	}
	s := &seat.Seat{Spaces: []seat.Space{{Name: "default", Protocol: "central"}}}
	built, err := seat.Build(s, c, seat.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	built.Desk.Step(0, protocol.Event{Kind: protocol.Start}, &out)
	built.Desk.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &session.Open{Sort: session.Local}}, &out)
	opened, is := out.Replies[0].Result.(*session.Opened)
	if !is || opened.Secret != (session.Secret{1}) || drawn != 1 {
		t.Errorf("opened %+v, %d secrets drawn", out.Replies[0].Result, drawn)
	}
}

// TestBadSeats: the error names what is wrong.
func TestBadSeats(t *testing.T) {
	spaces := []seat.Space{{Name: "default", Protocol: "central"}}
	for want, s := range map[string]seat.Seat{
		`space "default" has protocol "paxos"`:        {Spaces: []seat.Space{{Name: "default", Protocol: "paxos"}}},
		"membership: Drift is 0.7":                    {Spaces: spaces, Drift: 0.7},
		"lock table: Names -1":                        {Spaces: spaces, Table: lock.Config{Names: -1}},
		"permission: Capacity is -1":                  {Spaces: []seat.Space{{Name: "default", Protocol: "permission", Capacity: -1}}},
		"permission: partition mode any":              {Spaces: []seat.Space{{Name: "default", Protocol: "permission"}}, Available: true},
		"session: Spaces is 0":                        {},
		"session: MaxTTL is 48h0m0s":                  {Spaces: spaces, MaxTTL: 48 * time.Hour},
		"membership: Name is empty; a member of a cl": {Spaces: spaces, Founders: []string{"a:1", "b:1"}},
	} {
		if _, err := seat.Build(&s, chance(), seat.Protocols()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
