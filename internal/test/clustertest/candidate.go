package clustertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Candidate is the main function of a candidate's process: it campaigns for the register until its input ends. A leader
// writes to the register when its term begins and when it ends, the second time without a look at its context, as a
// process does that was paused at the wrong moment. The input line "resign" makes a leader resign.
type Candidate struct {
	Server   string // addresses of members; it tries the first one first
	Register string // path of the guarded file
	TTL      time.Duration
	Orders   io.Reader
	Events   io.Writer
}

// leaderLook is how often a leader looks at its context: the accuracy of the end of a term in the history.
const leaderLook = 2 * time.Millisecond

// Run campaigns. It returns the error that stopped it before its input ended.
func (c Candidate) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resign := make(chan struct{}, 1)
	go func() {
		defer cancel()
		for lines := bufio.NewScanner(c.Orders); lines.Scan(); {
			if lines.Text() == "resign" {
				resign <- struct{}{}
			}
		}
	}()
	dialing, done := context.WithTimeout(ctx, dialLimit)
	defer done()
	value := fmt.Sprint("pid ", os.Getpid())
	locks, err := client.Dial(dialing, c.Server, client.Name("candidate"), client.TTL(c.TTL))
	at := &worker{Worker: Worker{}, clock: clock.Real(), register: Register{c.Register}, events: json.NewEncoder(c.Events), locks: locks}
	if err == nil {
		at.report(Event{Kind: Ready})
	}
	for err == nil && ctx.Err() == nil {
		err = elect.Run(ctx, locks, RegisterName, func(ctx context.Context, term elect.Term) error {
			return at.lead(ctx, term, value, resign)
		}, elect.Value(value), elect.Backoff(10*time.Millisecond, 100*time.Millisecond))
	}
	if locks != nil {
		err = errors.Join(err, locks.Close())
	}
	if ctx.Err() != nil {
		return nil // its input has ended: that is the order to stop
	}
	return err
}

// lead leads until the term ends or an order says to resign.
func (w *worker) lead(ctx context.Context, term elect.Term, value string, resign <-chan struct{}) error {
	report := func(e Event) {
		e.Name, e.Token = RegisterName, term.Token()
		w.report(e)
	}
	write := func() {
		switch err := w.register.Write(term.Token()); {
		case err == nil:
			report(Event{Kind: Wrote})
		case errors.Is(err, ErrStale):
			report(Event{Kind: Refused, Why: err.Error()})
		default:
			report(Event{Kind: Failed, Why: err.Error()})
		}
	}
	used := time.Duration(0)
	alive := func() bool {
		now := w.clock.Now() // before the look: what is found alive was alive then
		if ctx.Err() != nil {
			return false
		}
		used = now
		return true
	}
	if !alive() {
		return ctx.Err()
	}
	report(Event{At: used, Kind: Entered, Why: value})
	write()
	looks := time.NewTicker(leaderLook)
	defer looks.Stop()
	for alive() {
		select {
		case <-looks.C:
		case <-ctx.Done():
		case <-resign:
			write()
			report(Event{At: used, Kind: Left})
			return nil
		}
	}
	write()
	report(Event{At: used, Kind: Lost, Why: context.Cause(ctx).Error()})
	return ctx.Err()
}
