package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// saveSpace writes a snapshot of the n-th space of a member, as one that is asked for it does.
func saveSpace(t *testing.T, n *host.Member, port protocol.Port, h snapshot.Header) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "saved"))
	if err != nil {
		t.Fatal(err)
	}
	var w *snapshot.Writer
	for i := 0; w == nil || i < h.Shards; i++ {
		reply, err := n.Driver().Do(t.Context(), port, &protocol.Copy{Shard: i})
		if err != nil {
			t.Fatal(err)
		}
		copied, is := reply.Result.(*protocol.Copied)
		if !is {
			t.Fatalf("a copy is answered with %v", reply.Result)
		}
		if w == nil {
			h.Shards = copied.Shards
			if w, err = snapshot.NewWriter(file, &h); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Shard(&snapshot.Shard{Shard: i, Reign: copied.Reign, Sessions: copied.Sessions, Holds: copied.Holds, Waiters: copied.Waiters, Parts: len(copied.Parts)})
		for _, part := range copied.Parts {
			err = errors.Join(err, w.Part(part))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.End(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// TestRestore: what was saved begins as a cluster of its own, in which tokens are higher than those given before, also
// than those given after the snapshot was saved, and in which no client holds anything; from a clock that was set back
// it does not begin without a word.
func TestRestore(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	c := host.Config{Data: filepath.Join(t.TempDir(), "data"), Spaces: []host.Space{
		{Name: "default", Protocol: "consensus"}, {Name: "split", Protocol: "consensus", Options: map[string]string{"shards": "3"}},
	}}
	n := readyLife(t, c)
	saved := time.Now()
	var files []string
	last := map[string]holdfast.Token{}
	for _, space := range []string{"default", "split"} {
		for _, name := range names {
			take(t, n.Space(space), name) // and it stays
		}
	}
	for i, space := range []string{"default", "split"} {
		files = append(files, saveSpace(t, n, protocol.Port(i+1), snapshot.Header{
			Cluster: "c", Space: space, Protocol: "consensus", Saved: api.At(saved), TTL: api.Duration(50 * time.Millisecond), Member: "m", Version: "v",
		}))
	}
	for _, space := range []string{"default", "split"} {
		for _, name := range names {
			l := take(t, n.Space(space), name+" later")
			last[space] = max(last[space], l.Token())
		}
	}
	closeMember(t, n)

	again := c
	again.Data = filepath.Join(t.TempDir(), "again")
	set := host.Restore{Files: files, Data: again.Data, Wall: func() time.Time { return saved.Add(-time.Hour) }}
	if _, err := set.Run(); err == nil || !strings.Contains(err.Error(), "one of the two clocks is wrong") {
		t.Fatalf("from a clock that was set back: %v", err)
	}
	set.Above = last["default"]
	set.Above = max(set.Above, last["split"])
	restored, err := set.Run()
	if err != nil {
		t.Fatal(err)
	}
	if len(restored.Spaces) != 2 || restored.Spaces[0].Holds != len(names) || restored.Spaces[1].Shards != 3 || restored.Spaces[0].Grace <= 0 {
		t.Errorf("%+v", restored)
	}
	if wrong, err := host.CheckData(again.Data); err != nil || len(wrong) > 0 {
		t.Errorf("the folder is checked with %v, %v", wrong, err)
	}
	m := life(t, again)
	if id := uint64(m.Identity().ID); id != restored.Member {
		t.Errorf("it is member %d, and was to be %d", id, restored.Member)
	}
	for _, space := range []string{"default", "split"} {
		for _, name := range names {
			l := take(t, m.Space(space), name)
			if l.Token() <= last[space] {
				t.Errorf("token %v of %q in %q comes after %v", l.Token(), name, space, last[space])
			}
			give(t, l)
		}
	}
	closeMember(t, m)
}

// TestRestoreRefuses what is damaged, and leaves nothing behind.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	n := readyLife(t, host.Config{Data: t.TempDir(), Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}})
	take(t, n, "held")
	header := snapshot.Header{Cluster: "c", Space: "default", Protocol: "consensus", Saved: api.At(time.Now()), Member: "m", Version: "v"}
	file := saveSpace(t, n, 1, header)
	header.Protocol = "central"
	other := saveSpace(t, n, 1, header)
	closeMember(t, n)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	refused := func(what string, r host.Restore, invalid bool) {
		t.Helper()
		if _, err := r.Run(); err == nil || errors.Is(err, snapshot.ErrInvalid) != invalid {
			t.Errorf("%s: %v", what, err)
		}
		if left, err := os.ReadDir(above); err != nil || len(left) > 0 {
			t.Fatalf("%s leaves %v, %v", what, left, err)
		}
	}
	into := filepath.Join(above, "new")
	damaged := filepath.Join(t.TempDir(), "damaged")
	for at := 0; at < len(whole); at += 53 {
		flipped := append([]byte(nil), whole...)
		flipped[at] ^= 0x10
		if err := os.WriteFile(damaged, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		refused("a flipped bit", host.Restore{Files: []string{damaged}, Data: into}, true)
	}
	if err := os.WriteFile(damaged, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	refused("half a file", host.Restore{Files: []string{damaged}, Data: into}, true)
	refused("another protocol", host.Restore{Files: []string{other}, Data: into}, true)
	refused("a space twice", host.Restore{Files: []string{file, file}, Data: into}, true)
	refused("no file", host.Restore{Files: []string{damaged + "?"}, Data: into}, false)
	refused("nothing", host.Restore{Data: into}, false)
	refused("a grace below 0", host.Restore{Files: []string{file}, Data: into, Grace: -2}, false)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a folder with something in it", host.Restore{Files: []string{file}, Data: full}, false)
}
