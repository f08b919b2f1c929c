package main

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

func benchFlags() []cli.Flag {
	workloads := textFlag("workloads", "`LIST` of "+strings.Join(load.Workloads(), ", ")+" (default: all)")
	targets := textFlag("targets", "`LIST` of "+strings.Join(target.Names(), ", ")+" (default: all but "+strings.Join(target.Rare(), ", ")+")")
	own := append(storeFlags(),
		switchFlag("self", "start what is measured; ignore HOLDFAST_SERVER and HOLDFAST_STORE"),
		workloads, targets,
		countFlag("rounds", 0, "how often everything is measured (default: 3)"),
		durationFlag("duration", 0, "how long each timed measurement takes in each round (default: 500ms)"),
		textFlag("workers", "`NUMBERS` of workers (default: 1,64,512, and 1,8,64 on the hot name)"),
		textFlag("think", "`TIMES` for which workers keep each lock (default: 0,1ms,10ms)"),
		durationFlag("delay", 0, "how much longer a message takes between members that are all in this process (default: 0, most: 50ms)"),
		switchFlag("quick", "measure for a shorter time: 2 rounds of 100ms, one of hold with 50,000 locks"),
		seedFlag("what draws the names, and the pauses of a soak"),
		durationFlag("soak", 0, "keep a cluster busy for `DURATION` instead (--targets central, the default, or remote, or remote-tls)"),
		durationFlag("every", 0, "time between two samples of a soak (default: a sixtieth of it, 100ms to 1m)"),
		outputFlag("the figures on standard output, instead of tables, with the verdict on standard error", []string{formatJSON, formatYAML}),
		textFlag("json", "`FILE` for the figures as JSON"),
		textFlag("cpuprofile", "`FILE` for where CPU time goes; what is started writes FILE.remote and the like"),
		textFlag("memprofile", "`FILE` for where memory is allocated, likewise"),
	)
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

// seedFlag is a flag with the seed of random choices.
func seedFlag(usage string) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Value: 1, Usage: usage, Sources: variables("seed")}
}

// benchOrder has the values of bench's flags.
type benchOrder struct {
	load    load.Config
	soak    soak.Config // without Duration, there is no soak
	harness target.Config
	targets []string
	server  load.Target // nil with --self
	stores  []load.Target
}

// serverGiven reports whether --server is on the command line, and not only in a variable.
func (p *program) serverGiven() bool {
	return slices.ContainsFunc(p.args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "server") })
}

// benchOrder parses the flags.
func (p *program) benchOrder(c *cli.Command) (*benchOrder, error) {
	stores := c.String("store") != "" && !c.Bool("self")
	running := c.String("server") != "" && !c.Bool("self") && !stores
	if c.Bool("self") && p.serverGiven() {
		return nil, usageError(c.Name, "flags --self and --server: give one of them")
	}
	o := &benchOrder{harness: target.Config{CPUProfile: c.String("cpuprofile"), MemoryProfile: c.String("memprofile")}}
	if flag, err := o.load.ReadFlags(c); err != nil {
		return nil, usageError(c.Name, "flag --%s: %v", flag, err)
	}
	if err := o.readTargets(c, running); err != nil {
		return nil, err
	}
	if err := o.readSoak(c); err != nil {
		return nil, err
	}
	if err := o.readStores(c, p.serverGiven()); err != nil {
		return nil, err
	}
	if err := o.readDelay(c); err != nil {
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
	encryption, err := encryptionOf(c)
	if err != nil {
		return nil, err
	}
	o.server = target.Running(target.Elsewhere{Servers: serverOf(c), Options: options, Space: spaceOf(c), TLS: encryption})
	return o, nil
}

// readTargets parses the targets: of a running cluster just itself, and those without a member.
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
	if c.String("store") != "" && !c.Bool("self") {
		usual = []string{target.Claims, target.CAS}
		allowed = append(slices.Clone(allowed), target.Claims, target.CAS, target.CASKept)
	}
	if o.targets, err = load.ReadChoices(c.String("targets"), allowed); err != nil {
		return usageError(c.Name, "flag --targets: %v", err)
	}
	if o.targets == nil {
		o.targets = usual
	}
	return nil
}

// readSoak parses the duration of a soak.
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
		return usageError(c.Name, "flag --targets: a soak takes one of central, remote, remote-tls")
	}
	for _, other := range []string{"workloads", "rounds", "duration", "workers", "think", "quick"} {
		if c.IsSet(other) {
			return usageError(c.Name, "flags --soak and --%s: a soak has its own load; give one of them", other)
		}
	}
	return nil
}

// mostDelay is the longest delay of messages: requests are not repeated before an answer can arrive.
const mostDelay = 50 * time.Millisecond

// readDelay parses the distance between members. Next to figures without delay, theirs would be meaningless.
func (o *benchOrder) readDelay(c *cli.Command) error {
	o.harness.Delay = c.Duration("delay")
	switch i := slices.IndexFunc(o.targets, func(name string) bool { return !target.Delayed(name) }); {
	case o.harness.Delay < 0 || o.harness.Delay > mostDelay:
		return usageError(c.Name, "flag --delay: %v: want 0 to %v", o.harness.Delay, mostDelay)
	case o.harness.Delay > 0 && i >= 0:
		return usageError(c.Name, "flag --delay: target %s has no members that are all in this process; name those that have: %s",
			o.targets[i], strings.Join(slices.DeleteFunc(target.Names(), func(name string) bool { return !target.Delayed(name) }), ", "))
	}
	return nil
}

// leastEvery is the shortest time between two samples: each collects garbage everywhere.
const leastEvery = 10 * time.Millisecond
