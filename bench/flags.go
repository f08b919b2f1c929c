package main

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/bench/peer"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// ownUsual returns the default ones of Holdfast's own targets and the yardsticks.
func ownUsual() []string { return []string{"raw", "limit", "remote", "central"} }

// Bounds that keep one service from delaying all others: a call that is overdue by this much ends with an error, and
// after that time hold continues with the locks that it has.
const (
	patience  = 20 * time.Second
	holdLimit = 15 * time.Second
)

// allNames returns the names of all targets.
func allNames() []string { return slices.Concat(target.Names(), peer.Names(), peer.StoredNames()) }

// flags returns the flags of holdfast bench that have the same meaning here.
func flags() []cli.Flag {
	all := strings.Join(allNames(), ", ")
	usual := strings.Join(slices.Concat(ownUsual(), peer.Usual()), ", ")
	return []cli.Flag{
		&cli.StringFlag{Name: "workloads", Usage: "`LIST` of " + strings.Join(load.Workloads(), ", ") + " (default: all)"},
		&cli.StringFlag{Name: "targets", Usage: "`LIST` of " + all + " (default: what is installed of " + usual + ")"},
		&cli.IntFlag{Name: "rounds", Usage: "how often everything is measured, hold but once unless this is given (default: 3)", HideDefault: true},
		&cli.DurationFlag{Name: "duration", Usage: "how long each timed measurement takes in each round (default: 500ms)", HideDefault: true},
		&cli.StringFlag{Name: "workers", Usage: "`NUMBERS` of workers (default: 1,64,512, and 1,8,64 on the hot name)"},
		&cli.StringFlag{Name: "think", Usage: "`TIMES` for which workers keep each lock (default: 0)"},
		&cli.BoolFlag{Name: "quick", Usage: "measure for a shorter time: 2 rounds of 100ms, one of hold with 50,000 locks", HideDefault: true},
		&cli.StringFlag{Name: "json", Usage: "`FILE` for the figures as JSON"},
		&cli.StringFlag{Name: "holdfast", Usage: "`FILE` of the holdfast program, of this very version (default: it is built)"},
	}
}

// order has the parsed flags.
type order struct {
	load  load.Config
	own   []string // names of package target's targets
	peers []string // names of package peer's targets
	asked bool     // the user named the targets

	stored []string // names of Holdfast's own locks in package peer's servers
}

func readOrder(c *cli.Command) (*order, error) {
	o := &order{load: load.Config{Think: []time.Duration{0}, HoldRounds: 1, Patience: patience, HoldLimit: holdLimit}}
	if flag, err := o.load.ReadFlags(c); err != nil {
		return nil, usage("flag --%s: %w", flag, err)
	}
	if c.IsSet("rounds") {
		o.load.HoldRounds = o.load.Rounds
	}
	names, err := load.ReadChoices(c.String("targets"), allNames())
	if err != nil {
		return nil, usage("flag --targets: %w", err)
	}
	if o.asked = names != nil; !o.asked {
		names = slices.Concat(ownUsual(), peer.Usual())
	}
	among := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !slices.Contains(names, name) })
	}
	o.own, o.peers, o.stored = among(target.Names()), among(peer.Names()), among(peer.StoredNames())
	return o, nil
}
