package peer

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// TestStored: Holdfast's own locks in the servers of others exclude each other, are counted, and
// cost what they shall: two writes and a read by claims, two conditional writes otherwise.
func TestStored(t *testing.T) {
	for _, name := range StoredNames() {
		t.Run(name, func(t *testing.T) {
			stored, err := config(t).Stored(limited(t), name)
			if isMissing(err) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			result, err := load.Run(limited(t), load.Config{
				Targets: []load.Target{stored}, Workloads: []string{load.Uncontended, load.Hot}, Workers: []int{4}, Think: []time.Duration{0},
				Rounds: 1, Duration: time.Second, Patience: 20 * time.Second,
			})
			if err != nil || result.FirstError != nil {
				t.Fatal(err, result)
			}
			if n := result.Sum(load.Violations) + result.Sum(load.Errors); n > 0 || len(result.Rows) != 2 {
				t.Errorf("%v violations and errors in %d rows", n, len(result.Rows))
			}
			reads := 1.0
			if strings.Contains(name, casSuffix) {
				reads = 0
			}
			// At the edges of the window some have asked whose locks are not counted; and a busy
			// machine may have a claim written twice.
			near := func(m load.Metric, want float64) {
				if got, known := result.Rows[0].Figure(m); !known || got < want-0.4 || got > want+0.6 {
					t.Errorf("%s is %v, want about %v", m, got, want)
				}
			}
			if strings.HasSuffix(name, keptSuffix) {
				// How many depends on how fast the machine is; without keeping anything it would be two.
				if got, known := result.Rows[0].Figure(load.WritesPerLock); !known || got > 1.8 {
					t.Errorf("%s is %v where what was released is kept", load.WritesPerLock, got)
				}
			} else {
				near(load.WritesPerLock, 2)
			}
			near(load.ReadsPerLock, reads)
		})
	}
}

// TestStoredNames: what is no name of such locks is refused.
func TestStoredNames(t *testing.T) {
	for _, name := range []string{"etcd", "etcd-cas", "-store", "zookeeper-store", "postgresql-store-cas-cas", "postgresql-store-kept", "etcd-kept"} {
		if _, err := config(t).Stored(limited(t), name); err == nil || !strings.Contains(err.Error(), "etcd-store-cas") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
