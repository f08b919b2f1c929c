package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// crash ends members as a kill does.
func (c *cluster) crash(t *testing.T, members ...int) {
	t.Helper()
	for _, i := range members {
		n := c.nodes[i]
		c.nodes[i] = nil
		if err := host.Crash(n); err != nil {
			t.Fatalf("crash %s: %v", n.Name(), err)
		}
	}
}

// plan asks until the quorum is known to be lost, because no event reports that.
func plan(t *testing.T, n *host.Member, members ...string) *schema.ForcePlan {
	t.Helper()
	ctx := bounded(t)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		p, err := n.PlanForce(ctx, members)
		if err == nil {
			return p
		}
		if api.Code(err) != api.CodeConflict && api.Code(err) != api.CodeUnavailable {
			t.Fatal(err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("a view of %v: %v", members, err)
		}
	}
}

// refused asks until the answer is a refusal that says all of this.
func refused(t *testing.T, n *host.Member, code string, members []string, wanted ...string) {
	t.Helper()
	ctx := bounded(t)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := n.PlanForce(ctx, members)
		missing := slices.IndexFunc(wanted, func(text string) bool { return err == nil || !strings.Contains(err.Error(), text) })
		if missing < 0 && api.Code(err) == code {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("a view of %v is refused with %q (%s), want %q and %s", members, err, api.Code(err), wanted, code)
		}
	}
}

// journal keeps what a member logs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// TestForce: two of three are lost for good. The survivor grants nothing, says so, and
// goes on alone when an operator says it, after the wait; the lost ones come back, both
// at once, and join as any other.
func TestForce(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	log := &journal{}
	c := startCluster(t, 3, calm, func(config *host.Config) { config.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	first := c.coordinator(t)
	survivor := c.other(t, first)
	lost := []int{first, c.other(t, first, survivor)}
	n := c.nodes[survivor]
	before := take(t, c.nodes[first], "x")
	kept := take(t, n, "kept")
	refused(t, n, api.CodeConflict, []string{n.Name()}, "nothing need be forced", "has a part in view")
	c.crash(t, lost...)
	p := plan(t, n, n.Name())
	c.checkPlan(t, p, survivor, first)
	stuck(t, n, c.configs[first].Name+" (last heard of at ", "holdfast force-view --server unix://", " --members "+n.Name())
	if kept.Check() == nil {
		t.Error("a lock outlives the lease")
	}

	forced := force(t, n, p)
	if got := condition(t, n); got.State != protocol.Recovering {
		t.Errorf("right after it the space is %v: %s", got.State, got.Why)
	}
	l := take(t, n, "x")
	if l.Token() <= before.Token() || time.Now().Before(forced.From.AsTime().Add(-10*time.Millisecond)) {
		t.Errorf("granted token %v after %v, before %v", l.Token(), before.Token(), forced.From)
	}
	_, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", By: "ops", Confirm: p.Code})
	says(t, err, "nothing need be forced", "was forced at", "by ops: a fire")
	says(t, errors.New(log.String()), `msg="an operator forces a view"`, `msg="a view was forced"`, `reason="a fire" by=ops`)
	c.comeBack(t, l, survivor, lost)
}

// checkPlan compares a plan of the survivor's view alone with what was done.
func (c *cluster) checkPlan(t *testing.T, p *schema.ForcePlan, survivor, coordinator int) {
	t.Helper()
	self := c.configs[survivor].Name
	if !slices.Equal(p.Named, []string{self}) || len(p.Rivals) != 2 || slices.Contains(p.Rivals, self) {
		t.Errorf("the plan names %v and leaves out %v", p.Named, p.Rivals)
	}
	if lease := c.configs[survivor].Lease; p.Wait.AsDuration() < lease+lease/20 || p.View == 0 || p.Coordinator != c.configs[coordinator].Name {
		t.Errorf("the plan is %+v", p)
	}
	for _, place := range p.Places {
		is := place.Name == self
		if place.Alive != is || place.Named != is || (place.Heard == nil) != is || !place.Voter {
			t.Errorf("a place of the plan: %+v", place)
		}
	}
}

// stuck: a member without a quorum grants nothing, and says what the ways out are.
func stuck(t *testing.T, n *host.Member, wanted ...string) {
	t.Helper()
	short, cancel := context.WithTimeout(bounded(t), 100*time.Millisecond)
	defer cancel()
	if _, err := n.Lock(short, "y"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a quorum: %v", err)
	}
	self, err := n.Who(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	says(t, errors.New(self.Why), append(wanted, "the quorum is lost")...)
}

// force forces what was planned, after it was tried without a reason and with another
// code.
func force(t *testing.T, n *host.Member, p *schema.ForcePlan) *schema.ForcedView {
	t.Helper()
	if _, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", Confirm: "00000000"}); api.Code(err) != api.CodeConflict {
		t.Errorf("another code: %v", err)
	}
	if _, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Confirm: p.Code}); api.Code(err) != api.CodeBadRequest {
		t.Errorf("no reason: %v", err)
	}
	forced, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", By: "ops", Confirm: p.Code})
	if err != nil {
		t.Fatal(err)
	}
	if forced.Replaced != p.View || forced.View <= p.View || n.Forced() != forced || forced.From.AsTime().Before(forced.Time.AsTime().Add(p.Wait.AsDuration())) {
		t.Errorf("forced %+v after %+v", forced, p)
	}
	return forced
}

// comeBack starts members at once that a forced view has left out: they are members
// again, and what was granted meanwhile stays.
func (c *cluster) comeBack(t *testing.T, l *holdfast.Lock, survivor int, lost []int) {
	t.Helper()
	for _, i := range lost {
		c.start(t, i)
	}
	c.ready(t)
	if err := l.Check(); err != nil {
		t.Errorf("a lock while the others come back: %v", err)
	}
	back := c.nodes[lost[0]]
	if _, err := back.TryLock(bounded(t), l.Name()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("tried through one that came back: %v", err)
	}
	if view := back.View(); len(view.Members) != 3 || view.Coordinator != c.nodes[survivor].Identity().ID {
		t.Errorf("in the end the view is %+v", view)
	}
	give(t, l)
	next := take(t, back, l.Name())
	if next.Token() <= l.Token() {
		t.Errorf("token %v follows %v", next.Token(), l.Token())
	}
	give(t, next)
}

// TestForceOfSeveral needs all who are named.
func TestForceOfSeveral(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 5, calm)
	guest, err := host.Start(context.Background(), host.Config{
		Name: "guest", Listen: "unix://" + t.TempDir() + "/g", Join: c.configs[0].Join, Lease: c.configs[0].Lease,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := guest.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	n := c.nodes[3]
	c.crash(t, 0, 1, 2)
	p := plan(t, n, "e", "d", "e")
	refused(t, n, api.CodeConflict, []string{"d", "x"}, `member "x" is not in view`, "whose voters are", "name some of these")
	refused(t, n, api.CodeConflict, []string{"d", "a"}, `member "a" at unix://`, "last heard of at", "start it, or leave it out")
	refused(t, n, api.CodeConflict, []string{"d", "guest"}, `member "guest" is a guest`, "leave it out")
	refused(t, n, api.CodeConflict, []string{"e"}, `member "d", which is asked, is not among the named e`)
	refused(t, n, api.CodeConflict, nil, "is not among the named none")
	refused(t, guest, api.CodeConflict, []string{"d"}, `member "guest" is a guest`, "ask a voter")
	stuck(t, guest, "only d and e can be heard", "force-view --server "+c.configs[3].Listen+" --members d,e")
	if again := plan(t, n, "d", "e"); again.Code != p.Code {
		t.Errorf("the same facts have the codes %s and %s", p.Code, again.Code)
	}
	refused(t, n, api.CodeConflict, []string{"d"}, `member "e" at unix://`, "is alive and not named", "name it, or stop it")

	forced, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", By: "ops", Confirm: p.Code})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(forced.Members)), []string{"d", "e"}) {
		t.Errorf("forced %+v", forced)
	}
	l := take(t, c.nodes[4], "x")
	if got := c.nodes[4].Forced(); got == nil || got.View != forced.View || got.Reason != "a fire" || got.By != "ops" || !slices.Equal(got.Members, forced.Members) {
		t.Errorf("e tells of %+v, and %+v was forced", got, forced)
	}
	if err := guest.WaitReady(bounded(t)); err != nil {
		t.Error(err)
	}
	give(t, l)
}

// TestForceWithoutOneOfTheNamed: it dies after the plan. Nothing is forced, and a plan
// without it can be.
func TestForceWithoutOneOfTheNamed(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 4, calm)
	c.crash(t, 0, 1)
	n := c.nodes[2]
	p := plan(t, n, "c", "d")
	c.crash(t, 3)
	_, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", Confirm: p.Code})
	if code := api.Code(err); code != api.CodeUnavailable && code != api.CodeConflict || n.Forced() != nil {
		t.Errorf("forced with one that is dead: %v", err)
	}
	if view := n.View(); view.Number != p.View {
		t.Errorf("view %d became %d", p.View, view.Number)
	}
	force(t, n, plan(t, n, "c"))
	give(t, take(t, n, "x"))
}

// TestForceTooLate: a lost member is back before the plan is confirmed.
func TestForceTooLate(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, calm)
	c.crash(t, 1, 2)
	n := c.nodes[0]
	p := plan(t, n, "a")
	c.start(t, 1)
	c.ready(t)
	if _, err := n.Force(bounded(t), &schema.ForceViewRequest{Members: p.Named, Reason: "a fire", Confirm: p.Code}); api.Code(err) != api.CodeConflict {
		t.Errorf("with a quorum: %v", err)
	}
	if epoch := n.View().Epoch.Counter; epoch > p.Epoch+1000 || n.Forced() != nil {
		t.Errorf("a view was forced: epoch %d after %d", epoch, p.Epoch)
	}
}

// TestForceAfterARestart: the survivor is restarted by an operator who hopes that it
// helps. What it remembers is enough.
func TestForceAfterARestart(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, calm)
	before := take(t, c.nodes[0], "x")
	c.crash(t, 0, 1, 2)
	c.configs[2].Clock = clocktest.NewManual() // so that it stays at its start
	c.start(t, 2)
	refused(t, c.nodes[2], api.CodeUnavailable, []string{"c"}, `member "c" has just started`)
	c.crash(t, 2)
	c.configs[2].Clock = nil
	c.start(t, 2)
	n := c.nodes[2]
	p := plan(t, n, "c")
	if p.View == 0 || !slices.Equal(p.Rivals, []string{"a", "b"}) || p.Places[0].Heard != nil {
		t.Errorf("the plan is %+v", p)
	}
	stuck(t, n, "a (not heard of since this one's start at ")
	force(t, n, p)
	l := take(t, n, "x")
	if l.Token() <= before.Token() {
		t.Errorf("token %v follows %v", l.Token(), before.Token())
	}
	give(t, l)
}

// TestForceOfAMemberAlone is refused: it has no quorum to lose.
func TestForceOfAMemberAlone(t *testing.T) {
	n, err := host.Start(context.Background(), host.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.PlanForce(bounded(t), []string{"embedded"}); api.Code(err) != api.CodeUnsupported {
		t.Error(err)
	}
	if n.Forced() != nil {
		t.Error("a view was forced")
	}
}
