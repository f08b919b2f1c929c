package host

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestDefaultTTL: 10 s, unless less is allowed; and the lease where what is held in memory would have others wait.
func TestDefaultTTL(t *testing.T) {
	join := []string{"127.0.0.1:4141", "127.0.0.1:4142", "127.0.0.1:4143"}
	lasting, memory := Space{Name: "default", Protocol: "consensus"}, Space{Name: "jobs", Protocol: "grantor"}
	for name, tt := range map[string]struct {
		config Config
		want   time.Duration
	}{
		"alone":                      {Config{}, 10 * time.Second},
		"alone, and less is allowed": {Config{Limits: Limits{TTL: 5 * time.Second}}, 5 * time.Second},
		"a cluster in memory":        {Config{Listen: join[0], Join: join, Expect: 3}, 3 * time.Second},
		"a cluster that lasts":       {Config{Listen: join[0], Join: join, Expect: 3, Data: "data", Spaces: []Space{lasting}}, 10 * time.Second},
		"a cluster with both":        {Config{Listen: join[0], Join: join, Expect: 3, Data: "data", Spaces: []Space{lasting, memory}}, 3 * time.Second},
		"said":                       {Config{Listen: join[0], Join: join, Expect: 3, TTL: time.Minute}, time.Minute},
	} {
		c := tt.config
		if err := c.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.TTL != tt.want {
			t.Errorf("%s: %v, want %v", name, c.TTL, tt.want)
		}
	}
}

// TestLongestTTL is a day where every space is on the disk, and a minute where one is in memory.
func TestLongestTTL(t *testing.T) {
	state := t.TempDir()
	lasting, memory := Space{Name: "default", Protocol: "consensus"}, Space{Name: "jobs", Protocol: "grantor"}
	for name, tt := range map[string]struct {
		config Config
		want   time.Duration
	}{
		"in memory":                      {Config{}, time.Minute},
		"in memory, with a longer lease": {Config{Lease: 2 * time.Minute}, 2 * time.Minute},
		"on the disk":                    {Config{Data: filepath.Join(state, "a"), Spaces: []Space{lasting}}, 24 * time.Hour},
		"both":                           {Config{Data: filepath.Join(state, "b"), Spaces: []Space{lasting, memory}}, time.Minute},
		"said":                           {Config{Limits: Limits{TTL: time.Hour}}, time.Hour},
	} {
		n, err := Start(t.Context(), tt.config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reply, err := n.driver.Do(t.Context(), protocol.Below, &session.Count{})
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Result.(*session.Counted).LongestTTL; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
