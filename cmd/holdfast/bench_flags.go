package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// What --quick changes, so that all is measured in less than 45 s on two CPUs.
const (
	quickRounds   = 2
	quickDuration = 150 * time.Millisecond
)

func benchFlags() []cli.Flag {
	workloads := textFlag("workloads", "`LIST` of "+strings.Join(load.Workloads(), ", ")+" (default: all)")
	targets := textFlag("targets", "`LIST` of "+strings.Join(target.Names(), ", ")+" (default: all but limit-queued)")
	own := []cli.Flag{
		switchFlag("self", "start what is measured, whatever HOLDFAST_SERVER says"),
		workloads, targets,
		countFlag("rounds", 0, "how often everything is measured (default: 3)"),
		durationFlag("duration", 0, "how long each timed measurement takes in each round (default: 500ms)"),
		textFlag("workers", "`NUMBERS` of workers (default: 1,64,512, and 1,8,64 on the hot name)"),
		textFlag("think", "`TIMES` for which workers keep each lock (default: 0,1ms,10ms)"),
		switchFlag("quick", "measure for a shorter time: 2 rounds of 150ms, one of hold"),
		textFlag("json", "`FILE` for the figures as JSON"),
	}
	space := textFlag("space", "`NAME` of the lockspace")
	space.DefaultText = "default"
	for _, flag := range memberFlags() {
		if server, ok := flag.(*cli.StringFlag); ok && server.Name == "server" {
			server.DefaultText = "--self"
		}
		if !slices.Contains(flag.Names(), "timeout") {
			own = append(own, flag)
		}
	}
	return append(own, space)
}

// benchOrder is what the flags of bench ask for.
type benchOrder struct {
	load    load.Config
	targets []string
	server  load.Target // nil with --self
}

// benchOrder reads it off the flags.
func (p *program) benchOrder(c *cli.Command) (*benchOrder, error) {
	running := c.String("server") != "" && !c.Bool("self")
	if c.Bool("self") && slices.ContainsFunc(p.args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "server") }) {
		return nil, usageError(c.Name, "flags --self and --server: give one of them")
	}
	o := &benchOrder{}
	var err error
	if o.load.Workloads, err = listFlag(c, "workloads", load.Workloads()); err != nil {
		return nil, err
	}
	allowed := target.Names()
	if running {
		allowed = []string{"remote"}
	}
	if o.targets, err = listFlag(c, "targets", allowed); err != nil {
		return nil, err
	}
	if o.targets == nil {
		o.targets = target.Usual()
	}
	if err := o.readNumbers(c); err != nil {
		return nil, err
	}
	if running {
		if o.load.Workloads == nil {
			o.load.Workloads = []string{load.Uncontended, load.Hot, load.Drain}
		}
		options, err := optionsOf(c)
		if err != nil {
			return nil, err
		}
		o.server = target.Running(serverOf(c), options...)
	}
	return o, nil
}

// readNumbers reads how much is measured.
func (o *benchOrder) readNumbers(c *cli.Command) (err error) {
	if c.Bool("quick") {
		o.load.Rounds, o.load.Duration, o.load.HoldRounds = quickRounds, quickDuration, 1
	}
	if c.IsSet("rounds") {
		o.load.Rounds = c.Int("rounds")
		if o.load.Rounds < 1 || o.load.Rounds > load.MaxRounds {
			return usageError(c.Name, "flag --rounds: %d: want 1 to %d", o.load.Rounds, load.MaxRounds)
		}
	}
	if c.IsSet("duration") {
		o.load.Duration = c.Duration("duration")
		if o.load.Duration < time.Millisecond || o.load.Duration > load.MaxDuration {
			return usageError(c.Name, "flag --duration: %v: want 1ms to %v", o.load.Duration, load.MaxDuration)
		}
	}
	o.load.Workers, err = parsedFlag(c, "workers", func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > load.MaxWorkers {
			return 0, fmt.Errorf("want numbers from 1 to %d, as in 1,64", load.MaxWorkers)
		}
		return n, nil
	})
	if err != nil {
		return err
	}
	o.load.Think, err = parsedFlag(c, "think", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > load.MaxThink {
			return 0, fmt.Errorf("want durations from 0 to %v, as in 0,1ms", load.MaxThink)
		}
		return d, nil
	})
	return err
}

// listFlag reads words, separated by commas, that must be among some; nil without any.
func listFlag(c *cli.Command, flag string, allowed []string) ([]string, error) {
	return parsedFlag(c, flag, func(word string) (string, error) {
		if !slices.Contains(allowed, word) {
			return "", errors.New("want some of " + strings.Join(allowed, ", "))
		}
		return word, nil
	})
}

// parsedFlag reads values, separated by commas, each given once; nil without any.
func parsedFlag[T comparable](c *cli.Command, flag string, parse func(string) (T, error)) (values []T, err error) {
	text := c.String(flag)
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		value, err := parse(strings.TrimSpace(word))
		if err == nil && slices.Contains(values, value) {
			err = errors.New("it is given twice")
		}
		if err != nil {
			return nil, usageError(c.Name, "flag --%s: %q: %v", flag, word, err)
		}
		values = append(values, value)
	}
	return values, nil
}
