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
	"github.com/holdfast-locks/holdfast/internal/load/soak"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// What --quick changes, so that all is measured in less than 45 s on two CPUs.
const (
	quickRounds   = 2
	quickDuration = 100 * time.Millisecond
	quickLocks    = 50_000
)

func benchFlags() []cli.Flag {
	workloads := textFlag("workloads", "`LIST` of "+strings.Join(load.Workloads(), ", ")+" (default: all)")
	targets := textFlag("targets", "`LIST` of "+strings.Join(target.Names(), ", ")+" (default: all but "+strings.Join(target.Rare(), " and ")+")")
	own := []cli.Flag{
		switchFlag("self", "start what is measured, whatever HOLDFAST_SERVER says"),
		workloads, targets,
		countFlag("rounds", 0, "how often everything is measured (default: 3)"),
		durationFlag("duration", 0, "how long each timed measurement takes in each round (default: 500ms)"),
		textFlag("workers", "`NUMBERS` of workers (default: 1,64,512, and 1,8,64 on the hot name)"),
		textFlag("think", "`TIMES` for which workers keep each lock (default: 0,1ms,10ms)"),
		switchFlag("quick", "measure for a shorter time: 2 rounds of 100ms, one of hold with 50,000 locks"),
		seedFlag("what draws the names, and the pauses of a soak"),
		durationFlag("soak", 0, "keep a cluster busy for `DURATION` instead (--targets central, the default, or remote, or remote-tls)"),
		durationFlag("every", 0, "time between two samples of a soak (default: a sixtieth of it, 100ms to 1m)"),
		textFlag("json", "`FILE` for the figures as JSON"),
		textFlag("cpuprofile", "`FILE` for where CPU time goes; what is started writes FILE.remote and the like"),
		textFlag("memprofile", "`FILE` for where memory is allocated, likewise"),
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

// seedFlag is a flag with the number that random choices follow from.
func seedFlag(usage string) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Value: 1, Usage: usage, Sources: variables("seed")}
}

// benchOrder is what the flags of bench ask for.
type benchOrder struct {
	load    load.Config
	soak    soak.Config // without Duration, nothing is soaked
	bed     target.Config
	targets []string
	server  load.Target // nil with --self
}

// benchOrder reads it off the flags.
func (p *program) benchOrder(c *cli.Command) (*benchOrder, error) {
	running := c.String("server") != "" && !c.Bool("self")
	if c.Bool("self") && slices.ContainsFunc(p.args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "server") }) {
		return nil, usageError(c.Name, "flags --self and --server: give one of them")
	}
	o := &benchOrder{bed: target.Config{CPUProfile: c.String("cpuprofile"), MemoryProfile: c.String("memprofile")}}
	var err error
	if o.load.Workloads, err = listFlag(c, "workloads", load.Workloads()); err != nil {
		return nil, err
	}
	if err := o.readTargets(c, running); err != nil {
		return nil, err
	}
	if err := o.readNumbers(c); err != nil {
		return nil, err
	}
	if err := o.readSoak(c); err != nil {
		return nil, err
	}
	if !running {
		return o, nil
	}
	if o.load.Workloads == nil {
		o.load.Workloads = []string{load.Uncontended, load.Hot, load.Drain}
	}
	options, err := optionsOf(c)
	if err != nil {
		return nil, err
	}
	encryption, err := tlsOf(c)
	if err != nil {
		return nil, err
	}
	o.server = target.Running(target.Elsewhere{Servers: serverOf(c), Options: options, Space: spaceOf(c), TLS: encryption})
	return o, nil
}

// readTargets reads what is measured: of a running cluster itself, and what needs no member.
func (o *benchOrder) readTargets(c *cli.Command, running bool) (err error) {
	allowed, usual := target.Names(), target.Usual()
	if c.Duration("soak") > 0 {
		allowed, usual = []string{"central", "remote", "remote-tls"}, []string{"central"}
	}
	if running {
		allowed = slices.DeleteFunc(slices.Clone(allowed), func(name string) bool {
			return name != "remote" && name != "raw" && !strings.HasPrefix(name, "limit")
		})
		usual = []string{"remote"}
		if c.Duration("soak") == 0 && target.OnThisMachine(serverOf(c)) {
			usual = []string{"raw", "limit", "remote"}
		}
	}
	if o.targets, err = listFlag(c, "targets", allowed); err != nil {
		return err
	}
	if o.targets == nil {
		o.targets = usual
	}
	return nil
}

// readSoak reads how long a cluster is kept busy.
func (o *benchOrder) readSoak(c *cli.Command) error {
	o.load.Seed = c.Uint64("seed")
	o.soak = soak.Config{Duration: c.Duration("soak"), Every: c.Duration("every"), Space: spaceOf(c), Seed: o.load.Seed}
	switch {
	case c.IsSet("soak") && (o.soak.Duration < time.Second || o.soak.Duration > soak.MaxDuration):
		return usageError(c.Name, "flag --soak: %v: want 1s to %v", o.soak.Duration, soak.MaxDuration)
	case c.IsSet("every") && o.soak.Duration == 0:
		return usageError(c.Name, "flag --every goes with --soak")
	case c.IsSet("every") && (o.soak.Every < leastEvery || o.soak.Every > o.soak.Duration):
		return usageError(c.Name, "flag --every: %v: want %v to the duration of the soak", o.soak.Every, leastEvery)
	case o.soak.Duration == 0:
		return nil
	case len(o.targets) > 1:
		return usageError(c.Name, "flag --targets: a soak is of one of central, remote, remote-tls")
	}
	for _, other := range []string{"workloads", "rounds", "duration", "workers", "think", "quick"} {
		if c.IsSet(other) {
			return usageError(c.Name, "flags --soak and --%s: a soak has its own load; give one of them", other)
		}
	}
	return nil
}

// leastEvery is the shortest time between two samples: each collects garbage everywhere.
const leastEvery = 10 * time.Millisecond

// readNumbers reads how much is measured.
func (o *benchOrder) readNumbers(c *cli.Command) (err error) {
	if c.Bool("quick") {
		o.load.Rounds, o.load.Duration, o.load.HoldRounds, o.load.Locks = quickRounds, quickDuration, 1, quickLocks
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
