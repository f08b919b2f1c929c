package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// network is a bridge with members on it, each in a network namespace of its own. The
// test itself, and its workers, are at the bridge.
type network struct {
	t     *testing.T
	name  string // of the bridge, and the beginning of all other names
	hosts []netip.Addr
}

// layNetwork starts a cluster of three in namespaces, and workers. Flags are further ones of
// each member. Where that cannot be done, the test is skipped.
func layNetwork(t *testing.T, workers int, flags ...string) (*harness, *network) {
	t.Helper()
	return layNetworkOf(t, workers, clustertest.Settings{Flags: flags})
}

// layNetworkOf does so for a cluster of these settings, whose addresses it gives.
func layNetworkOf(t *testing.T, workers int, settings clustertest.Settings) (*harness, *network) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces are made with the ip command of iproute2, which is not here")
	}
	t.Parallel()
	n := &network{t: t, name: fmt.Sprintf("hf%05x", rand.IntN(1<<20))}
	if testing.Short() {
		t.Skip("real clusters take a minute or two; run without -short")
	}
	if text, err := ip("link", "add", n.name, "type", "bridge"); err != nil {
		t.Skipf("no bridge can be made here: %v: %s", err, text)
	}
	t.Cleanup(func() { n.must("link", "del", n.name) })
	// RFC 2544 keeps these addresses for tests.
	third := rand.IntN(256)
	n.must("addr", "add", fmt.Sprintf("198.18.%d.254/24", third), "dev", n.name)
	n.must("link", "set", n.name, "up")
	for i := range 3 {
		n.hosts = append(n.hosts, netip.AddrFrom4([4]byte{198, 18, byte(third), byte(1 + i)}))
		n.addHost(i)
		settings.Addresses = append(settings.Addresses, n.address(i))
	}
	settings.Flags = append(settings.Flags, "--insecure")
	settings.Around = n.around
	b := prepare(t, settings)
	b.begin(workers)
	return b, n
}

// around is the beginning of a command that runs on a machine.
func (n *network) around(i int) []string { return []string{"ip", "netns", "exec", n.space(i)} }

func (n *network) space(i int) string   { return fmt.Sprintf("%s-%d", n.name, i) }
func (n *network) link(i int) string    { return fmt.Sprintf("%s%d", n.name, i) }
func (n *network) address(i int) string { return netip.AddrPortFrom(n.hosts[i], 4040).String() }

func (n *network) addHost(i int) {
	if text, err := ip("netns", "add", n.space(i)); err != nil {
		n.t.Skipf("no network namespace can be made here: %v: %s", err, text)
	}
	n.t.Cleanup(func() { n.must("netns", "del", n.space(i)) })
	n.must("link", "add", n.link(i), "type", "veth", "peer", "name", "eth0", "netns", n.space(i))
	n.must("link", "set", n.link(i), "master", n.name, "up")
	n.must("-n", n.space(i), "addr", "add", n.hosts[i].String()+"/24", "dev", "eth0")
	n.must("-n", n.space(i), "link", "set", "eth0", "up")
	n.must("-n", n.space(i), "link", "set", "lo", "up")
}

func ip(arguments ...string) (string, error) {
	text, err := exec.Command("ip", arguments...).CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

func (n *network) must(arguments ...string) string {
	n.t.Helper()
	text, err := ip(arguments...)
	if err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(arguments, " "), err, text)
	}
	return text
}

// unplug takes a member off the bridge, and looks that the link is down.
func (n *network) unplug(i int) {
	n.t.Helper()
	n.must("link", "set", n.link(i), "down")
	n.wantState(i, "down")
}

// plug puts it back.
func (n *network) plug(i int) {
	n.t.Helper()
	n.must("link", "set", n.link(i), "up")
	n.wantState(i, "up")
}

// wantState waits until the system says that a link is up or down: coming up takes it a
// moment, of which no event tells.
func (n *network) wantState(i int, want string) {
	n.t.Helper()
	n.until(fmt.Sprintf("link %s is %s", n.link(i), want), func() bool {
		text, err := os.ReadFile(filepath.Join("/sys/class/net", n.link(i), "operstate"))
		if err != nil {
			n.t.Fatal(err)
		}
		return strings.TrimSpace(string(text)) == want
	})
}

// until looks again and again until something is so.
func (n *network) until(what string, is func() bool) {
	n.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(patience)
	for !is() {
		select {
		case <-look.C:
		case <-late:
			n.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// cut lets nothing leave a member for another, and looks that it is so.
func (n *network) cut(from, to int) {
	n.t.Helper()
	if !n.reaches(from, to) {
		n.t.Fatalf("member %d could not reach member %d before it was cut off", from, to)
	}
	n.block(from, to)
}

// block is cut where a connection may fail already, because the way back is cut.
func (n *network) block(from, to int) {
	n.t.Helper()
	n.must("-n", n.space(from), "route", "add", "blackhole", n.hosts[to].String())
	if n.reaches(from, to) {
		n.t.Fatalf("member %d reaches member %d though it was cut off", from, to)
	}
}

// mend undoes cut.
func (n *network) mend(from, to int) {
	n.t.Helper()
	n.unblock(from, to)
	n.until(fmt.Sprintf("member %d reaches member %d again", from, to), func() bool { return n.reaches(from, to) })
}

func (n *network) unblock(from, to int) {
	n.t.Helper()
	n.must("-n", n.space(from), "route", "del", "blackhole", n.hosts[to].String())
}

// reaches reports whether a connection from one member's namespace to another member's
// port can be made. A namespace is a thread's: this one ends with its goroutine.
func (n *network) reaches(from, to int) bool {
	n.t.Helper()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- connect(filepath.Join("/run/netns", n.space(from)), netip.AddrPortFrom(n.hosts[to], 4040))
	}()
	err := <-result
	if unexpected := (*os.PathError)(nil); errors.As(err, &unexpected) {
		n.t.Fatal(err)
	}
	return err == nil
}

// connect connects from a namespace. Where the namespace cannot be entered, the error is
// an *os.PathError.
func connect(space string, to netip.AddrPort) error {
	file, err := os.Open(space)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return &os.PathError{Op: "enter", Path: space, Err: err}
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	limit := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	return unix.Connect(socket, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
}

// TestCoordinatorUnplugged: no member and no client reaches the coordinator any more.
func TestCoordinatorUnplugged(t *testing.T) {
	b, n := layNetwork(t, 6)
	victim := b.coordinator()
	keeper, kept := b.keep(victim)
	n.unplug(b.index(victim))
	mark, _ := b.fault("%s, the coordinator, was unplugged", victim.Name)
	b.awaitReign(mark, kept.Token)
	b.awaitPassed(mark, kept)
	b.lostAndRefused(keeper, kept)
	n.wantState(b.index(victim), "down") // all the while
	n.plug(b.index(victim))
	b.logf("%s was plugged in again", victim.Name)
	b.healed()
	b.judge()
}

// TestCoordinatorCutOff: the coordinator and the other members do not reach each other;
// all clients reach every member. So its clients hear from it all the while, and must not
// believe it for too long.
func TestCoordinatorCutOff(t *testing.T) {
	b, n := layNetwork(t, 6)
	victim := b.coordinator()
	keeper, kept := b.keep(victim)
	var others []int
	for _, m := range b.cluster.Others(victim) {
		others = append(others, b.index(m))
	}
	for _, other := range others {
		n.cut(b.index(victim), other)
		n.block(other, b.index(victim))
	}
	mark, _ := b.fault("%s, the coordinator, was cut off from the other members", victim.Name)
	b.awaitReign(mark, kept.Token)
	b.awaitPassed(mark, kept)
	b.lostAndRefused(keeper, kept)
	for _, other := range others {
		n.unblock(b.index(victim), other)
		n.mend(other, b.index(victim))
	}
	b.logf("the cuts were mended")
	b.healed()
	b.judge()
}

// TestOneWayCuts: nothing leaves one member for another, while what that one sends
// arrives. Whichever member coordinates then, one of them does, and grants go on.
func TestOneWayCuts(t *testing.T) {
	b, n := layNetwork(t, 6)
	for _, cut := range []struct {
		name string
		ends func(coordinator int) (from, to int)
	}{
		{"from the coordinator to another", func(c int) (int, int) { return c, (c + 1) % 3 }},
		{"from another to the coordinator", func(c int) (int, int) { return (c + 1) % 3, c }},
		{"between two others", func(c int) (int, int) { return (c + 1) % 3, (c + 2) % 3 }},
	} {
		from, to := cut.ends(b.index(b.coordinator()))
		n.cut(from, to)
		mark, at := b.fault("nothing passes %s any more", cut.name)
		late := at + 3*b.cluster.Lease()
		e := b.await("a grant three leases later", mark, func(e clustertest.Event) bool {
			return e.Kind == clustertest.Entered && e.At > late
		})
		b.logf("worker %d was granted %s through %s by the authority of reign %d", e.Worker, e.Name, e.Member, reign(e.Token))
		n.mend(from, to)
		b.logf("the cut was mended")
		b.healed()
	}
	b.judge()
}

// TestPeersApart: two peers do not reach each other, and the coordinator reaches both. Neither
// gets the other's permission, so one of the two loses its place, and the clients of all three go
// on through the others. It learns why, and is back when they reach each other again.
func TestPeersApart(t *testing.T) {
	b, n := layNetwork(t, 6, spaceOf("permission"))
	c := b.index(b.coordinator())
	one, other := (c+1)%3, (c+2)%3
	n.cut(one, other)
	n.block(other, one)
	mark, at := b.fault("%s and %s, of which neither coordinates, were parted", b.cluster.Members[one].Name, b.cluster.Members[other].Name)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	status, err := b.cluster.AwaitStatus(b.ctx, b.cluster.Members[c], "a view of two", func(s *schema.Status) bool { return len(s.View.Members) == 2 })
	b.check(err)
	out := one
	if slices.ContainsFunc(status.View.Members, func(m *schema.Member) bool { return m.Name == b.cluster.Members[one].Name }) {
		out = other
	}
	_, err = b.cluster.AwaitStatus(b.ctx, b.cluster.Members[out], "a member that says why it has no place", func(s *schema.Status) bool {
		return strings.Contains(s.View.Why, "do not hear each other")
	})
	b.check(err)
	b.logf("%s has lost its place, and says why", b.cluster.Members[out].Name)
	n.unblock(one, other)
	n.mend(other, one)
	b.logf("they reach each other again")
	b.healed()
	b.judge()
}
