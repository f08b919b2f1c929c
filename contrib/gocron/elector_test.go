package gocron_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-locks/holdfast"
	holdfastcron "github.com/holdfast-locks/holdfast/contrib/gocron"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// TestLeaderRunsJobs checks that of five schedulers only the leader runs jobs, and after its loss, and its end, another
// one does.
func TestLeaderRunsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		all := &record{t: t}
		clients := map[string]*holdfasttest.Locker{}
		electors := map[string]*holdfastcron.Elector{}
		for _, scheduler := range names(5) {
			clients[scheduler] = locks.Client(scheduler)
			elector := holdfastcron.NewElector(clients[scheduler], "scheduler")
			electors[scheduler] = elector
			t.Cleanup(func() {
				if err := elector.Close(); err != nil {
					t.Error(err)
				}
			})
			start(t, gocron.WithDistributedElector(elector), func() {
				term, err := elector.Term()
				if err != nil {
					t.Error(err)
					return
				}
				all.began(scheduler, term.Token())
				all.ended()
			})
		}
		pass(30 * time.Second)
		var led []string
		last := holdfast.Token(0)
		for range 4 {
			pass(10 * time.Minute)
			runs, tokens := all.take()
			if len(runs) != 10 || len(slices.Compact(runs)) != 1 || len(slices.Compact(tokens)) != 1 || tokens[0] <= last {
				t.Fatalf("the runs in 10 ticks: %q under tokens %v, after %v", runs, tokens, last)
			}
			leader := runs[0]
			if n := len(led); n > 0 && led[n-1] == leader {
				t.Errorf("%q leads again after its end", leader)
			}
			led, last = append(led, leader), tokens[0]
			if len(led)%2 == 1 {
				clients[leader].Expire()
				continue
			}
			if err := electors[leader].Close(); err != nil {
				t.Error(err)
			}
			if err := electors[leader].IsLeader(t.Context()); !errors.Is(err, holdfastcron.ErrNotLeader) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

// TestLossIsSeenAtOnce checks that a candidate is no leader from its loss on, without any step of the campaign.
func TestLossIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		elector := holdfastcron.NewElector(locks, "scheduler")
		synctest.Wait() // it leads
		if err := elector.IsLeader(t.Context()); err != nil {
			t.Error(err)
		}
		locks.Expire()
		if err := elector.IsLeader(t.Context()); !errors.Is(err, holdfastcron.ErrNotLeader) {
			t.Errorf("after the loss: %v", err)
		}
		if err := elector.Close(); err != nil && holdfast.Why(err) != holdfast.SessionExpired {
			t.Error(err)
		}
	})
}

// TestCampaignEnds checks that the end of a campaign is reported.
func TestCampaignEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		name    string
		options []elect.Option
		want    error
	}{
		"name":    {"", nil, holdfast.ErrName},
		"backoff": {"scheduler", []elect.Option{elect.Backoff(0, 0)}, holdfast.ErrConflict},
		"class":   {"scheduler", []elect.Option{elect.With(holdfast.Require(holdfast.Fenced))}, holdfast.ErrClass},
	} {
		synctest.Test(t, func(t *testing.T) {
			elector := holdfastcron.NewElector(holdfasttest.New(t, holdfasttest.Class(holdfast.Available)), tt.name, tt.options...)
			synctest.Wait()
			if err := elector.IsLeader(t.Context()); !errors.Is(err, holdfastcron.ErrNotLeader) || !errors.Is(err, tt.want) {
				t.Errorf("%s: IsLeader: %v", name, err)
			}
			if err := elector.Close(); !errors.Is(err, tt.want) {
				t.Errorf("%s: Close: %v", name, err)
			}
		})
	}
}
