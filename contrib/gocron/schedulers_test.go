package gocron_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-locks/holdfast"
)

// record is what the job of several schedulers has done.
type record struct {
	t      *testing.T
	mu     sync.Mutex
	runs   []string // the schedulers whose job has run, in order
	tokens []holdfast.Token
	active int
}

// began notes that a job runs, under a token if it has one, and checks that no other does.
func (r *record) began(scheduler string, token holdfast.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active++; r.active > 1 {
		r.t.Errorf("%d schedulers run the job at the same time", r.active)
	}
	r.runs = append(r.runs, scheduler)
	r.tokens = append(r.tokens, token)
}

func (r *record) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
}

// take returns the runs since the last call.
func (r *record) take() (runs []string, tokens []holdfast.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs, tokens, r.runs, r.tokens = r.runs, r.tokens, nil, nil
	return runs, tokens
}

// start starts a scheduler with the job "report", which runs every minute. It ends with the test.
func start(t *testing.T, option gocron.SchedulerOption, job func(), options ...gocron.JobOption) {
	t.Helper()
	s, err := gocron.NewScheduler(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	options = append(options, gocron.WithName("report"))
	if _, err := s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(job), options...); err != nil {
		t.Fatal(err)
	}
	s.Start()
}

// names returns the names of n clients.
func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("s%d", i))
	}
	return all
}
