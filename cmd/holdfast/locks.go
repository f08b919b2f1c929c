package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// locksCommand lists holders and waiters, or follows changes.
func (p *program) locksCommand() *cli.Command {
	return &cli.Command{
		Name:      "locks",
		Usage:     "list locks with their holders and waiters",
		UsageText: name + " locks [--prefix P] [--output FORMAT] [--stale | --watch] [flags]",
		Description: "With --watch it prints what is held and waited for at present, marked held, grace or waiting, and then each\n" +
			"event of any member, until it is interrupted. It asks for the events first, then for the present state, and\n" +
			"leaves out the events that are part of that: nothing is missing between the two. AGE is how long the lock has\n" +
			"been held, or waited for, until the event. In JSON, time is since when.\n" +
			"\n" +
			"When the member that is asked ends, it goes on at the next address of --server, or at the same one once that\n" +
			"serves again: it prints # reconnected on standard error, an event space from when to when events may be\n" +
			"missing, and the present state.\n" +
			"\n" +
			"A store has no events: with --store, --watch scans the store once a second and prints what has changed. It\n" +
			"shows nothing that begins and ends between two scans; released stands for any end of a lock, and cancelled\n" +
			"for any end of a wait that no scan shows as a lock.",
		Flags: clientFlags(append(append(listFlags(), lockStoreFlags()...),
			textFlag("prefix", "only names that begin with `P`"),
			staleFlag(),
			switchFlag("watch", "print the present state, then events of all members as they happen, or the changes in a store, until interrupted"),
		)...),
		Action: p.locks,
	}
}

func (p *program) locks(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	switch {
	case c.Bool("watch") && c.Bool("stale"):
		return usageError(c.Name, "flags --watch and --stale exclude each other")
	case c.Bool("watch") && p.output(c).format == formatNames:
		return usageError(c.Name, "flags --watch and --output name exclude each other")
	case c.Bool("watch") && p.usesStore(c):
		return p.watchStore(ctx, c)
	case c.Bool("watch"):
		return p.watch(ctx, c)
	}
	o := p.output(c)
	if o.format != formatTable {
		return p.list(ctx, c, func(page []*schema.Lock) error { return printDocuments(o, page) })
	}
	t := newTable("NAME", "STATE", "MODE", "TOKEN", "HOLDER", "MEMBER", o.since(), "WAITERS", "REASON", "VALUE").
		long("NAME", "HOLDER", "MEMBER", "REASON", "VALUE").wide("TOKEN", "VALUE").states("STATE")
	return p.list(ctx, c, func(page []*schema.Lock) error {
		for i := range page {
			lockRows(o, t, page[i])
		}
		err := o.print(t)
		t = t.continued()
		return err
	})
}

// staleFlag allows a stale answer.
func staleFlag() cli.Flag {
	return switchFlag("stale", "accept a stale answer from the member that is asked, even while there is no leader (protocol consensus)")
}

// reads returns an Admin that accepts stale answers, if the flags allow them.
func reads(c *cli.Command, admin *client.Admin) *client.Admin {
	if c.Bool("stale") {
		return admin.Stale()
	}
	return admin
}

// list shows a listing page by page, and requests the next page while one is shown. Each page may take --timeout.
func (p *program) list(ctx context.Context, c *cli.Command, printPage func(page []*schema.Lock) error) error {
	return p.withOperator(ctx, c, func(ctx context.Context, o operator) error { return listFrom(ctx, c, o, printPage) })
}

// listFrom is list with an operator of the caller.
func listFrom(ctx context.Context, c *cli.Command, o operator, printPage func(page []*schema.Lock) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan *schema.LockPage)
	var failure error
	go func() {
		defer close(pages)
		failure = eachPage(ctx, c, o, pages)
	}()
	var err error
	for page := range pages {
		if err == nil {
			if err = printPage(page.Locks); err != nil {
				cancel()
			}
		}
	}
	return cmp.Or(err, failure)
}

// eachPage requests the pages of a listing, one after the other.
func eachPage(ctx context.Context, c *cli.Command, o operator, pages chan<- *schema.LockPage) error {
	for after := ""; ; {
		var page *schema.LockPage
		err := within(ctx, c, func(ctx context.Context) (err error) {
			page, err = o.List(ctx, spaceOf(c), c.String("prefix"), after, 0)
			return err
		})
		if err != nil {
			return err
		}
		select {
		case pages <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// lockRows adds a line for each holder of a name, or one if it only has waiters.
func lockRows(o *output, t *table, lock *schema.Lock) {
	waiters := strconv.Itoa(len(lock.Waiters))
	for _, g := range lock.Holders {
		t.row(formatName(lock.Name), grantState(g), formatMode(g.Mode, g.Units, lock.Capacity), formatToken(g.Token), cmp.Or(g.Owner, g.Client),
			g.Member, o.age(g.Since), waiters, g.Reason, formatValue(g.Value))
	}
	if len(lock.Holders) == 0 {
		t.row(formatName(lock.Name), stateOf(lock), formatMode(lock.Mode, lock.Units, lock.Capacity), "", "", "", "", waiters, "", "")
	}
}
