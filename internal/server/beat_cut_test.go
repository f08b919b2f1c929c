package server_test

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestABeatSaysWhyItsTTLIsCut: a heartbeat is answered with why its ttl is shorter than the client has asked for, also one that asks
// for none again; and with nothing where the ttl is what was asked for.
func TestABeatSaysWhyItsTTLIsCut(t *testing.T) {
	parallel.SkipBrief(t)
	const limit, folder = "limits.ttl of this member allows no more", "a member keeps no folder (state none) or cannot write to it, and so no more is promised"
	type beat struct {
		requested time.Duration
		least     time.Duration // of the answer, which has at most what was asked for
		cut       string
	}
	for name, tt := range map[string]struct {
		state string
		beats []beat
	}{
		"kept":  {t.TempDir(), []beat{{2 * time.Hour, time.Minute, limit}, {0, time.Minute, limit}, {5 * time.Second, 5 * time.Second, ""}, {0, 5 * time.Second, ""}}},
		"state": {"", []beat{{30 * time.Second, time.Second, folder}, {0, time.Second, folder}, {time.Second, time.Second, ""}, {0, time.Second, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := serveAs(t, host.Config{State: tt.state}, server.Limits{})
			c := m.open(m.dial())
			for i, b := range tt.beats {
				c.say(&schema.Operation{Id: uint64(i + 1), Kind: &schema.Operation_Beat{Beat: &schema.Beat{Ttl: int64(b.requested)}}})
				got := c.hear().GetBeat()
				if got.GetTtl() < int64(b.least) || got.GetTtlCut() != b.cut {
					t.Errorf("beat %d, which asks for %v, is answered %v, want %v or more, %q", i+1, b.requested, got, b.least, b.cut)
				}
			}
		})
	}
}
