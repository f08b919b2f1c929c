package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// fed is what one member's feed of its audit log has brought: its latest entries at once, a new one, or its end.
type fed struct {
	place
	latest []*schema.AuditEntry
	entry  *schema.AuditEntry
	end    error // why the feed has ended
}

// followAudit prints the latest entries of all members, and then each one as it comes.
func (p *program) followAudit(ctx context.Context, c *cli.Command, places []place, last int) error {
	limit, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	feeds, reading := make(chan fed), sync.WaitGroup{}
	defer reading.Wait()
	defer cancel()
	f := &follower{program: p, command: c, printer: p.newAuditPrinter(c), last: last, live: len(places), silent: map[string]struct{}{}}
	for _, at := range places {
		f.silent[at.name] = struct{}{}
		reading.Go(func() { readAudit(ctx, c, at, last, feeds) })
	}
	late := time.NewTimer(limit) // for members that do not answer
	defer late.Stop()
	for f.live > 0 {
		select {
		case one := <-feeds:
			err = f.take(one)
		case <-late.C:
			err = f.begin()
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return &exitError{code: f.code}
}

// readAudit passes on what one member's feed brings, until ctx ends.
func readAudit(ctx context.Context, c *cli.Command, at place, last int, to chan<- fed) {
	send := func(one fed) {
		one.place = at
		select {
		case to <- one:
		case <-ctx.Done():
		}
	}
	_, err := askAt(ctx, c, at, 0, func(ctx context.Context, admin *client.Admin) (struct{}, error) {
		var latest []*schema.AuditEntry
		left := -1 // of the latest entries
		begun := func(n int) {
			if left = n; left == 0 {
				send(fed{})
			}
		}
		for entry, err := range admin.WatchAudit(ctx, last, begun) {
			switch {
			case err != nil:
				return struct{}{}, err
			case left <= 0:
				send(fed{entry: entry})
				continue
			}
			latest = append(latest, entry)
			if left--; left == 0 {
				send(fed{latest: latest})
			}
		}
		return struct{}{}, fmt.Errorf("%w: the member has ended its feed", holdfast.ErrUnavailable)
	})
	send(fed{end: err})
}

// follower puts the feeds of several members together. The latest entries are printed when all members have sent theirs,
// or have had the time for it.
type follower struct {
	program *program
	command *cli.Command
	printer *auditPrinter
	last    int
	live    int                 // feeds that have not ended
	silent  map[string]struct{} // members whose feed has not begun
	latest  []*schema.AuditEntry
	fresh   []*schema.AuditEntry // since then
	begun   bool                 // the latest are printed
	code    int                  // the exit code
}

// take takes what a feed has brought.
func (f *follower) take(one fed) error {
	switch {
	case one.entry != nil:
		f.fresh = append(f.fresh, one.entry)
	case one.end != nil:
		f.live--
		f.ended(one)
		delete(f.silent, one.name)
	default:
		f.latest = append(f.latest, one.latest...)
		delete(f.silent, one.name)
	}
	if f.begun || len(f.silent) == 0 {
		return f.begin()
	}
	return nil
}

// ended reports the end of a feed.
func (f *follower) ended(one fed) {
	if servesNone(one.end) {
		return
	}
	sentence := fmt.Errorf("%s: member %s: %w", calledAs(f.command), one.name, one.end)
	f.program.end(sentence)
	if code := exitCode(sentence); f.code == 0 || code == exitDenied {
		f.code = code
	}
}

// begin prints what there is.
func (f *follower) begin() error {
	latest := merged(f.latest)
	if !f.begun {
		latest = latest[max(0, len(latest)-f.last):]
	}
	all := append(latest, merged(f.fresh)...)
	f.latest, f.fresh, f.begun = nil, nil, true
	return f.printer.print(all)
}
