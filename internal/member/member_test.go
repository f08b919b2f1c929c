package member_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

func entropy() member.Entropy { return member.Entropy{Rand: rand.New(rand.NewPCG(1, 2))} }

// TestBuild: the machines are those of the member that the configuration describes, with a space at
// each port, and the same again from the same configuration and entropy.
func TestBuild(t *testing.T) {
	s := &member.Config{Name: "a", Serves: true, Wall: time.Duration(1_900_000_000) * time.Second, Spaces: []member.Space{
		{Name: "default", Protocol: "central"}, {Name: "billing", Protocol: "permission", Options: map[string]string{"capacity": "2", "defer": "true", "retain": "true"}},
	}}
	var ids []protocol.ID
	for range 2 {
		built, err := member.Build(s, entropy(), member.Protocols())
		if err != nil {
			t.Fatal(err)
		}
		if len(built.Spaces) != 2 || built.Member.Cell().Incarnation != 1 {
			t.Errorf("%d spaces, incarnation %d", len(built.Spaces), built.Member.Cell().Incarnation)
		}
		ids = append(ids, built.Member.Cell().ID)
		var out protocol.Effects
		built.Session.Step(0, protocol.Event{Kind: protocol.Start}, &out)
		built.Session.Step(0, protocol.Event{Kind: protocol.Call, Port: 2, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &protocol.Inspect{}}, &out)
		if n := len(out.Replies); n != 1 || out.Replies[0].Port != 2 {
			t.Errorf("the space at port 2 answers %+v", out.Replies)
		}
	}
	if ids[0] != ids[1] || ids[0] == 0 {
		t.Errorf("the two are called %v", ids)
	}
}

// TestLastingSpaces: a session machine knows by their protocols which spaces outlast their members, and takes sessions over that those have.
func TestLastingSpaces(t *testing.T) {
	protocols := member.Protocols()
	for i := range protocols {
		protocols[i].Lasting = protocols[i].Name == "permission"
	}
	for _, tt := range []struct {
		of    []string
		takes bool
	}{{[]string{"central"}, false}, {[]string{"central", "permission"}, true}, {[]string{"permission", "permission"}, true}} {
		s := &member.Config{Name: "a", Serves: true, Wall: time.Duration(1_900_000_000) * time.Second}
		for _, protocol := range tt.of {
			s.Spaces = append(s.Spaces, member.Space{Name: "default", Protocol: protocol})
		}
		built, err := member.Build(s, entropy(), protocols)
		if err != nil {
			t.Fatal(err)
		}
		var out protocol.Effects
		built.Session.Step(0, protocol.Event{Kind: protocol.Start}, &out)
		out.Reset()
		check := &session.Check{ID: lock.SessionID{Member: 9, Number: 9}}
		built.Session.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: check}, &out)
		// A session of another member is unknown, unless the spaces may have it: then they are asked, which are
		// of no such protocol in truth and say nothing.
		if answered := len(out.Replies) == 1; answered == tt.takes {
			t.Errorf("spaces %v; the session machine answers %+v", tt.of, out.Replies)
		}
	}
}

// TestSecretsAreDrawnApart: where a function draws the secrets, ids and jitter are none of them.
func TestSecretsAreDrawnApart(t *testing.T) {
	c, drawn := entropy(), 0
	c.Secret = func() session.Secret {
		drawn++
		return session.Secret{1}
	}
	s := &member.Config{Spaces: []member.Space{{Name: "default", Protocol: "central"}}}
	built, err := member.Build(s, c, member.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	built.Session.Step(0, protocol.Event{Kind: protocol.Start}, &out)
	built.Session.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &session.Open{Kind: session.Local}}, &out)
	opened, is := out.Replies[0].Result.(*session.Opened)
	if !is || opened.Secret != (session.Secret{1}) || drawn != 1 {
		t.Errorf("opened %+v, %d secrets drawn", out.Replies[0].Result, drawn)
	}
}

// TestBadConfigs: the error names what is wrong.
func TestBadConfigs(t *testing.T) {
	spaces := []member.Space{{Name: "default", Protocol: "central"}}
	for want, s := range map[string]member.Config{
		`space "default" has protocol "paxos"`:        {Spaces: []member.Space{{Name: "default", Protocol: "paxos"}}},
		"membership: Drift is 0.7":                    {Spaces: spaces, Drift: 0.7},
		"lock table: Names -1":                        {Spaces: spaces, Table: lock.Config{Names: -1}},
		`option capacity cannot be "many"`:            {Spaces: []member.Space{{Name: "default", Protocol: "permission", Options: option.Values{"capacity": "many"}}}},
		`option "grace" is not known`:                 {Spaces: []member.Space{{Name: "default", Protocol: "permission", Options: option.Values{"grace": "1s"}}}},
		"session: Spaces is 0":                        {},
		"session: MaxTTL is 48h0m0s":                  {Spaces: spaces, MaxTTL: 48 * time.Hour},
		"membership: Name is empty; a member of a cl": {Spaces: spaces, Founders: []string{"a:1", "b:1"}},
	} {
		if _, err := member.Build(&s, entropy(), member.Protocols()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLogOf: the numbers of a space's logs come of its name alone. They stand in folders, so they must
// stay what they are.
func TestLogOf(t *testing.T) {
	for name, want := range map[string]uint64{"default": 0xebada51686200000, "": 0xcbf29ce484220000} {
		if got := member.LogOf(name); got != want {
			t.Errorf("the first log of space %q is %#x, want %#x", name, got, want)
		}
	}
	taken := map[uint64]string{}
	for i := range 1000 {
		name := fmt.Sprintf("space-%d", i)
		first := member.LogOf(name)
		if first == 0 || first%(1<<16) != 0 {
			t.Errorf("the first log of space %q is %#x", name, first)
		}
		if other, is := taken[first]; is {
			t.Errorf("spaces %q and %q share log %#x", name, other, first)
		}
		taken[first] = name
	}
}
