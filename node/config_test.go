package node_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/node"
)

// TestConfigErrorsNameTheField, and nothing was begun: no folder is made.
func TestConfigErrorsNameTheField(t *testing.T) {
	spaces := func(s ...node.Space) []node.Space { return s }
	for name, tt := range map[string]struct {
		config node.Config
		words  []string
	}{
		"lease":       {node.Config{Lease: -time.Second}, []string{"Lease", "negative"}},
		"drift":       {node.Config{Drift: -0.01}, []string{"Drift", "-0.01", "0 to 0.5"}},
		"large drift": {node.Config{Drift: 0.51}, []string{"Drift", "0.51", "0 to 0.5"}},
		"no drift":    {node.Config{Drift: math.NaN()}, []string{"Drift", "NaN", "0 to 0.5"}},
		"ttl":         {node.Config{TTL: -1}, []string{"TTL", "negative"}},
		"longest ttl": {node.Config{Limits: node.Limits{TTL: -1}}, []string{"Limits.TTL", "negative"}},
		"sessions":    {node.Config{Limits: node.Limits{Sessions: -1}}, []string{"Limits.Sessions", "negative"}},
		"locks":       {node.Config{Limits: node.Limits{LocksPerSession: -1}}, []string{"Limits.LocksPerSession", "negative"}},
		"waiters":     {node.Config{Limits: node.Limits{WaitersPerName: -1}}, []string{"Limits.WaitersPerName", "negative"}},
		"names":       {node.Config{Limits: node.Limits{Names: -1}}, []string{"Limits.Names", "negative"}},
		"protocol":    {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "gossip"})}, []string{`space "a"`, `protocol "gossip"`, "central"}},
		"no grantors": {node.Config{Spaces: spaces(node.Space{Name: "a", Placement: time.Second})},
			[]string{`space "a"`, "Placement is 1s", "protocol central does not have it"}},
		"placement": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "grantor", Placement: 999 * time.Millisecond})},
			[]string{`space "a"`, "Placement is 999ms", "1s to 1h0m0s is allowed"}},
		"hold on": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "grantor", HoldOn: time.Hour + 1})},
			[]string{`space "a"`, "HoldOn is 1h0m0.000000001s", "1s to 1h0m0s is allowed"}},
		"no permission": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "grantor", Retain: true})},
			[]string{`space "a"`, "Retain is true", "protocol grantor does not have it", "use protocol permission"}},
		"no capacity": {node.Config{Spaces: spaces(node.Space{Name: "a", Capacity: 2})},
			[]string{`space "a"`, "Capacity is 2", "protocol central does not have it"}},
		"capacity": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "permission", Capacity: -1})},
			[]string{`space "a"`, "Capacity is -1", "1 to 2147483647 is allowed"}},
		"placement of peers": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "permission", Placement: time.Second})},
			[]string{`space "a"`, "Placement is 1s", "protocol permission does not have it"}},
		"any": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "permission", Partition: "any"})},
			[]string{`space "a"`, "partition is any", "no member could merge", "use primary"}},
		"any of leaders": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "bakery", Partition: "any"})},
			[]string{`space "a"`, "partition is any", "a majority of the leaders", "use primary"}},
		"no bakery": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "permission", Grace: time.Second})},
			[]string{`space "a"`, "Grace is 1s", "protocol permission does not have it", "use protocol bakery"}},
		"grace": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "bakery", Grace: 999 * time.Millisecond})},
			[]string{`space "a"`, "Grace is 999ms", "1s to 1h0m0s is allowed"}},
		"two graces": {node.Config{Spaces: spaces(node.Space{Name: "a", Protocol: "bakery", Grace: time.Second, GraceOfHold: true})},
			[]string{`space "a"`, "Grace is 1s", "GraceOfHold", "give one"}},
		"candidate":   {node.Config{Candidate: 16}, []string{"Candidate is 16", "1 to 14 is allowed", "15 for never"}},
		"space twice": {node.Config{Spaces: spaces(node.Space{Name: "a"}, node.Space{Name: "b"}, node.Space{Name: "a"})}, []string{`space "a"`, "twice"}},
		"default twice": {node.Config{Spaces: spaces(node.Space{Name: "default"}, node.Space{Name: "default"})},
			[]string{`space "default"`, "twice"}},
		"no space name":  {node.Config{Spaces: spaces(node.Space{})}, []string{`space ""`, "1 to 64"}},
		"bad space name": {node.Config{Spaces: spaces(node.Space{Name: "a/b"})}, []string{`space "a/b"`, "allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.State = filepath.Join(t.TempDir(), "state")
			n, err := node.Start(context.Background(), tt.config)
			if err == nil {
				n.Close()
			}
			says(t, err, append(tt.words, "start member")...)
			if _, err := os.Stat(tt.config.State); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a folder was made for a member that cannot be: %v", err)
			}
		})
	}
}

func space(name string) node.Space {
	return node.Space{Name: name, Protocol: "central", Partition: "primary"}
}

// TestSpacesInOrder: the default space first, the others by name, regardless of the
// order that they were given in; the caller's slice stays as it was.
func TestSpacesInOrder(t *testing.T) {
	given := []node.Space{{Name: "zoo"}, {Name: "Alpha"}, {Name: "default"}, {Name: "a.b"}}
	n := start(t, node.Config{Spaces: given})
	want := []node.Space{space("default"), space("Alpha"), space("a.b"), space("zoo")}
	if diff := cmp.Diff(want, n.Spaces()); diff != "" {
		t.Error(diff)
	}
	if given[0].Name != "zoo" || given[0].Protocol != "" {
		t.Errorf("the caller's spaces are now %v", given)
	}
	if spaces := start(t, node.Config{}).Spaces(); len(spaces) != 1 || spaces[0].Name != "default" {
		t.Errorf("without spaces there are %v", spaces)
	}
}

// TestSpacesAreIndependent: one name in two spaces is two locks.
func TestSpacesAreIndependent(t *testing.T) {
	ctx := context.Background()
	n := start(t, node.Config{Spaces: []node.Space{{Name: "billing"}}})
	one, other := take(t, n, "x"), take(t, n.Space("billing"), "x")
	if _, err := n.Space("default").TryLock(ctx, "x"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("the default space by name: %v", err)
	}
	give(t, one)
	give(t, take(t, n.Space(""), "x"))
	if _, err := n.Space("billing").TryLock(ctx, "x"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("released in another space: %v", err)
	}
	give(t, other)
	_, err := n.Space("nowhere").Lock(ctx, "x")
	if !errors.Is(err, holdfast.ErrSpace) {
		t.Errorf("an unknown space: %v", err)
	}
	says(t, err, `lock "x" in space "nowhere"`, "unknown space")
	if err := n.Break(ctx, "nowhere", "x", "test"); !errors.Is(err, holdfast.ErrSpace) {
		t.Errorf("an unknown space: %v", err)
	}
	if err := n.Break(ctx, "billing", "x", "test"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("nothing to break: %v", err)
	}
}

// TestLooks: what a member says of itself.
func TestLooks(t *testing.T) {
	before := time.Now()
	n := start(t, node.Config{Name: "a", Address: "127.0.0.1:4040"})
	view := n.View()
	if n.Name() != "a" || len(view.Members) != 1 || view.Members[0].Name != "a" || view.Members[0].Address != "127.0.0.1:4040" {
		t.Errorf("%q %+v", n.Name(), view)
	}
	if view.Coordinator != n.Identity().ID || view.Coordinator == 0 {
		t.Errorf("member %d coordinated by %d", n.Identity().ID, view.Coordinator)
	}
	if n.Started().Before(before) || n.Started().After(time.Now()) {
		t.Errorf("started at %v", n.Started())
	}
	if name := start(t, node.Config{}).Name(); name != "embedded" {
		t.Errorf("a member without a name is called %q", name)
	}
}

// TestSessionLimit: the process's own sessions count as others do.
func TestSessionLimit(t *testing.T) {
	n := start(t, node.Config{Limits: node.Limits{Sessions: 3}})
	one, two := another(t, n), another(t, n)
	_, err := n.Session(context.Background())
	var limit *holdfast.LimitError
	if !errors.Is(err, holdfast.ErrLimit) || !errors.As(err, &limit) || limit.Limit != "sessions" || limit.Value != 3 {
		t.Errorf("a session too many: %v", err)
	}
	for _, locks := range []holdfast.Locker{one, two} {
		if err := locks.Close(); err != nil {
			t.Fatal(err)
		}
	}
	give(t, take(t, another(t, n), "x"))
	if open := node.Sessions(n); open != 2 {
		t.Errorf("%d sessions are open, want the member's own and one more", open)
	}
}
