package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/shrink"
)

// The exit codes of sim besides 0 and those of a wrong command line.
const (
	exitUnexercised = 125 // no promise was broken, but a possible event never happened
	exitCrash       = 127 // a machine has panicked
	exitStuck       = 128 // a request was still unanswered after all faults
	exitViolation   = 129 // a promise was not kept
)

func orNone(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, "; ")
}

func (p *program) simCommand() *cli.Command {
	protocolFlag := textFlag("protocol", "what the members run: `"+sim.Names()+"`")
	protocolFlag.Value = "central"
	faults := textFlag("faults", "`LIST` of faults, or all, beyond, none")
	faults.Value = "all"
	first := &cli.Uint64Flag{Name: "seed", Value: 1, Usage: "the first `SEED`", Sources: variables("seed")}
	members := countFlag("members", 0, "number of `MEMBERS` (default: drawn for each run)")
	return &cli.Command{
		Name:      "sim",
		Usage:     "test the protocols against faults in simulated time",
		UsageText: name + " sim [flags]\n" + name + " sim --as-published [RULE | list] [flags]\n" + name + " sim explore [flags]\n" + name + " sim replay [flags] FILE",
		Description: "Runs the members' own code, with simulated clocks, networks, disks, clients and faults. Each seed is one run;\n" +
			"the same seed is the same run, step by step, on every machine. Faults happen for --duration; then everything\n" +
			"heals, and every request must be answered. The promises are checked all the time, from the holders' side.\n" +
			"For a seed that breaks one, sim prints its settings and how to repeat it, and shrinks it to the smallest\n" +
			"script that breaks the same promise, for `sim replay`. It prints the script; --save FOLDER writes it and the\n" +
			"trace. Files are written only where a flag says so.\n" +
			"--sweep runs fresh seeds: it draws the first one, prints it, and goes on for the given time, or until a seed\n" +
			"fails.\n" +
			"--as-published switches one rule off and shows what goes wrong without it: the hole of a published algorithm\n" +
			"that the rule closes. Without RULE it takes the most telling one of the protocol. With --save FOLDER it writes\n" +
			"the smallest script that shows the hole.\n" +
			"The last line is the verdict: exit 0, 129 (a promise broken), 128 (something is stuck), 127 (a crash). With\n" +
			"1,000 seeds or more and all faults, also 125: a fault, message or handler was never hit.\n" +
			simFaults("Faults within the promised bounds, all:", sim.Within) +
			simFaults("Faults beyond them, beyond:", sim.Beyond) + simNever(),
		Flags: append([]cli.Flag{
			protocolFlag, members, first,
			countFlag("seeds", 1, "number of `SEEDS`"),
			durationFlag("sweep", 0, "run seeds, from a random one on, for this `TIME` or until one fails"),
			faults,
			durationFlag("duration", time.Minute, "for how long faults happen in each run"),
			countFlag("jobs", runtime.NumCPU(), "number of `RUNS` at a time"),
			recordFlag("trace", "`FILE` for the trace of the run of --seed, or of the failing run"),
			textFlag("save", "`FOLDER` for sim-SEED.txt and sim-SEED.script, the trace and the smallest script of a failing seed"),
			textFlag("trace-member", "write the trace of this `MEMBER` in the run of --seed to sim-SEED-MEMBER.txt, for sim replay"),
			switchFlag("as-published", "show what goes wrong without this `RULE`; list prints all rules"),
			switchFlag("linearizable", "check that the history of each name is linearizable: compare it with a model of a lock"),
			textFlag("history", "`FILE` (HTML) for the history of a name, in the run of --seed or in the failing run"),
			countFlag("shrink", shrink.DefaultRuns, "most `RUNS` to spend on the smallest script of a failing seed; 0 makes no script"),
			switchFlag("coverage", "print how often each message, fault and handler was hit"),
		}, pictureFlags("the run of --seed, or of the failing run")...),
		Commands: []*cli.Command{p.simExploreCommand(), p.simReplayCommand()},
		Action:   p.sim,
	}
}

// simFaults lists faults, for the help.
func simFaults(what string, set sim.Faults) string {
	var text strings.Builder
	line := what
	for _, f := range set.All() {
		if len(line)+len(f.String()) > 105 {
			text.WriteString("\n" + line)
			line = " "
		}
		line += " " + f.String()
	}
	return text.String() + "\n" + line
}

// simNever lists for each protocol the faults that cannot happen to it, for the help.
func simNever() string {
	var text strings.Builder
	text.WriteString("\nSome faults cannot happen to a protocol (store-slow and store-fail need a store). all leaves them out; naming\n" +
		"one is an error:")
	for _, p := range sim.Protocols() {
		text.WriteString(simFaults(" to "+p.Name+":", sim.Within&^p.Faults))
	}
	return text.String()
}

// simOrder is the task of one run of sim.
type simOrder struct {
	config      sim.Config
	first       uint64
	seeds, jobs int
	files       simFiles
	save        string // folder for the files of a failing seed; "" for none
	picture     *drawing
	shrink      shrink.Config
	sweep       time.Duration // duration of the sweep; 0 if seeds determines it
	began       time.Time
}

// simOrderOf parses the flags.
func simOrderOf(c *cli.Command) (*simOrder, error) {
	config, err := simConfig(c)
	if err != nil {
		return nil, err
	}
	o := &simOrder{
		config: config, first: c.Uint64("seed"), seeds: c.Int("seeds"), jobs: c.Int("jobs"),
		files: simFiles{c.String("trace"), c.String("history")}, save: c.String("save"), sweep: c.Duration("sweep"), began: time.Now(),
	}
	o.config.Linearizable = config.Linearizable || o.files.history != ""
	o.shrink = shrink.Config{Runs: c.Int("shrink"), Jobs: o.jobs}
	if o.picture, err = drawingOf(c); err != nil {
		return nil, err
	}
	switch {
	case o.seeds < 1 || o.jobs < 1:
		return nil, usageError(c.Name, "flags --seeds %d --jobs %d: want at least 1 of each", o.seeds, o.jobs)
	case o.shrink.Runs < 0:
		return nil, usageError(c.Name, "flag --shrink %d: want a number of runs, or 0 for no script", o.shrink.Runs)
	}
	return o, nil
}

// sim runs the simulator.
func (p *program) sim(ctx context.Context, c *cli.Command) error {
	if err := checkSweep(c); err != nil {
		return err
	}
	if c.Bool("as-published") {
		return p.simAsPublished(c)
	}
	if err := noArguments(c); err != nil {
		return err
	}
	o, err := simOrderOf(c)
	if err != nil {
		return err
	}
	if err := makeFolder(o.save); err != nil {
		return err
	}
	// A run keeps little and discards much: collecting that rarely is worth its memory.
	debug.SetGCPercent(1000)
	summary, err := p.simRun(ctx, o)
	if err != nil {
		return usageError(c.Name, "%v", err)
	}
	if o.config.Coverage {
		if _, err := summary.WriteCoverage(p.stdout, &o.config); err != nil {
			return err
		}
	}
	if err := simRecord(c, o.config, o.first); err != nil {
		return err
	}
	if summary.Worst != nil {
		if err := p.sweptBefore(o, summary); err != nil {
			return err
		}
		return p.simFailed(o, summary.Worst)
	}
	if o.files != (simFiles{}) {
		if _, err := o.files.write(o.config, o.first); err != nil {
			return err
		}
	}
	if err := simPicture(o.config, o.first, o.picture); err != nil {
		return err
	}
	return p.simPassed(o, summary)
}

// mostNever is how many kinds that were never hit are listed after a few seeds.
const mostNever = 12

// simPassed reports the coverage of runs that kept every promise, and that it was complete.
func (p *program) simPassed(o *simOrder, summary *sim.Summary) error {
	profile, err := summary.Profile(o.config)
	if err != nil {
		return err
	}
	never := orNone(profile.Never)
	if few := len(profile.Never); few > mostNever && !profile.Complete && !o.config.Coverage {
		never = fmt.Sprintf("%d kinds, as is usual with few seeds; --coverage lists them", few)
	}
	if err := written(fmt.Fprintf(p.stdout, "%snever hit: %s\n%s\n", profile.Text, never, summary)); err != nil {
		return err
	}
	if profile.Complete && len(profile.Never) > 0 && o.sweep == 0 { // with random seeds, rare events may be missed by chance
		if err := written(fmt.Fprintf(p.stdout, "sim: UNEXERCISED protocol=%s seeds=%d never=%d first_seed=%d in=%.1fs\n",
			summary.Protocol, summary.Seeds, len(profile.Never), summary.First, time.Since(o.began).Seconds())); err != nil {
			return err
		}
		return &exitError{code: exitUnexercised}
	}
	return written(fmt.Fprintf(p.stdout, "sim: ok protocol=%s seeds=%d steps=%d grants=%d violations=0 first_seed=%d in=%.1fs\n",
		summary.Protocol, summary.Seeds, summary.Steps, summary.Grants(), summary.First, time.Since(o.began).Seconds()))
}

// simConfig parses the simulation's configuration from the flags.
func simConfig(c *cli.Command) (sim.Config, error) {
	wanted, known := sim.Find(c.String("protocol"))
	if !known {
		return sim.Config{}, usageError(c.Name, "flag --protocol: %q cannot be simulated; %s can", c.String("protocol"), sim.Names())
	}
	faults, err := sim.ParseFaults(c.String("faults"))
	if err != nil {
		return sim.Config{}, usageError(c.Name, "flag --faults: %v", err)
	}
	if err := wanted.Check(faults); err != nil {
		return sim.Config{}, usageError(c.Name, "flag --faults: %v", err)
	}
	return sim.Config{
		Protocol: wanted, Members: c.Int("members"), Faults: faults, Duration: c.Duration("duration"), Coverage: c.Bool("coverage"),
		Linearizable: c.Bool("linearizable"),
	}, nil
}

// simFailed reports the failed seed and its failure, and writes its trace by running it again, its picture, and the
// smallest script with the same failure.
func (p *program) simFailed(o *simOrder, failed *sim.Result) error {
	files := o.files
	if files.trace == "" {
		files.trace = saved(o.save, fmt.Sprintf("sim-%d.txt", failed.Seed))
	}
	again, err := files.write(o.config, failed.Seed)
	if err != nil {
		return err
	}
	if again.Outcome != failed.Outcome || again.Steps != failed.Steps {
		return fmt.Errorf("seed %d does not repeat: %v after %d steps, then %v after %d", failed.Seed, failed.Outcome, failed.Steps, again.Outcome, again.Steps)
	}
	if err := simPicture(o.config, failed.Seed, o.picture); err != nil {
		return err
	}
	promise := ""
	if failed.Outcome != sim.Crashed {
		promise = " promise=" + failed.Violation.Promise
	}
	if err := written(fmt.Fprintf(p.stdout, "%s\n%v\nrepeat it with: %s\n", failed.Settings, failed.Violation, simRepeat(o.config, failed.Seed))); err != nil {
		return err
	}
	if o.shrink.Runs > 0 {
		if err := p.simShrink(o.config, failed.Seed, o.save, o.shrink); err != nil {
			return err
		}
	}
	if err := written(fmt.Fprintf(p.stdout, "sim: %v protocol=%s seed=%d%s step=%d%s%s\n",
		failed.Outcome, o.config.Protocol.Name, failed.Seed, promise, failed.Steps, traceField(files.trace), o.picture.field())); err != nil {
		return err
	}
	return &exitError{code: simExit(failed.Outcome)}
}

// saved returns the path of a file in the folder of --save; "" without one.
func saved(folder, file string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, file)
}

// traceField names the file of a trace in a verdict, if there is one.
func traceField(path string) string {
	if path == "" {
		return ""
	}
	return " trace=" + path
}

// makeFolder creates the folder of --save.
func makeFolder(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("sim: make the folder of --save: %w", err)
	}
	return nil
}

func simExit(o sim.Outcome) int {
	switch o {
	case sim.Crashed:
		return exitCrash
	case sim.Stuck:
		return exitStuck
	default:
		return exitViolation
	}
}

// simFiles are the output files of one run; "" for none.
type simFiles struct{ trace, history string }

// write runs one seed again, and writes a line for each event, and a page for what users saw of a name.
func (f simFiles) write(config sim.Config, seed uint64) (result sim.Result, err error) {
	trace, history := io.Writer(nil), io.Writer(nil)
	for _, wanted := range []struct {
		path string
		out  *io.Writer
	}{{f.trace, &trace}, {f.history, &history}} {
		if wanted.path == "" {
			continue
		}
		var file *os.File
		if file, err = os.Create(wanted.path); err != nil {
			return result, fmt.Errorf("write what happens in seed %d: %w", seed, err)
		}
		defer func() {
			if closed := file.Close(); err == nil && closed != nil {
				err = fmt.Errorf("write what happens in seed %d: %w", seed, closed)
			}
		}()
		*wanted.out = file
	}
	config.History = history
	return sim.Run(config, seed, trace)
}
