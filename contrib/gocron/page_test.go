package gocron_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-locks/holdfast"
	holdfastcron "github.com/holdfast-locks/holdfast/contrib/gocron"
	"github.com/holdfast-locks/holdfast/holdfasttest"
	"github.com/holdfast-locks/holdfast/internal/test/page"
)

// schedule is the example of the pages: it ends when a report was made.
func schedule(locks holdfast.Locker, reported chan struct{}) error {
	report := func() { close(reported) }
	// page
	elector := holdfastcron.NewElector(locks, "scheduler")
	defer elector.Close()
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		return err
	}
	_, err = scheduler.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(report))
	scheduler.Start()
	// end of page
	if err != nil {
		return err
	}
	<-reported
	return scheduler.Shutdown()
}

// TestPage checks that the pages show an example that works.
func TestPage(t *testing.T) {
	page.Check(t, "doc.go", "../../docs/integrations.md")
	synctest.Test(t, func(t *testing.T) { // a minute takes no time
		if err := schedule(holdfasttest.New(t), make(chan struct{})); err != nil {
			t.Error(err)
		}
	})
}
