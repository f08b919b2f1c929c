package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	disk "github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// keepingData is a member alone that keeps what its spaces have.
func keepingData(folder string) host.Config {
	return host.Config{Data: folder, Spaces: []host.Space{
		{Name: "default", Protocol: "consensus"}, {Name: "split", Protocol: "consensus", Options: map[string]string{"shards": "3"}}, {Name: "jobs"},
	}}
}

// TestDataOutlasts: what spaces of protocol consensus keep is there when the member starts again, and so is the member itself.
func TestDataOutlasts(t *testing.T) {
	t.Parallel()
	c := keepingData(filepath.Join(t.TempDir(), "new", "data"))
	last := map[string]holdfast.Token{}
	var self uint64
	for life := range 3 {
		n := readyLife(t, c)
		if id := uint64(n.Identity().ID); self != 0 && id != self {
			t.Errorf("life %d is member %d, the one before was %d", life, id, self)
		} else {
			self = id
		}
		for _, space := range []string{"", "split", "jobs"} {
			for _, name := range []string{"a", "b", "c", "d"} {
				l := take(t, n.Space(space), name)
				if l.Token() <= last[space+name] {
					t.Errorf("life %d gives token %v of %q in %q after %v", life, l.Token(), name, space, last[space+name])
				}
				last[space+name] = l.Token()
				give(t, l)
			}
		}
		closeMember(t, n)
	}
}

// TestTokensOutliveTheFolder: a member whose folder was removed, and one whose spaces were kept in
// memory before, give higher tokens than before.
func TestTokensOutliveTheFolder(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	memory := host.Config{Spaces: []host.Space{{Name: "default"}, {Name: "split"}}}
	last := map[string]holdfast.Token{}
	for life, c := range []host.Config{memory, keepingData(t.TempDir()), keepingData(t.TempDir())} {
		// Reigns begin by the second of the wall clock: another life begins in another one.
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		n := readyLife(t, c)
		for _, space := range []string{"", "split"} {
			for _, name := range []string{"a", "b", "c"} {
				l := take(t, n.Space(space), name)
				if l.Token() <= last[space+name] {
					t.Errorf("life %d gives token %v of %q in %q after %v", life, l.Token(), name, space, last[space+name])
				}
				last[space+name] = l.Token()
				give(t, l)
			}
		}
		closeMember(t, n)
	}
}

// readyLife starts a member, and waits until it can grant.
func readyLife(t *testing.T, c host.Config) *host.Member {
	t.Helper()
	n := life(t, c)
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHeldOutlasts: a lock that a client outside the process holds is held after a crash of the member.
func TestHeldOutlasts(t *testing.T) {
	t.Parallel()
	c := host.Config{Data: t.TempDir(), Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}}
	n := readyLife(t, c)
	opened := openClient(t, n, 30*time.Second)
	wanted := &lock.Request{Session: opened.ID, ID: 1, Name: "held by a client", WaitEnd: lock.Never}
	if _, _, err := n.Driver().Call(protocol.Event{Kind: protocol.Call, Port: 1, Call: n.Driver().Unheard(), Fact: wanted}); err != nil {
		t.Fatal(err)
	}
	for { // what came of it is there when another sees it
		l, err := n.TryLock(t.Context(), "held by a client")
		if errors.Is(err, holdfast.ErrHeld) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		give(t, l)
	}
	if err := host.Crash(n); err != nil {
		t.Fatal(err)
	}
	n = readyLife(t, c)
	if _, err := n.TryLock(t.Context(), "held by a client"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock: %v, want ErrHeld", err)
	}
	give(t, take(t, n, "another"))
	closeMember(t, n)
}

// refuses starts a member that must not start, and returns why.
func refuses(t *testing.T, c host.Config, parts ...string) error {
	t.Helper()
	n, err := host.Start(context.Background(), c)
	if err == nil {
		closeMember(t, n)
		t.Fatalf("a member starts; want an error of %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nlacks %q", err, part)
		}
	}
	return err
}

// TestDataRefused: a member that must not have a folder does not get it, and hears why.
func TestDataRefused(t *testing.T) {
	t.Parallel()
	c := keepingData(t.TempDir())
	n := readyLife(t, c)
	if err := refuses(t, c, c.Data); !errors.Is(err, cell.ErrInUse) {
		t.Errorf("a second member in the same folder: %v", err)
	}
	elsewhere := c
	elsewhere.State = t.TempDir()
	if err := refuses(t, elsewhere, c.Data); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("a second member with a cell of its own: %v", err)
	}
	closeMember(t, n)

	var another *disk.IdentityError
	if err := refuses(t, elsewhere, c.Data); !errors.As(err, &another) {
		t.Errorf("a member whose cell is another's: %v", err)
	}
	changed := c
	changed.Spaces = []host.Space{{Name: "default"}}
	refuses(t, changed, `space "default" was created with protocol consensus and shards 1`, "protocol central now", "an empty folder")
	changed.Spaces = []host.Space{{Name: "default", Protocol: "consensus"}, {Name: "split", Protocol: "consensus", Options: map[string]string{"shards": "2"}}}
	refuses(t, changed, `space "split" was created with protocol consensus and shards 3`, "shards 2 now")
	changed.Spaces = []host.Space{{Name: "default", Protocol: "consensus"}, {Name: "jobs", Protocol: "consensus"}}
	refuses(t, changed, `space "jobs" was created with protocol central`)

	// A space that is not configured any more stays what it was; a new one is added.
	changed.Spaces = []host.Space{{Name: "default", Protocol: "consensus"}, {Name: "more", Protocol: "grantor"}}
	closeMember(t, readyLife(t, changed))
	changed.Spaces[1].Protocol = "central"
	refuses(t, changed, `space "more" was created with protocol grantor`)
	closeMember(t, readyLife(t, c))
}

// TestDataDamaged: a folder of which something is missing or damaged is refused, and left as it is.
func TestDataDamaged(t *testing.T) {
	t.Parallel()
	c := keepingData(t.TempDir())
	closeMember(t, readyLife(t, c))
	at := filepath.Join(c.Data, "spaces")
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for damaged, complaint := range map[string]string{
		strings.Replace(string(text), "consensus", "grantor", 1): "damaged",
		strings.Replace(string(text), "spaces 1", "spaces 2", 1): `this version reads "holdfast spaces 1"`,
		"": "damaged",
	} {
		if err := os.WriteFile(at, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, c, at, complaint)
		if found, err := host.CheckData(c.Data); err != nil || len(found) != 1 || !strings.Contains(found[0].Error(), complaint) {
			t.Errorf("a check finds %v, %v, want %s", found, err, complaint)
		}
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	refuses(t, c, `has logs of space "default", and its file spaces does not have the space`)
	if err := os.WriteFile(at, text, 0o600); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(c.Data, "logs", "journal", "identity")
	if err := os.Remove(identity); err != nil {
		t.Fatal(err)
	}
	if found, err := host.CheckData(c.Data); err != nil || len(found) != 1 {
		t.Errorf("a check finds %v, %v", found, err)
	}
	var corrupt *disk.CorruptError
	if err := refuses(t, c, c.Data); !errors.As(err, &corrupt) {
		t.Errorf("a journal without its identity: %v", err)
	}
}

// TestDataWithoutItsLogs: a folder that has lost its logs is not taken for a new one.
func TestDataWithoutItsLogs(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"logs", filepath.Join("logs", "journal")} {
		c := keepingData(t.TempDir())
		closeMember(t, readyLife(t, c))
		if err := os.RemoveAll(filepath.Join(c.Data, gone)); err != nil {
			t.Fatal(err)
		}
		refuses(t, c, c.Data, "journal is gone", "put it back")
	}
}

// TestDataConfig: what a space of protocol consensus must and must not have.
func TestDataConfig(t *testing.T) {
	t.Parallel()
	space := func(protocol, name, value string) host.Config {
		return host.Config{Data: t.TempDir(), Spaces: []host.Space{{Name: "x", Protocol: protocol, Options: map[string]string{name: value}}}}
	}
	refuses(t, host.Config{Spaces: []host.Space{{Name: "x", Protocol: "consensus"}}}, `space "x"`, "Data is empty", "--data DIR")
	refuses(t, space("consensus", "partition", "any"), `space "x"`, `option partition cannot be "any"`, "leave it out for primary")
	refuses(t, space("consensus", "preempt", "true"), `space "x"`, `option preempt cannot be "true"`, "leave it out")
	refuses(t, space("consensus", "shards", "257"), `space "x"`, `option shards cannot be "257": it is too large`, "1 to 256")
	refuses(t, space("consensus", "shards", "-1"), `space "x"`, `option shards cannot be "-1": it is too small`)
	refuses(t, space("consensus", "autopilot", "1ms"), `space "x"`, `option autopilot cannot be "1ms": it is too short`, "give 1s or more")
	refuses(t, space("consensus", "snapshot_every", "10"), `space "x"`, `protocol consensus has no option "snapshot_every"`, "allowed: partition, preempt, shards, autopilot")
	refuses(t, space("central", "autopilot", "off"), `space "x"`, `protocol central has no option "autopilot"`)
	refuses(t, space("central", "shards", "2"), `space "x"`, `protocol central has no option "shards"`)
}

// TestDataFails: a member whose disk has failed says that it cannot go on, acknowledges nothing more, and ends.
func TestDataFails(t *testing.T) {
	t.Parallel()
	c := keepingData(t.TempDir())
	broken := errors.New("the disk is gone")
	var gone, met atomic.Bool
	n := readyLife(t, host.OnDisk(c, errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !gone.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		met.Store(true)
		return broken
	}))))
	held := take(t, n, "held")
	gone.Store(true)
	if l, err := n.Lock(t.Context(), "one more"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Lock when the disk is gone: %v, %v, want ErrUnavailable", l, err)
	}
	if !met.Load() {
		t.Fatal("nothing was written, so nothing failed")
	}
	if err := n.Unfit(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), c.Data) {
		t.Errorf("Unfit: %v, want that %v in %s", err, broken, c.Data)
	}
	if err := n.WaitReady(t.Context()); !errors.Is(err, broken) {
		t.Errorf("WaitReady: %v", err)
	}
	if l, err := n.Lock(t.Context(), "another"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Lock: %v, %v, want ErrUnavailable", l, err)
	}
	if err := held.Unlock(t.Context()); err == nil {
		t.Error("a release was acknowledged that is not written")
	}
	if err := n.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v", err)
	}
	n = readyLife(t, c)
	closeMember(t, n)
}

// TestDataSlow: while a member's disk takes its time no client is granted what is not written, though its holder has given it up;
// when it is, the next one is. What was held all the while is held.
func TestDataSlow(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := keepingData(t.TempDir())
	var slow atomic.Bool
	begun, may := make(chan struct{}, 100), make(chan struct{})
	n := readyLife(t, host.OnDisk(c, errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slow.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			select {
			case begun <- struct{}{}:
			default:
			}
			<-may
		}
		return nil
	}))))
	held, given := take(t, n, "held"), take(t, n, "given")
	slow.Store(true)
	locked := make(chan outcome, 1)
	if err := given.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	<-begun // the disk is at what it is asked for, and does not come to an end
	go func() {
		l, err := n.Lock(t.Context(), "given")
		locked <- outcome{l, err}
	}()
	other := another(t, n)
	if l, err := other.TryLock(t.Context(), "held"); err == nil || errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("a try of what is held: %v, %v", l, err)
	}
	select {
	case got := <-locked:
		t.Fatalf("it is granted, %+v, before that is written", got)
	default:
	}
	slow.Store(false)
	close(may)
	if l := granted(t, locked); l.Token() <= given.Token() {
		t.Errorf("token %v follows %v", l.Token(), given.Token())
	}
	if err := held.Check(); err != nil {
		t.Errorf("what was held all the while: %v", err)
	}
	closeMember(t, n)
}
