package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// Config configures the demo.
type Config struct {
	// Program is the holdfast binary: it is started as `serve` and as the workers.
	Program string
	// WorkerArgs are the arguments that make Program a worker; servers and the
	// register's path follow.
	WorkerArgs []string
	// Out receives the output; its last line is the verdict. Terminal reports whether it is one, so that lines can be
	// redrawn.
	Out      io.Writer
	Terminal bool
	// Calm is how long the workers work undisturbed before and between the faults.
	// Zero means 1.5 s.
	Calm time.Duration
}

// The size of the demo. The lease is shorter than its default of 3 s, to keep the demo short; patience matches it.
const (
	members  = 3
	workers  = 6
	lease    = 2 * time.Second
	patience = 200 * time.Millisecond
)

// Time limits. The play takes two thirds of playLimit on a machine that is not overloaded. With endLimit and the
// workers' shutdown, the demo ends within 30 s.
const (
	playLimit = 21 * time.Second
	endLimit  = 6 * time.Second
)

// demo is one run.
type demo struct {
	Config
	cluster *clustertest.Cluster
	workers *clustertest.Group
	screen  *screen

	killed  bool          // the coordinator died of SIGKILL
	stopped time.Duration // observed duration of a member's stop
	lost    bool          // the holder through it found its lock lost
}

// Run runs the demo. The error says why there is no good verdict; a bad verdict was printed.
func Run(ctx context.Context, c Config) error {
	if c.Calm == 0 {
		c.Calm = 1500 * time.Millisecond
	}
	folder, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	addresses, err := clustertest.FreeAddresses(members)
	if err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	d := &demo{
		Config: c,
		cluster: clustertest.NewCluster(clustertest.Settings{
			Program: c.Program, Folder: folder, Addresses: addresses, Lease: lease, Patience: patience,
		}),
		workers: clustertest.NewGroup(append([]string{c.Program}, c.WorkerArgs...), filepath.Join(folder, "register")),
	}
	d.screen = newScreen(c.Out, c.Terminal, d.workers.Now)
	d.workers.Heard = d.screen.hear
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	err = errors.Join(d.play(ctx), d.end())
	d.screen.close()
	if err == nil {
		err = d.conclude()
	}
	return errors.Join(err, os.RemoveAll(folder))
}

// end shuts all processes down.
func (d *demo) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	return errors.Join(d.workers.Finish(), d.cluster.End(ctx))
}

// conclude prints the verdict.
func (d *demo) conclude() error {
	v, err := d.workers.Judge()
	if err != nil {
		return err
	}
	return d.print(v)
}

// print prints a verdict: the violations, the missing events, and the last line.
func (d *demo) print(v clustertest.Verdict) error {
	wrong := append(slices.Clone(v.Violations), d.missing(v)...)
	result := "ok"
	if len(wrong) > 0 {
		result = "FAILED"
	}
	var text strings.Builder
	for _, line := range wrong {
		fmt.Fprintln(&text, line)
	}
	fmt.Fprintf(&text, "demo: %s grants=%d handoffs=%d failover_gap=%.2fs stale_refused=%d violations=%d\n",
		result, v.Grants, v.Handoffs, v.Gap.Seconds(), v.Stale, len(v.Violations))
	if _, err := io.WriteString(d.Out, text.String()); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	if result != "ok" {
		return errors.New("the demo has failed; its last lines say why")
	}
	return nil
}

// missing lists expected events that did not happen.
func (d *demo) missing(v clustertest.Verdict) (missing []string) {
	for _, needed := range []struct {
		happened bool
		text     string
	}{
		{v.Handoffs > 0, "no lock changed hands"},
		{v.Stale > 0, "no stale write was refused"},
		{d.killed, "the coordinator was not killed"},
		{d.stopped > lease, fmt.Sprintf("no member stood still for more than its lease of %v, but %v", lease, d.stopped)},
		{d.lost, "the holder through the stopped member did not find its lock lost"},
	} {
		if !needed.happened {
			missing = append(missing, needed.text)
		}
	}
	return missing
}
