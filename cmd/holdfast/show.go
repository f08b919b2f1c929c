package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// showCommand shows everything about one name.
func (p *program) showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show one lock in full: holders, queue, token, latest grants",
		UsageText: name + " show NAME [--output FORMAT] [--stale] [flags]",
		Description: "Exits with 3 if the lock is free. State grace: the hold limit has passed, and the name stays taken until the\n" +
			"time shown, so that its last holder can stop (protocol bakery).",
		Flags:  clientFlags(append(append(listFlags(), lockStoreFlags()...), staleFlag())...),
		Action: p.show,
	}
}

func (p *program) show(ctx context.Context, c *cli.Command) error {
	wanted, err := oneName(c)
	if err != nil {
		return err
	}
	lock, err := askOperator(ctx, p, c, func(ctx context.Context, o operator) (*schema.Lock, error) {
		return o.Show(ctx, spaceOf(c), wanted)
	})
	if err != nil {
		return err
	}
	if err = p.answer(c, lock, func(o *output) []*table { return lockTables(o, lock) }); err == nil && len(lock.Holders) == 0 {
		return &exitError{code: exitFree}
	}
	return err
}

// lockTables shows a lock itself, and its holders, waiters and history, if any.
func lockTables(o *output, lock *schema.Lock) []*table {
	t := newTable("NAME", "SPACE", "STATE", "MODE", "TOKEN", "HOLDERS", "WAITERS").long("NAME").states("STATE")
	mode := ""
	if len(lock.Holders)+len(lock.Waiters) > 0 {
		mode = formatMode(lock.Mode, lock.Units, lock.Capacity)
	}
	t.row(formatName(lock.Name), lock.Space, stateOf(lock), mode, formatToken(lock.Token), strconv.Itoa(len(lock.Holders)), strconv.Itoa(len(lock.Waiters)))
	tables := []*table{t}
	if len(lock.Holders) > 0 {
		tables = append(tables, grantTable(o, "HOLDER", "UNTIL", lock.Holders, lock.Capacity))
	}
	if len(lock.Waiters) > 0 {
		tables = append(tables, waitTable(o, lock))
	}
	if len(lock.History) > 0 {
		tables = append(tables, grantTable(o, "FORMER HOLDER", "ENDED", lock.History, 0))
	}
	return tables
}

// stateOf returns whether a name is held, in its last holder's grace, or free.
func stateOf(lock *schema.Lock) string {
	switch {
	case len(lock.Holders) == 0:
		return "free"
	case slices.ContainsFunc(lock.Holders, func(g *schema.Grant) bool { return !g.Grace }):
		return "held"
	}
	return "grace"
}

// grantState returns whether a holder holds, or is in its grace.
func grantState(g *schema.Grant) string {
	if g.Grace {
		return "grace"
	}
	return "held"
}

// grantTable lists grants. The capacity is that of live ones; 0 if unknown.
func grantTable(o *output, who, end string, grants []*schema.Grant, capacity int32) *table {
	heads := []string{who, "MODE", "TOKEN", "MEMBER", "SESSION", "CLIENT", o.since(), end, "REASON"}
	valued := slices.ContainsFunc(grants, func(g *schema.Grant) bool { return g.Value != "" })
	if valued {
		heads = append(heads, "VALUE")
	}
	t := newTable(heads...).long(who, "MEMBER", "REASON", "VALUE").wide("SESSION", "CLIENT")
	for _, g := range grants {
		mode := holdfast.Mode(g.Mode).String()
		switch {
		case g.Units > 0 && capacity > 0:
			mode = formatMode(g.Mode, g.Units, capacity)
		case g.Units > 0:
			mode += " " + strconv.Itoa(int(g.Units))
		}
		cells := []string{cmp.Or(g.Owner, g.Client), mode, formatToken(g.Token), g.Member, g.Session, g.Client, o.age(g.Since), o.when(g.Until), g.Reason}
		if valued {
			cells = append(cells, formatValue(g.Value))
		}
		t.row(cells...)
	}
	return t
}

// waitTable lists the queue, and the members whose permission is awaited, if members are asked.
func waitTable(o *output, lock *schema.Lock) *table {
	heads := []string{"WAITER", "BEFORE IT", "MODE", "MEMBER", "SESSION", "CLIENT", o.since(), "UNTIL", "REASON"}
	waitsFor := slices.ContainsFunc(lock.Waiters, func(w *schema.Wait) bool { return len(w.For) > 0 })
	if waitsFor {
		heads = append(heads, "WAITS FOR")
	}
	valued := slices.ContainsFunc(lock.Waiters, func(w *schema.Wait) bool { return w.Value != "" })
	if valued {
		heads = append(heads, "VALUE")
	}
	t := newTable(heads...).long("WAITER", "MEMBER", "REASON", "WAITS FOR", "VALUE").wide("SESSION", "CLIENT")
	for _, w := range lock.Waiters {
		cells := []string{
			cmp.Or(w.Owner, w.Client), strconv.Itoa(int(w.Position)), formatMode(w.Mode, w.Units, lock.Capacity), w.Member, w.Session,
			w.Client, o.age(w.Since), o.when(w.Until), w.Reason,
		}
		if waitsFor {
			cells = append(cells, strings.Join(w.For, ","))
		}
		if valued {
			cells = append(cells, formatValue(w.Value))
		}
		t.row(cells...)
	}
	return t
}
