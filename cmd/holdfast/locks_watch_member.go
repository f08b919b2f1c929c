package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// heard is an event of a feed, or its end.
type heard struct {
	event *schema.WatchEvent
	err   error
}

// mostHeard is the number of events that are kept while the present state is being listed. The member ends the feed of
// a reader that is slower than that.
const mostHeard = 10000

// watch prints the present state, and then events as they come, until it is interrupted. When the feed of a member ends,
// it begins again at the first address that serves.
func (p *program) watch(ctx context.Context, c *cli.Command) error {
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		w := p.newWatcher(c)
		for {
			if err := w.resumes(ctx, w.follow(ctx, c, admin)); err != nil {
				return err
			}
		}
	})
}

// follow prints the present state, and the events of one feed until that ends. It asks for events first, so that the
// listing has everything that the events do not have.
func (w *watcher) follow(ctx context.Context, c *cli.Command, admin *client.Admin) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun, feed := make(chan struct{}), make(chan heard, mostHeard)
	go func() {
		defer close(feed)
		for event, err := range admin.Watch(ctx, spaceOf(c), c.String("prefix"), func() { close(begun) }) {
			select {
			case feed <- heard{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	select {
	case <-begun:
	case first, open := <-feed: // the feed has not begun: it is an error
		return feedEnd(c, first, open)
	}
	w.known, w.out.now = newKnown(), time.Now()
	if err := listFrom(ctx, c, admin, w.listed); err != nil {
		return err
	}
	if err := w.show(); err != nil {
		return err
	}
	w.early = len(feed)
	for next := range feed {
		if next.err != nil {
			return feedEnd(c, next, true)
		}
		if err := w.happened(next.event); err != nil {
			return err
		}
	}
	return feedEnd(c, heard{}, false)
}

// listed prints a page of the listing, and before the first one that a feed was interrupted.
func (w *watcher) listed(page []*schema.Lock) error {
	if err := w.resumed(); err != nil {
		return err
	}
	return w.present(page)
}

// feedEnd returns the error of a feed that has ended.
func feedEnd(c *cli.Command, last heard, open bool) error {
	if open && last.err != nil {
		return reworded(c.Name, "", last.err)
	}
	return &holdfast.Error{Op: c.Name, Err: fmt.Errorf("%w: the member has ended the feed", holdfast.ErrUnavailable)}
}

// interruption is what a watcher knows of an interrupted feed, and of one that has not begun yet.
type interruption struct {
	comments io.Writer
	command  *cli.Command
	began    time.Time // of the command
	once     bool      // it has begun before
	lost     time.Time // since when events are missing; zero if none are
	said     string    // the reason that was printed
}

// watchPause is the pause before a feed is asked for again.
const watchPause = 250 * time.Millisecond

// comment prints a line about the feed.
func (i *interruption) comment(format string, arguments ...any) {
	// If standard error fails, there is no way left to report that.
	_, _ = fmt.Fprintf(i.comments, "# "+format+"\n", arguments...)
}

// resumes pauses after a feed has ended with an error and returns nil, if it is to be asked for again. It prints each
// new reason. A first feed is waited for as long as members answer that they do not serve yet; if none answers, for as
// long as other commands wait for one.
func (i *interruption) resumes(ctx context.Context, err error) error {
	var limit *holdfast.LimitError
	slow := errors.As(err, &limit) && limit.Limit == "unread_events"
	if !slow && !errors.Is(err, holdfast.ErrUnavailable) || !i.once && !i.waits(err) {
		return err
	}
	if i.once && i.lost.IsZero() {
		i.lost = time.Now()
	}
	if why := reasonFor(err); why != i.said && (i.once || answered(err)) {
		i.said = why
		i.comment("%s; asking again until interrupted", why)
	}
	pause(ctx, watchPause)
	return ctx.Err()
}

// waits reports whether to ask again for a feed that has not begun yet.
func (i *interruption) waits(err error) bool {
	timeout, bad := timeoutOf(i.command)
	if bad != nil {
		return false
	}
	return answered(err) || new(request).retries(err, false, time.Since(i.began), timeout)
}

// resumed prints, after an interruption, from when on events may be missing, and that the present state follows: as a
// comment, and as an event like that of a member whose events are missing.
func (w *watcher) resumed() error {
	lost := w.lost
	w.once, w.lost, w.said = true, time.Time{}, ""
	if lost.IsZero() {
		return nil
	}
	now := time.Now()
	w.comment("reconnected after %s: events since %s may be missing; the present state follows",
		formatAge(now.Sub(lost)), lost.Local().Format("15:04:05.000"))
	return w.print(&schema.WatchEvent{
		Event: "space", Time: timestamppb.New(now), Space: spaceOf(w.command), Since: timestamppb.New(lost), Until: timestamppb.New(now),
		Why: "the feed was interrupted: events may be missing",
	}, now, timestamppb.New(lost))
}
