package host_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// TestConfigErrorsNameTheField, and nothing was begun: no folder is made.
func TestConfigErrorsNameTheField(t *testing.T) {
	spaces := func(s ...host.Space) []host.Space { return s }
	for name, tt := range map[string]struct {
		config host.Config
		want   []string
	}{
		"lease":       {host.Config{Lease: -time.Second}, []string{"Lease", "negative"}},
		"drift":       {host.Config{Drift: -0.01}, []string{"Drift", "-0.01", "0 to 0.5"}},
		"large drift": {host.Config{Drift: 0.51}, []string{"Drift", "0.51", "0 to 0.5"}},
		"no drift":    {host.Config{Drift: math.NaN()}, []string{"Drift", "NaN", "0 to 0.5"}},
		"ttl":         {host.Config{TTL: -1}, []string{"TTL", "negative"}},
		"longest ttl": {host.Config{Limits: host.Limits{TTL: -1}}, []string{"Limits.TTL", "negative"}},
		"sessions":    {host.Config{Limits: host.Limits{Sessions: -1}}, []string{"Limits.Sessions", "negative"}},
		"locks":       {host.Config{Limits: host.Limits{LocksPerSession: -1}}, []string{"Limits.LocksPerSession", "negative"}},
		"waiters":     {host.Config{Limits: host.Limits{WaitersPerName: -1}}, []string{"Limits.WaitersPerName", "negative"}},
		"names":       {host.Config{Limits: host.Limits{Names: -1}}, []string{"Limits.Names", "negative"}},
		"protocol":    {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "gossip"})}, []string{`space "a"`, `protocol "gossip"`, "central"}},
		"no grantors": {host.Config{Spaces: spaces(host.Space{Name: "a", Options: map[string]string{"placement": "1s"}})},
			[]string{`space "a"`, `protocol central has no option "placement"`, "leave it out"}},
		"placement": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "grantor", Options: map[string]string{"placement": "999ms"}})},
			[]string{`space "a"`, `option placement cannot be "999ms": it is too short; allowed: off, on, 1s to 1h`}},
		"hold on": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "grantor", Options: map[string]string{"hold_on": "1h1ns"}})},
			[]string{`space "a"`, `option hold_on cannot be "1h1ns": it is too long; allowed: off, on, 1s to 1h`}},
		"no permission": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "grantor", Options: map[string]string{"retain": "true"}})},
			[]string{`space "a"`, `protocol grantor has no option "retain"`, "allowed: partition, preempt, placement, hold_on"}},
		"no capacity": {host.Config{Spaces: spaces(host.Space{Name: "a", Options: map[string]string{"capacity": "2"}})},
			[]string{`space "a"`, `protocol central has no option "capacity"`}},
		"capacity": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "permission", Options: map[string]string{"capacity": "-1"}})},
			[]string{`space "a"`, `option capacity cannot be "-1": it is too small`, "1 to 2147483647"}},
		"placement of peers": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "permission", Options: map[string]string{"placement": "1s"}})},
			[]string{`space "a"`, `protocol permission has no option "placement"`}},
		"any": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "permission", Options: map[string]string{"partition": "any"}})},
			[]string{`space "a"`, `option partition cannot be "any": no member could merge`, "leave it out for primary"}},
		"any of leaders": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "bakery", Options: map[string]string{"partition": "any"}})},
			[]string{`space "a"`, `option partition cannot be "any": a lock is decided by a majority of the leaders`, "leave it out for primary"}},
		"no bakery": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "permission", Options: map[string]string{"grace": "1s"}})},
			[]string{`space "a"`, `protocol permission has no option "grace"`}},
		"grace": {host.Config{Spaces: spaces(host.Space{Name: "a", Protocol: "bakery", Options: map[string]string{"grace": "999ms"}})},
			[]string{`space "a"`, `option grace cannot be "999ms": it is too short; allowed: 0, snaplock, 1s to 1h`}},
		"candidate":   {host.Config{Candidate: 16}, []string{"Candidate is 16", "1 to 14 is allowed", "15 for never"}},
		"space twice": {host.Config{Spaces: spaces(host.Space{Name: "a"}, host.Space{Name: "b"}, host.Space{Name: "a"})}, []string{`space "a"`, "twice"}},
		"default twice": {host.Config{Spaces: spaces(host.Space{Name: "default"}, host.Space{Name: "default"})},
			[]string{`space "default"`, "twice"}},
		"no space name":  {host.Config{Spaces: spaces(host.Space{})}, []string{`space ""`, "1 to 64"}},
		"bad space name": {host.Config{Spaces: spaces(host.Space{Name: "a/b"})}, []string{`space "a/b"`, "allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.State = filepath.Join(t.TempDir(), "state")
			n, err := host.Start(context.Background(), tt.config)
			if err == nil {
				n.Close()
			}
			says(t, err, append(tt.want, "start member")...)
			if _, err := os.Stat(tt.config.State); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a folder was made for a member that cannot be: %v", err)
			}
		})
	}
}

func space(name string) host.Space {
	return host.Space{Name: name, Protocol: "central"}
}

// TestSpacesInOrder: the default space first, the others by name, regardless of the
// order that they were given in; the caller's slice stays as it was.
func TestSpacesInOrder(t *testing.T) {
	given := []host.Space{{Name: "zoo"}, {Name: "Alpha"}, {Name: "default"}, {Name: "a.b"}}
	n := start(t, host.Config{Spaces: given})
	want := []host.Space{space("default"), space("Alpha"), space("a.b"), space("zoo")}
	if diff := cmp.Diff(want, n.Spaces(), cmpopts.IgnoreUnexported(host.Space{})); diff != "" {
		t.Error(diff)
	}
	if given[0].Name != "zoo" || given[0].Protocol != "" {
		t.Errorf("the caller's spaces are now %v", given)
	}
	if spaces := start(t, host.Config{}).Spaces(); len(spaces) != 1 || spaces[0].Name != "default" {
		t.Errorf("without spaces there are %v", spaces)
	}
}

// TestSpacesAreIndependent: one name in two spaces is two locks.
func TestSpacesAreIndependent(t *testing.T) {
	ctx := context.Background()
	n := start(t, host.Config{Spaces: []host.Space{{Name: "billing"}}})
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
	n := start(t, host.Config{Name: "a", Address: "127.0.0.1:4040"})
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
	if name := start(t, host.Config{}).Name(); name != "embedded" {
		t.Errorf("a member without a name is called %q", name)
	}
}

// TestSessionLimit: the process's own sessions count as others do.
func TestSessionLimit(t *testing.T) {
	n := start(t, host.Config{Limits: host.Limits{Sessions: 3}})
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
	if open := host.Sessions(n); open != 2 {
		t.Errorf("%d sessions are open, want the member's own and one more", open)
	}
}
