package host_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// speaker is a cluster that says its terms while it has any, in the place of Config.Terms.
type speaker struct {
	mu      sync.Mutex
	terms   []string
	queries int
}

func (s *speaker) say(terms ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms = terms
}

func (s *speaker) Terms(context.Context, string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries++
	if s.terms == nil {
		return nil, errors.New("connection refused")
	}
	return s.terms, nil
}

// forgetful are the starts of one guest, whose cluster is a speaker.
type forgetful struct {
	t       *testing.T
	cluster speaker
	state   string
}

func (f *forgetful) config() host.Config {
	return host.Config{
		Name: "guest", Listen: "unix://" + filepath.Join(f.t.TempDir(), "g"), Join: []string{"unix://" + filepath.Join(f.t.TempDir(), "away")},
		State: f.state, Terms: f.cluster.Terms,
	}
}

func (f *forgetful) start() *host.Member {
	f.t.Helper()
	n, err := host.Start(bounded(f.t), f.config())
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *forgetful) closeMember(n *host.Member) {
	f.t.Helper()
	if err := n.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// sameSpace reports whether two spaces have one definition.
func sameSpace(a, b host.Space) bool {
	return a.Name == b.Name && a.Protocol == b.Protocol && maps.Equal(a.Given(), b.Given())
}

// TestGuestRemembersTheSpaces: a guest that no member answers at its start begins with the definitions that an earlier life has taken,
// and says what it waits for. When the members have others it cannot take part, says why, and remembers those.
func TestGuestRemembersTheSpaces(t *testing.T) {
	t.Parallel()
	spaces := []host.Space{{Name: "default", Protocol: "consensus", Options: map[string]string{"shards": "2"}}, {Name: "x", Protocol: "grantor", Options: map[string]string{"hold_on": "2s"}}}
	_, terms := host.TermsOf(t, host.Config{Spaces: spaces, Data: t.TempDir(), Lease: 4e9, Drift: 0.1})
	f := &forgetful{t: t, state: t.TempDir()}
	f.cluster.say(terms...)
	first := f.start()
	f.closeMember(first)
	f.cluster.say()
	second := f.start()
	if !slices.EqualFunc(first.Spaces(), second.Spaces(), sameSpace) || len(second.Spaces()) != 2 {
		t.Errorf("it remembers %+v, and took %+v", second.Spaces(), first.Spaces())
	}
	over, done := context.WithCancel(t.Context())
	done()
	if err := second.WaitReady(over); err == nil || !strings.Contains(err.Error(), `space "default" is unavailable`) || !strings.Contains(err.Error(), "this member is joining") {
		t.Errorf("it waits for %v", err)
	}

	// The members are back, with another definition.
	others := append([]string{}, terms...)
	others[1] = "lease 5s"
	f.cluster.say(others...)
	err := second.Unfit(bounded(t))
	for _, part := range []string{`it is "lease 5s" in the cluster and "lease 4s" here`, "began with the definitions that it remembered", "start it again"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v; want %q in it", err, part)
		}
	}
	f.closeMember(second)
	f.cluster.say()
	adopted, err := host.Adopt(bounded(t), f.config())
	if err != nil || adopted.Lease != 5e9 || len(adopted.Spaces) != 2 {
		t.Errorf("after that it remembers lease %v and %+v: %v", adopted.Lease, adopted.Spaces, err)
	}
}

// TestDamagedDefinitions: what is damaged, or written by another version, is never taken, and named.
func TestDamagedDefinitions(t *testing.T) {
	t.Parallel()
	f := &forgetful{t: t, state: t.TempDir()}
	f.cluster.say("version 1", "lease 5s", "space default: protocol central, partition primary")
	f.closeMember(f.start())
	f.cluster.say()
	path := filepath.Join(f.state, "definitions")
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		strings.Replace(string(kept), "5s", "6s", 1): "the file is damaged; remove it",
		"": "the file is damaged; remove it",
		strings.Replace(string(kept), "tions 1", "tions 2", 1): `it is "holdfast definitions 2", and this version reads "holdfast definitions 1"`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		c := f.config()
		var reasons []string
		c.Unanswered = func(why error) {
			if reasons = append(reasons, why.Error()); len(reasons) > 1 {
				stop()
			}
		}
		_, err := host.Adopt(ctx, c)
		if err == nil || !strings.Contains(err.Error(), path+": "+says) || !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", text, err)
		}
		if len(reasons) != 2 || !strings.Contains(reasons[1], c.Join[0]+": connection refused") || !strings.Contains(reasons[1], says) {
			t.Errorf("it got %q", reasons)
		}
	}
}

// TestGuestServesFromMemory: what a guest has begun with, because no member was there, is what it serves when they are.
func TestGuestServesFromMemory(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	cluster := &speaker{}
	c := startCluster(t, 3, steady, func(c *host.Config) { c.Spaces = []host.Space{{Name: "default", Protocol: "permission"}} })
	_, terms := host.TermsOf(t, host.Config{Spaces: c.configs[0].Spaces, Lease: c.configs[0].Lease, Drift: c.configs[0].Drift})
	config := host.Config{
		Name: "guest", Listen: "unix://" + filepath.Join(t.TempDir(), "g"), Join: c.configs[0].Join, Patience: c.configs[0].Patience,
		State: t.TempDir(), Terms: cluster.Terms,
	}
	cluster.say(terms...)
	for range 2 {
		guest, err := host.Start(bounded(t), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := guest.WaitReady(bounded(t)); err != nil {
			t.Fatal(err)
		}
		give(t, take(t, guest, "n"))
		if err := guest.Close(); err != nil {
			t.Fatal(err)
		}
		cluster.say()
	}
}
