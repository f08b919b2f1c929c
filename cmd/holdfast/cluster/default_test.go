package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// byDefault starts members with addresses and data folders, and nothing else.
func byDefault(t *testing.T, members int) *harness {
	t.Helper()
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, members), Lease: 3 * time.Second, Durable: true})
	b.check(b.cluster.Start(b.ctx))
	return b
}

// jobs starts `holdfast lock` jobs through each member in turn, and waits until all have their locks.
func (b *harness) jobs(count int) (jobs []*waitingCommand) {
	b.Helper()
	for i := range count {
		jobs = append(jobs, b.send(b.cluster.Members[i%len(b.cluster.Members)], fmt.Sprintf("job-%d", i)))
	}
	for _, job := range jobs {
		job.acquired()
	}
	b.logf("%d jobs have their locks", count)
	return jobs
}

// restart ends a member, with a kill or in good order, and starts it again.
func (b *harness) restart(m *clustertest.Member, kill bool) {
	b.Helper()
	if kill {
		b.check(m.Kill())
	} else {
		b.check(m.Terminate())
		b.check(m.AwaitEnd(b.ctx))
	}
	if m.Running() {
		b.Fatalf("member %s has not ended", m.Name)
	}
	b.logf("member %s has ended (killed: %v)", m.Name, kill)
	b.check(m.Start())
	b.check(m.AwaitReady(b.ctx))
	b.logf("member %s is ready again", m.Name)
}

// TestDefaultsKeepJobs: of three members with defaults each ends once, the leader first; no job that holds a lock through
// any of them is ended.
func TestDefaultsKeepJobs(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed=%v", kill), func(t *testing.T) {
			b := byDefault(t, 3)
			jobs := b.jobs(6)
			first := b.leader()
			for _, m := range append([]*clustertest.Member{first}, b.cluster.Others(first)...) {
				b.restart(m, kill)
			}
			for _, job := range jobs {
				job.finish()
			}
		})
	}
}

// TestDefaultsKeepJobsAlone: a member alone with defaults gets SIGTERM, then SIGKILL, and is started again each time. No job
// is ended.
func TestDefaultsKeepJobsAlone(t *testing.T) {
	b := byDefault(t, 1)
	jobs := b.jobs(4)
	for _, kill := range []bool{false, true} {
		b.restart(b.cluster.Members[0], kill)
	}
	for _, job := range jobs {
		job.finish()
	}
}
