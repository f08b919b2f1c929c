package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// printPlan prints the effects of a forced view, and its danger.
func (p *program) printPlan(c *cli.Command, plan *schema.ForcePlan) error {
	o := p.output(c)
	if o.format != formatTable {
		return o.document(plan)
	}
	t := newTable("VIEW", "MEMBER", "ROLE", "ADDRESS", "ALIVE", "HEARD OF", "NEW VIEW")
	for _, place := range plan.Places {
		role, alive, heard, next := "voter", "no", o.when(place.Heard), "left out"
		if !place.Voter {
			role = "guest"
		}
		if place.Alive {
			alive = "yes"
		}
		switch {
		case place.Name == plan.Member:
			heard = "asked"
		case heard == "":
			heard = "not since " + formatTime(plan.Started)
		}
		switch {
		case place.Named:
			next = "member"
		case !place.Voter:
			next = "joins again"
		}
		t.row(strconv.FormatUint(plan.View, 10), place.Name, role, place.Address, alive, heard, next)
	}
	if err := o.print(t, forcedSpaces(plan.Spaces)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, `
View %d, coordinated by %s, has lost its quorum, as far as member %s knows.
The view that follows it would have %s alone, and grant locks from %v after it is made.
THE DANGER: if %s with a quorum that this member cannot hear, two clients will hold one lock.
No member can know that: see that each is stopped, and stays stopped until the new view is there.
`, plan.View, plan.Coordinator, plan.Member, listed(plan.Named), plan.Wait.AsDuration().Round(time.Millisecond),
		areAlive(plan.Rivals))
	return written(0, err)
}

// errNotConfirmed ends a command that the user declined.
var errNotConfirmed = errors.New("not confirmed; nothing was changed")

// confirm asks twice, or explains how to confirm without a terminal.
func (p *program) confirm(c *cli.Command, plan *schema.ForcePlan) error {
	if !p.interactive(c) {
		return usageError(c.Name, "nothing was changed: the command asks twice, and this is no terminal; to go ahead, run it again with --confirm %s", plan.Code)
	}
	answers := bufio.NewReader(p.stdin)
	first, err := p.question(answers, fmt.Sprintf("Lost for good, and stopped: %s? (yes or no) ", listed(plan.Rivals)))
	if err != nil {
		return err
	}
	if strings.ToLower(first) != "yes" {
		return &exitError{exitUsage, fmt.Errorf("%s: %w", c.Name, errNotConfirmed)}
	}
	second, err := p.question(answers, "Type the names of the new view's members, separated by commas: ")
	if err != nil {
		return err
	}
	if !slices.Equal(slices.Sorted(slices.Values(namesOf(second))), slices.Sorted(slices.Values(plan.Named))) {
		return &exitError{exitUsage, fmt.Errorf("%s: %q is not %s: %w", c.Name, second, strings.Join(plan.Named, ","), errNotConfirmed)}
	}
	return nil
}

// question asks, and returns the typed line.
func (p *program) question(answers *bufio.Reader, text string) (string, error) {
	if _, err := p.stderr.WriteString(text); err != nil {
		return "", fmt.Errorf("ask for a confirmation: %w", err)
	}
	line, err := answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read a confirmation: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// forcedTable shows a forced view.
func forcedTable(o *output, forced *schema.ForcedView) *table {
	t := newTable("FORCED VIEW", "REPLACED", "MEMBERS", "AT", "GRANTS FROM", "BY", "REASON").long("MEMBERS", "BY", "REASON")
	t.row(strconv.FormatUint(forced.View, 10), strconv.FormatUint(forced.Replaced, 10), strings.Join(forced.Members, ","),
		o.when(forced.Time), o.when(forced.From), forced.By, forced.Reason)
	return t
}

// forcedSpaces shows the effect of a forced view on each space.
func forcedSpaces(spaces []*schema.ForcedSpace) *table {
	t := newTable("SPACE", "PROTOCOL", "SERVES AGAIN", "WHY")
	for i := range spaces {
		serves := "yes"
		if !spaces[i].Serves {
			serves = "no"
		}
		t.row(spaces[i].Name, spaces[i].Protocol, serves, spaces[i].Why)
	}
	return t
}

// listed formats a list of names for people.
func listed(names []string) string {
	switch last := len(names) - 1; {
	case last < 0:
		return "none"
	case last == 0:
		return visible(names[0])
	default:
		return visible(strings.Join(names[:last], ", ")) + " and " + visible(names[last])
	}
}

func areAlive(names []string) string {
	if len(names) == 1 {
		return listed(names) + " is alive"
	}
	return listed(names) + " are alive"
}
