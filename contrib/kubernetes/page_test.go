package kubernetes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/holdfast-locks/holdfast"
	holdfastkube "github.com/holdfast-locks/holdfast/contrib/kubernetes"
	"github.com/holdfast-locks/holdfast/holdfasttest"
	"github.com/holdfast-locks/holdfast/internal/test/page"
)

// lead is the example of the pages.
func lead(ctx context.Context, locks holdfast.Locker, pod string, work func(context.Context, holdfast.Token), stopped func()) error {
	// page
	lock, err := holdfastkube.New(holdfastkube.Config{Locks: locks, Name: "scheduler", Identity: pod})
	if err != nil {
		return err
	}
	lead := func(context.Context) { work(lock.Granted().Context(), lock.Granted().Token()) }
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: stopped},
	})
	// end of page
	return nil
}

// TestPage checks that the pages show an example that works.
func TestPage(t *testing.T) {
	page.Check(t, "doc.go", "../../docs/integrations.md")
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		worked := make(chan holdfast.Token, 1)
		work := func(ctx context.Context, token holdfast.Token) {
			cancel()
			<-ctx.Done() // the lock is released
			worked <- token
		}
		stopped := make(chan struct{})
		if err := lead(ctx, locks, "pod-1", work, func() { close(stopped) }); err != nil {
			t.Error(err)
		}
		<-stopped
		if token := <-worked; token == 0 {
			t.Error("the leader has no token")
		}
	})
}
