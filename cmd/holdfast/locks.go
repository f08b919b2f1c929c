package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/wire"
)

// locksCommand lists who holds what and who waits, or follows it.
func (p *program) locksCommand() *cli.Command {
	return &cli.Command{
		Name:      "locks",
		Usage:     "list who holds what, and who waits",
		UsageText: name + " locks [--prefix P] [--json] [--stale | --watch] [flags]",
		Flags: clientFlags(
			textFlag("prefix", "only names that begin with `P`"),
			switchFlag("json", "print one JSON document a line"),
			staleFlag(),
			switchFlag("watch", "print what happens, through whichever member, from now on, until interrupted"),
		),
		Action: p.locks,
	}
}

func (p *program) locks(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	switch {
	case c.Bool("watch") && c.Bool("stale"):
		return usageError(c.Name, "flags --watch and --stale: what happens from now on is not old; give one of them")
	case c.Bool("watch"):
		return p.watch(ctx, c)
	}
	all, err := list(ctx, c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printLines(p, all)
	}
	t := newTable("NAME", "MODE", "TOKEN", "HOLDER", "MEMBER", "SINCE", "WAITERS", "REASON")
	for i := range all {
		lockRows(t, &all[i])
	}
	return p.print(t)
}

// staleFlag allows an answer that may be old.
func staleFlag() cli.Flag {
	return switchFlag("stale", "answer with what the member has that is asked, which may be old, even while nobody leads (protocol consensus)")
}

// reads is who is asked for what may be old, where that is allowed.
func reads(c *cli.Command, admin *client.Admin) *client.Admin {
	if c.Bool("stale") {
		return admin.Stale()
	}
	return admin
}

// list returns all pages of a listing. Each page may take --timeout.
func list(ctx context.Context, c *cli.Command) (all []wire.Lock, err error) {
	err = askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		for after := ""; ; {
			var page *wire.Locks
			err := within(ctx, c, func(ctx context.Context) (err error) {
				page, err = reads(c, admin).List(ctx, spaceOf(c), c.String("prefix"), after, 0)
				return err
			})
			if err != nil {
				return err
			}
			all = append(all, page.Locks...)
			if page.Next == "" {
				return nil
			}
			after = page.Next
		}
	})
	return all, err
}

// lockRows adds a line for each holder of a name, or one if it only has waiters.
func lockRows(t *table, lock *wire.Lock) {
	waiters := strconv.Itoa(len(lock.Waiters))
	for _, g := range lock.Holders {
		t.row(shownName(lock.Name), shownMode(g.Mode, g.Units, lock.Capacity), shownToken(g.Token), shownOwner(g.Owner, g.Client),
			g.Member, shownTime(g.Since), waiters, g.Reason)
	}
	if len(lock.Holders) == 0 {
		t.row(shownName(lock.Name), shownMode(lock.Mode, lock.Units, lock.Capacity), "", "", "", "", waiters, "")
	}
}

// shownOwner is who holds or waits: the owner that it named, or else the client.
func shownOwner(owner, client string) string {
	if owner != "" {
		return owner
	}
	return client
}

// watch prints events as they come, the header with the first.
func (p *program) watch(ctx context.Context, c *cli.Command) error {
	header := !c.Bool("json")
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		for event, err := range admin.Watch(ctx, spaceOf(c), c.String("prefix")) {
			if err != nil {
				return reworded(c.Name, "", err)
			}
			if header {
				header = false
				if err := written(fmt.Fprintln(p.stdout, p.heading("TIME          EVENT      TOKEN                 NAME  OWNER  MEMBER  WHY"))); err != nil {
					return err
				}
			}
			if err := p.printEvent(c.Bool("json"), event); err != nil {
				return err
			}
		}
		return &holdfast.Error{Op: c.Name, Err: fmt.Errorf("%w: the member at %s has ended the feed", holdfast.ErrUnavailable, serverOf(c))}
	})
}

// printEvent writes one line. Its first columns have a fixed width, because the lines
// to come are not known.
func (p *program) printEvent(asJSON bool, event wire.Event) error {
	if asJSON {
		return printJSON(p.stdout, event)
	}
	return written(fmt.Fprintf(p.stdout, "%s  %-9s  %-20s  %s  %s  %s  %s\n",
		event.Time.Local().Format("15:04:05.000"), printable(event.Event), printable(shownToken(event.Token)),
		printable(shownName(event.Name)), printable(event.Owner), printable(event.Member), printable(event.Why)))
}
