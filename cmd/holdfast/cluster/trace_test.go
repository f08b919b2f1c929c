package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/sim/replay"
)

// TestRecordingsReplay: what real members have recorded, over real sockets, fresh machines
// do again: through the death of a coordinator, which goes on recording into the same file
// when it has come back with its cell, a pause, and an end in good order.
func TestRecordingsReplay(t *testing.T) {
	t.Parallel()
	b, folder := recorded(t, clustertest.Settings{})
	b.replayed(folder, b.coordinator(), "the coordinator")
}

// TestLastingRecordingsReplay: so does what members of a lasting space have recorded, whose leader comes back with its log.
func TestLastingRecordingsReplay(t *testing.T) {
	t.Parallel()
	b, folder := recorded(t, lasting(t))
	b.replayed(folder, b.leader(), "the leader")
}

// recorded starts a cluster whose members record, and where they do.
func recorded(t *testing.T, s clustertest.Settings) (b *harness, folder string) {
	t.Helper()
	folder = t.TempDir()
	s.Addresses = loopback(t, 3)
	s.FlagsOf = func(name string) []string { return []string{"--trace", filepath.Join(folder, name)} }
	b = prepare(t, s)
	b.begin(2)
	return b, folder
}

// replayed kills a member and has it come back, ends the cluster, and replays what all have recorded.
func (b *harness) replayed(folder string, victim *clustertest.Member, what string) {
	b.Helper()
	b.killAuthority(what, victim)
	b.judge()
	for _, m := range b.cluster.Members {
		lives := []string{"the member has ended"}
		if m == victim {
			lives = []string{"the process was killed, or the trace was cut", "the member has ended"}
		}
		b.replays(filepath.Join(folder, m.Name), lives)
	}
}

// replays replays the trace of a member, whose lives ended so.
func (b *harness) replays(path string, endings []string) {
	b.Helper()
	file, err := os.Open(path)
	b.check(err)
	defer func() { b.check(file.Close()) }()
	result, err := replay.Run(file, replay.Config{})
	b.check(err)
	if result.Difference != nil {
		b.Fatalf("%s:\n%v", path, result.Difference)
	}
	var ended []string
	for _, life := range result.Lives {
		ended = append(ended, life.Ending)
	}
	if strings.Join(ended, "; ") != strings.Join(endings, "; ") {
		b.Errorf("%s: the lives ended with %q, want %q", path, ended, endings)
	}
	about, err := file.Stat()
	b.check(err)
	if about.Mode().Perm() != 0o600 {
		b.Errorf("%s can be read by %v", path, about.Mode())
	}
	b.logf("%s: %d lives, %d steps in %d bytes are the same again", path, len(result.Lives), result.Steps(), about.Size())
}
