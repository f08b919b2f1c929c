package central_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// seeds is the number of random runs of an ordinary test.
const seeds = 300

// TestRandomRuns checks that regardless of the network's faults and of changes of the coordinator, holders exclude each
// other, tokens rise, and no client gets two answers; and that after the faults no client waits forever and nothing is
// left anywhere.
func TestRandomRuns(t *testing.T) {
	seeds, grants := uint64(seeds), 0
	if testing.Short() {
		seeds /= 10
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		failed, given := play(seed, func(string, ...any) {})
		grants += given
		if failed == "" {
			continue
		}
		var trace strings.Builder
		play(seed, func(format string, args ...any) { writeLine(&trace, format, args...) })
		lines := strings.Split(trace.String(), "\n")
		t.Fatalf("seed %d: %s\n%s", seed, failed, strings.Join(lines[max(0, len(lines)-4000):], "\n"))
	}
	if grants < 50*int(seeds) {
		t.Errorf("only %d grants in %d runs: the runs try nothing", grants, seeds)
	}
}

// play runs a seed: 40 s of faults, then a calm in which everything must come to rest.
func play(seed uint64, trace func(string, ...any)) (failed string, grants int) {
	w := newWorld(seed, 3+int(seed%3), trace)
	w.oracle.begin()
	w.run(40 * time.Second)
	w.oracle.calm = true
	w.run(60 * time.Second)
	w.lossy, w.checks.draining = false, true
	w.run(140 * time.Second)
	w.checks.settled()
	return w.checks.failed, w.checks.grants
}

// settled checks that no client waits and nothing is left (P4, J4).
func (c *checks) settled() {
	for _, member := range c.w.members {
		if member.down {
			c.fail("%v is still down", member)
			continue
		}
		for _, cl := range member.clients {
			//tidy:unordered any of them will do
			for id, one := range cl.requests {
				if !one.decided {
					c.fail("P4: %v #%d still waits for %q", cl.session, id, one.request.Name)
				}
			}
		}
	}
	coordinator := c.w.oracle.order[0]
	coordinator.machine.Step(coordinator.clock(c.w.now), protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 9, Op: 1}, Fact: &protocol.Inspect{}}, &coordinator.out)
	condition := coordinator.out.Replies[len(coordinator.out.Replies)-1].Result.(*protocol.Condition)
	if condition.State != protocol.Ready || condition.Locks != 0 || condition.Waiters != 0 {
		c.fail("P4: at the end: %+v", *condition)
	}
}

func writeLine(b *strings.Builder, format string, args ...any) {
	fmt.Fprintf(b, format+"\n", args...)
}
