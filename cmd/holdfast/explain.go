package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/waits"
)

// explainCommand is `holdfast explain [NAME]`.
func (p *program) explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "show which parties wait for which others, and deadlocks",
		UsageText: name + " explain [NAME] [--output FORMAT] [flags]",
		Description: "Prints who waits at NAME, which parties they wait for, what these wait for themselves, and so on; without NAME,\n" +
			"all waits in all spaces that you may read. If some of them wait for one another in a circle, that is a\n" +
			"deadlock: none of them goes on until one gives up, or loses its lock (`" + name + " break`). It is printed, and the\n" +
			"exit code is 80. A deadlock is reported only if two listings, one after the other, show the same waits.\n" +
			"\n" +
			"A session counts as one that waits, or each of its owners where its requests name owners. A client that locks in\n" +
			"several goroutines or threads should give owners, so that one of them is not taken for another.",
		Flags:           clientFlags(tableFlags()...),
		HideHelpCommand: true,
		Action:          p.explain,
	}
}

// explained is the answer of explain.
type explained struct {
	Waits     []waits.Wait   `json:"waits"`
	Deadlocks [][]waits.Wait `json:"deadlocks"`
}

func (p *program) explain(ctx context.Context, c *cli.Command) error {
	wanted := c.Args().First()
	if c.Args().Len() > 1 {
		return usageError(c.Name, "argument %q: give one name, or none for all", c.Args().Get(1))
	}
	if c.Args().Len() == 1 {
		if err := holdfast.CheckName(wanted); err != nil {
			return &holdfast.Error{Op: c.Name, Name: wanted, Err: err}
		}
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		all, err := waitsOf(ctx, c, admin)
		if err != nil {
			return err
		}
		found := explained{Waits: all}
		if wanted != "" {
			found.Waits = waits.From(all, spaceOf(c), wanted)
		}
		if found.Deadlocks = waits.Deadlocks(found.Waits); len(found.Deadlocks) > 0 {
			later, err := waitsOf(ctx, c, admin)
			if err != nil {
				return err
			}
			found.Deadlocks = waits.Deadlocks(waits.Standing(found.Waits, later))
		}
		if err := p.answer(c, &found, func(*output) []*table { return []*table{waitsTable(found.Waits)} }); err != nil {
			return err
		}
		if len(found.Deadlocks) == 0 {
			return nil
		}
		var texts []string
		for _, cycle := range found.Deadlocks {
			texts = append(texts, "deadlock: "+cycleText(cycle))
		}
		return &exitError{exitDeadlock, fmt.Errorf("%s: %s", c.Name, strings.Join(texts, "\n"+name+": "+c.Name+": "))}
	})
}

// waitsOf lists the locks of all spaces, and returns the waits that they show.
func waitsOf(ctx context.Context, c *cli.Command, admin *client.Admin) ([]waits.Wait, error) {
	var status *schema.Status
	err := within(ctx, c, func(ctx context.Context) (err error) {
		status, err = admin.Status(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var locks []*schema.Lock
	for _, space := range status.GetSpaces() {
		for after := ""; ; {
			var page *schema.LockPage
			err := within(ctx, c, func(ctx context.Context) (err error) {
				page, err = admin.List(ctx, space.GetName(), "", after, 0)
				return err
			})
			if errors.Is(err, holdfast.ErrDenied) && space.GetName() != spaceOf(c) {
				break // it may do something there, and not read
			}
			if err != nil {
				return nil, err
			}
			locks = append(locks, slices.DeleteFunc(page.GetLocks(), func(l *schema.Lock) bool { return len(l.GetWaiters()) == 0 })...)
			if after = page.GetNext(); after == "" {
				break
			}
		}
	}
	return waits.Of(locks), nil
}

// waitsTable is a row for each wait.
func waitsTable(all []waits.Wait) *table {
	t := newTable("WAITER", "MEMBER", "WAITS AT", "SPACE", "FOR", "WHICH").long("WAITER", "WAITS AT", "FOR")
	for _, w := range all {
		which := "has token " + formatToken(w.Token)
		if w.Token == 0 {
			which = "is before it"
		}
		t.row(partyText(w.By), w.By.Member, formatName(w.Name), w.Space, partyText(w.For), which)
	}
	return t
}

func partyText(p waits.Party) string { return cmp.Or(p.Owner, p.Client, p.Session) }

// cycleText describes a deadlock in one sentence.
func cycleText(cycle []waits.Wait) string {
	var texts []string
	for _, w := range cycle {
		which := ", which has its lock"
		if w.Token == 0 {
			which = ", which is before it in the queue"
		}
		texts = append(texts, fmt.Sprintf("%s waits at %s for %s%s", visible(partyText(w.By)), strconv.Quote(w.Name), visible(partyText(w.For)), which))
	}
	return strings.Join(texts, "; ")
}
