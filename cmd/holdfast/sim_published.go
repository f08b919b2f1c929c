package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/published"
)

// notAsPublished are flags whose values a row determines.
var notAsPublished = []string{"members", "seeds", "faults", "duration", "jobs", "coverage"}

// simAsPublished shows what goes wrong without a rule. The arguments are its name; without one it is the protocol's
// most telling rule; "list" lists all.
func (p *program) simAsPublished(c *cli.Command) error {
	for _, flag := range notAsPublished {
		if c.IsSet(flag) {
			return usageError(c.Name, "flag --%s: with --as-published the rule decides what is run; leave the flag out", flag)
		}
	}
	picture, err := drawingOf(c)
	if err != nil {
		return err
	}
	rule := strings.Join(c.Args().Slice(), " ")
	if rule == "list" {
		return p.listPublished()
	}
	row, err := chosenRow(c, rule)
	if err != nil {
		return err
	}
	if err := row.Introduce(p.stdout); err != nil {
		return err
	}
	if err := makeFolder(c.String("save")); err != nil {
		return err
	}
	seed := row.Seed()
	if c.IsSet("seed") {
		seed = c.Uint64("seed")
	} else if err := p.writePublished(&row, c.String("save")); err != nil {
		return err
	}
	if seed == 0 {
		return written(fmt.Fprintf(p.stdout, "no seed shows it; it is found by %s\n", row.Elsewhere))
	}
	if err := publishedPicture(&row, seed, picture); err != nil {
		return err
	}
	return p.showPublished(&row, seed, cmp.Or(c.String("trace"), saved(c.String("save"), fmt.Sprintf("sim-%d.txt", seed))))
}

// chosenRow returns the row of a rule, or the protocol's most telling one.
func chosenRow(c *cli.Command, rule string) (published.Row, error) {
	name := c.String("protocol")
	if _, known := sim.Find(name); !known {
		return published.Row{}, usageError(c.Name, "flag --protocol: %q cannot be simulated; %s can", name, sim.Names())
	}
	if rule == "" {
		return published.For(name)[0], nil
	}
	row, err := published.Find(rule)
	if err == nil && c.IsSet("protocol") && row.Protocol != name {
		err = fmt.Errorf("rule %q is one of protocol %s, not of %s; leave --protocol out", row.Rule, row.Protocol, name)
	}
	if err != nil {
		return row, usageError(c.Name, "flag --as-published: %v", err)
	}
	return row, nil
}

// listPublished lists the rules.
func (p *program) listPublished() error {
	t := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, row := range published.All() {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", row.Rule, row.Protocol, row.Breaks, row.Source); err != nil {
			return err
		}
	}
	return t.Flush()
}

// writePublished writes the smallest script that shows a row, which is easier to follow than a seed's run, into a
// folder. Without one it reports that there is a script.
func (p *program) writePublished(row *published.Row, folder string) error {
	if !row.Scripted() {
		return nil
	}
	script, transcript, err := row.Script()
	if err != nil {
		return err
	}
	path := saved(folder, "sim-"+row.Slug()+".script")
	if path == "" {
		return written(fmt.Fprintf(p.stdout, "in short: %s --save FOLDER, which writes a script of it, for sim replay\n", row.Command()))
	}
	if err := os.WriteFile(path, []byte(script.Text(transcript)), 0o644); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	return written(fmt.Fprintf(p.stdout, "in short: %s sim replay %s, with --svg FILE for a picture\n", name, path))
}

// showPublished runs a seed without a rule, and reports the events. It writes the trace if there is a path for it.
func (p *program) showPublished(row *published.Row, seed uint64, path string) error {
	var trace bytes.Buffer
	result, err := row.Run(seed, &trace)
	if err != nil {
		return err
	}
	if path != "" {
		if err := os.WriteFile(path, trace.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	}
	if result.Outcome == sim.OK {
		return written(fmt.Fprintf(p.stdout, "sim: ok protocol=%s seeds=1 steps=%d violations=0 first_seed=%d\n", row.Protocol, result.Steps, seed))
	}
	lines := slices.Concat([]string{"", result.Settings, "the last that happens, without polls and disks:"}, published.Excerpt(trace.Bytes()))
	promise := ""
	if result.Outcome != sim.Crashed {
		promise = " promise=" + result.Violation.Promise
	}
	with, err := row.Kept(seed, nil)
	if err != nil {
		return err
	}
	lines = append(lines, "", result.Violation.String(),
		fmt.Sprintf("with the rule in place: %v after %d steps", with.Outcome, with.Steps),
		fmt.Sprintf("repeat it with: %s --seed %d", row.Command(), seed),
		fmt.Sprintf("sim: %v protocol=%s seed=%d%s step=%d%s", result.Outcome, row.Protocol, seed, promise, result.Steps, traceField(path)))
	if err := written(fmt.Fprintln(p.stdout, strings.Join(lines, "\n"))); err != nil {
		return err
	}
	return &exitError{code: simExit(result.Outcome)}
}
