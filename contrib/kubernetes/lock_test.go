package kubernetes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/holdfast-locks/holdfast"
	holdfastkube "github.com/holdfast-locks/holdfast/contrib/kubernetes"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// record returns the record of a candidate.
func record(identity string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: identity, LeaseDurationSeconds: 15}
}

// events records events.
type events []string

func (e *events) Eventf(object runtime.Object, kind, reason, message string, values ...any) {
	*e = append(*e, strings.Join([]string{object.(*corev1.Pod).Name, kind, reason, fmt.Sprintf(message, values...)}, " "))
}

// TestConfig checks that a Config that lacks something is refused, and what a candidate answers of itself.
func TestConfig(t *testing.T) {
	locks := holdfasttest.New(t)
	recorded := &events{}
	good := holdfastkube.Config{Locks: locks, Name: "scheduler", Identity: "a"}
	for name, tt := range map[string]struct {
		change func(*holdfastkube.Config)
		want   string
	}{
		"locks":    {func(c *holdfastkube.Config) { c.Locks = nil }, "Config.Locks is nil"},
		"observer": {func(c *holdfastkube.Config) { c.Locks = struct{ holdfast.Locker }{locks} }, "is no holdfast.Observer"},
		"name":     {func(c *holdfastkube.Config) { c.Name = "" }, "it is empty"},
		"identity": {func(c *holdfastkube.Config) { c.Identity = "" }, "Config.Identity is empty"},
		"object":   {func(c *holdfastkube.Config) { c.EventRecorder = recorded }, "needs Config.Object"},
	} {
		bad := good
		tt.change(&bad)
		if _, err := holdfastkube.New(bad); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	silent, err := holdfastkube.New(good)
	if err != nil {
		t.Fatal(err)
	}
	silent.RecordEvent("became leader")
	good.EventRecorder, good.Object = recorded, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-1"}}
	lock, err := holdfastkube.New(good)
	if err != nil {
		t.Fatal(err)
	}
	lock.RecordEvent("became leader")
	if len(*recorded) != 1 || (*recorded)[0] != "pod-1 Normal LeaderElection a became leader" {
		t.Errorf("the events are %q", *recorded)
	}
	if lock.Identity() != "a" || lock.Describe() != "scheduler" || lock.Granted() != nil {
		t.Errorf("%q %q %v", lock.Identity(), lock.Describe(), lock.Granted())
	}
}

// TestRecords checks the calls that a LeaderElector makes, one by one.
func TestRecords(t *testing.T) {
	locks := holdfasttest.New(t)
	of := func(identity string, options ...holdfast.Option) *holdfastkube.Lock {
		t.Helper()
		lock, err := holdfastkube.New(holdfastkube.Config{
			Locks: locks.Client(identity), Name: "scheduler", Identity: identity, Options: options,
		})
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	ctx := t.Context()
	a, b := of("a", holdfast.Reason("election")), of("b")
	if _, _, err := a.Get(ctx); !apierrors.IsNotFound(err) {
		t.Errorf("a free lock: %v", err)
	}
	if err := a.Update(ctx, record("")); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("a release without a lock: %v", err)
	}
	if err := a.Create(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a record without a LeaseDuration: %v", err)
	}
	if err := a.Create(ctx, record("a")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.Create(ctx, record("b")), b.Update(ctx, record("b"))} {
		if !errors.Is(err, holdfast.ErrHeld) || apierrors.IsConflict(err) {
			t.Errorf("a held lock: %v", err)
		}
	}
	if err := a.Update(ctx, record("b")); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a record of another candidate: %v", err)
	}
	renewed := record("a")
	renewed.LeaderTransitions = 3
	if err := a.Update(ctx, renewed); err != nil {
		t.Error(err)
	}
	if got, raw, err := b.Get(ctx); err != nil || got.LeaderTransitions != 3 || !strings.Contains(string(raw), `"holderIdentity":"a"`) {
		t.Errorf("the record is %+v %s: %v", got, raw, err)
	}
	if err := a.Update(ctx, record("")); err != nil {
		t.Error(err)
	}
	if err := b.Create(ctx, record("b")); err != nil {
		t.Error(err)
	}
	locks.Break("scheduler")
	for range 2 {
		if err := b.Update(ctx, record("b")); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("a lost lock: %v", err)
		}
	}
	foreign, err := locks.TryLock(ctx, "scheduler", holdfast.Value("http://10.0.0.7"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Get(ctx); err == nil || !strings.Contains(err.Error(), `its holder is no candidate: it has the value "http://10.0.0.7"`) {
		t.Errorf("a lock of another program: %v", err)
	}
	if err := foreign.Unlock(ctx); err != nil {
		t.Error(err)
	}
}
