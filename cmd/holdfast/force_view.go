package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// forceViewCommand forces a view after the permanent loss of a quorum.
func (p *program) forceViewCommand() *cli.Command {
	return &cli.Command{
		Name:      "force-view",
		Usage:     "recover a cluster whose majority is lost for good",
		UsageText: name + " force-view --server ADDRESS --members NAME[,NAME…] --reason TEXT [--confirm CODE] [flags]",
		Description: "While fewer than a majority of the voters run, no lock is granted. Starting enough of them again, with their\n" +
			"state folders, is always better. If they are lost for good, ask a live voter for a view of the voters that\n" +
			"are left: name all that are alive, including the one that is asked.\n" +
			"\n" +
			"THE DANGER: if the voters left out are alive somewhere with a majority of their own, two clients will hold\n" +
			"one lock. No member can know that. See with your own eyes that they are stopped, and keep them stopped until\n" +
			"the new view is installed. After that they may be started: they join like any other member.\n" +
			"\n" +
			"The command asks twice. On a terminal: whether they are stopped, and the names of the new view's members.\n" +
			"Without a terminal, a first run prints what would happen and a code, changes nothing, and exits with 64; a\n" +
			"second run with --confirm CODE does it, unless things have changed meanwhile. Both print which spaces will\n" +
			"serve again. A space of protocol consensus does so only with a majority of its voters in the new view, because\n" +
			"their logs hold what was decided. Without one, start them again with their data folders, or begin a new\n" +
			"cluster from a snapshot.\n" +
			"\n" +
			"The first locks are granted when everything promised before has run out: the lease, what clients may believe\n" +
			"beyond it, and 5 % more. Locks held through the named members stay held if those members' leases have not\n" +
			"run out. The member logs the operator and the reason; `" + name + " status` shows them while that member runs.",
		Flags: slices.Concat([]cli.Flag{
			textFlag("members", "`NAMES` of the voters of the new view, separated by commas; required"),
			textFlag("reason", "why, for the member's log; required"),
			textFlag("confirm", "`CODE` that a first run has printed: go ahead"),
		}, tableFlags(), memberFlags()),
		Action: p.forceView,
	}
}

// forceView asks for the plan, has the caller confirm it, and carries it out.
func (p *program) forceView(ctx context.Context, c *cli.Command) error {
	order, err := p.orderOf(c)
	if err != nil {
		return err
	}
	if order.Confirm == "" {
		plan, err := ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.ForcePlan, error) {
			return admin.PlanForce(ctx, order.Members)
		})
		if err != nil {
			return err
		}
		if err := p.printPlan(c, plan); err != nil {
			return err
		}
		if err := p.confirm(c, plan); err != nil {
			return err
		}
		order.Confirm = plan.Code
	}
	forced, err := force(ctx, c, order)
	if err != nil {
		return err
	}
	return p.answer(c, forced, func(o *output) []*table { return []*table{forcedTable(o, forced), forcedSpaces(forced.Spaces)} })
}

// forceLimit is the member's time limit for forcing a view; farewell is added for its answer.
const forceLimit = time.Minute

// force makes the member force the view. It has to ask the other named members, perhaps several times, so --timeout
// does not apply.
func force(ctx context.Context, c *cli.Command, order *schema.ForceViewRequest) (forced *schema.ForcedView, err error) {
	ctx, cancel := context.WithTimeout(ctx, forceLimit+farewell)
	defer cancel()
	err = askLong(ctx, c, func(ctx context.Context, admin *client.Admin) (err error) {
		forced, err = admin.ForceView(ctx, order)
		if errors.Is(err, context.DeadlineExceeded) {
			err = &holdfast.Error{Op: c.Name, Err: fmt.Errorf("%w: no answer from %s; it may have been done nevertheless: look at the status", holdfast.ErrUnavailable, serverOf(c))}
		}
		return reworded(c.Name, "", err)
	})
	return forced, err
}

// orderOf parses the order from c's flags.
func (p *program) orderOf(c *cli.Command) (order *schema.ForceViewRequest, err error) {
	if err := noArguments(c); err != nil {
		return order, err
	}
	order = &schema.ForceViewRequest{Members: namesOf(c.String("members")), Reason: strings.TrimSpace(c.String("reason")), Confirm: strings.TrimSpace(c.String("confirm"))}
	addresses, err := api.ParseTarget(serverOf(c))
	switch {
	case len(order.Members) == 0:
		return order, usageError(c.Name, "flag --members is missing: name the voters that are alive, as in --members a,b")
	case order.Reason == "":
		return order, usageError(c.Name, "flag --reason is missing: the member's log keeps it")
	case c.IsSet("confirm") && order.Confirm == "":
		return order, usageError(c.Name, "flag --confirm is empty: give the code that a run without it prints")
	case err == nil && len(addresses) > 1:
		return order, usageError(c.Name, "%d members are named; choose one of --members with --server", len(addresses))
	}
	if err := holdfast.CheckText("reason", order.Reason); err != nil {
		return order, &holdfast.Error{Op: c.Name, Err: err}
	}
	return order, nil
}

// namesOf returns the names in a list, each once.
func namesOf(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// interactive reports whether a person at a terminal can be asked.
func (p *program) interactive(c *cli.Command) bool {
	return p.output(c).format == formatTable && supervise.IsTerminal(p.stdin) && supervise.IsTerminal(p.stderr)
}
