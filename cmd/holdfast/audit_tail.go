package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// auditCommand shows the audit log.
func (p *program) auditCommand() *cli.Command {
	return group("audit", "show what operators have done, and which calls were denied", name+" audit tail [-n COUNT] [--follow] [flags]", p.auditTailCommand())
}

// auditLast is how many entries audit tail prints without -n.
const auditLast = 20

func (p *program) auditTailCommand() *cli.Command {
	return &cli.Command{
		Name:      "tail",
		Usage:     "print the latest entries of the audit log, and with --follow the next ones",
		UsageText: name + " audit tail [-n COUNT] [--follow] [--member MEMBER] [--output FORMAT] [flags]",
		Description: "Prints the entries of all members in the order of their times, one in each line: who has called (as a\n" +
			"certificate, a token or the system proves it), the verb, what the call was about, and the result: ok, or the code\n" +
			"of the problem. A member keeps its latest 1,000 entries for this since its start; its log has all of them (serve\n" +
			"--audit FILE). With --follow the command ends when no member is left.\n" +
			"Prints what the other members answer, and exits with 69, if a member does not answer.",
		Flags: append(append(tableFlags(),
			countFlag("last", auditLast, "`COUNT` of the latest entries", "n"),
			switchFlag("follow", "print entries as they are written, until interrupted", "f"),
			oneMemberFlag(),
		), memberFlags()...),
		Action: p.tailAudit,
	}
}

func (p *program) tailAudit(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
	}
	last := c.Int("last")
	if last < 0 {
		return usageError(calledAs(c), "flag --last: %d: want 0 or more", last)
	}
	places, err := membersOf(ctx, c)
	if err != nil {
		return err
	}
	if c.Bool("follow") {
		return p.followAudit(ctx, c, places, last)
	}
	answers, err := everywhere(ctx, c, places, func(ctx context.Context, admin *client.Admin) ([]*schema.AuditEntry, error) {
		return latestAudit(ctx, admin, last)
	})
	if err != nil {
		return err
	}
	var all []*schema.AuditEntry
	for _, a := range answers {
		all = append(all, a.answer...)
	}
	all = merged(all)
	if err := p.newAuditPrinter(c).print(all[max(0, len(all)-last):]); err != nil {
		return err
	}
	return refusals(p, c, answers)
}

// merged puts entries of several members in the order of their times. Those of one member stay in its order.
func merged(all []*schema.AuditEntry) []*schema.AuditEntry {
	slices.SortStableFunc(all, func(a, b *schema.AuditEntry) int { return a.Time.AsTime().Compare(b.Time.AsTime()) })
	return all
}

// latestAudit returns the latest entries of one member.
func latestAudit(ctx context.Context, admin *client.Admin, last int) (entries []*schema.AuditEntry, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wanted := -1
	for entry, err := range admin.WatchAudit(ctx, last, func(latest int) {
		if wanted = latest; wanted == 0 {
			cancel() // nothing more is wanted
		}
	}) {
		if err != nil {
			if wanted == 0 && errors.Is(err, context.Canceled) {
				err = nil
			}
			return entries, err
		}
		if entries = append(entries, entry); len(entries) == wanted {
			break
		}
	}
	return entries, nil
}

// auditPrinter prints entries, as one table that goes on or as documents.
type auditPrinter struct {
	out   *output
	table *table
}

func (p *program) newAuditPrinter(c *cli.Command) *auditPrinter {
	t := newTable("TIME", "MEMBER", "SUBJECT", "VERB", "TARGET", "RESULT", "REASON", "ADDRESS", "DETAIL").
		long("MEMBER", "SUBJECT", "TARGET", "REASON", "DETAIL").wide("ADDRESS", "DETAIL").states("RESULT")
	for i := range t.columns {
		t.columns[i].width = max(t.columns[i].width, usualAudit[t.columns[i].title])
	}
	return &auditPrinter{p.output(c), t}
}

// usualAudit are the least widths of the columns, so that few later cells move the ones behind them.
var usualAudit = map[string]int{"TIME": 8, "SUBJECT": 16, "VERB": 7, "TARGET": 16, "RESULT": 6}

// print prints entries.
func (a *auditPrinter) print(entries []*schema.AuditEntry) error {
	if a.out.format != formatTable {
		return printDocuments(a.out, entries)
	}
	for _, e := range entries {
		a.table.row(formatTime(e.Time), e.Member, e.Subject, cmp.Or(e.Verb, e.Event), auditTarget(e), e.Result, e.Reason, e.Address, e.Detail)
	}
	err := a.out.print(a.table)
	a.table = a.table.continued()
	return err
}

// auditTarget names what an entry is about: the call, its space and its name.
func auditTarget(e *schema.AuditEntry) string {
	target := e.Call
	if e.Space != "" {
		target += " " + e.Space
	}
	switch {
	case e.Name != "" && e.Space != "":
		target += "/" + formatName(e.Name)
	case e.Name != "":
		target += " " + formatName(e.Name)
	}
	return strings.TrimSpace(target)
}
