package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Config says how the demo is run.
type Config struct {
	// Program is the holdfast binary: it is started as `serve` and as the workers.
	Program string
	// WorkerArgs are the arguments that make Program a worker; the server and the
	// register's path follow.
	WorkerArgs []string
	// Out gets what there is to see; its last line is the verdict. Terminal says that
	// it is one, where lines can be drawn anew.
	Out      io.Writer
	Terminal bool
	// Calm is how long the workers work undisturbed before and between the faults.
	// Zero means 2 s.
	Calm time.Duration
}

// playLimit bounds the play, which takes half as long on a machine that is not
// starved. With grace, and a moment for the member, the demo ends within 30 s.
const playLimit = 23 * time.Second

// workers is how many processes pass the locks around.
const workers = 8

// Run runs the demo. The error says why there is no good verdict; a verdict that is
// not good was printed.
func Run(ctx context.Context, c Config) error {
	if c.Calm == 0 {
		c.Calm = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	folder, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	d := &demo{Config: c, folder: folder, clock: clock.Real(), judge: newJudge(poolCapacity), events: make(chan event, 1024)}
	d.screen = newScreen(c.Out, c.Terminal, d.clock.Now())
	err = errors.Join(d.play(ctx), d.stop(), os.RemoveAll(folder))
	if err != nil {
		return err
	}
	return d.conclude()
}

// demo is one run.
type demo struct {
	Config
	folder string
	clock  clock.Clock
	judge  *judge
	screen *screen
	events chan event
	writes uint64
	left   int // workers that have ended

	member *process
	team   []*process
}

// play is the play in its acts.
func (d *demo) play(ctx context.Context) error {
	if err := d.cast(ctx); err != nil {
		return err
	}
	if err := d.watch(ctx, d.Calm); err != nil {
		return err
	}
	if err := d.killHolder(ctx); err != nil {
		return fmt.Errorf("kill a holder: %w", err)
	}
	if err := d.watch(ctx, d.Calm); err != nil {
		return err
	}
	if err := d.stopHolder(ctx); err != nil {
		return fmt.Errorf("stop a holder: %w", err)
	}
	return d.watch(ctx, d.Calm)
}

// cast starts the member and the workers.
func (d *demo) cast(ctx context.Context) error {
	var err error
	var server string
	if d.member, server, err = startMember(ctx, d.Program, d.folder); err != nil {
		return fmt.Errorf("start a member: %w", err)
	}
	d.screen.say("a member serves on %s; %d workers pass %s (one at a time) and %s (%d of %d units each) around",
		server, workers, registerName, poolName, poolUnits, poolCapacity)
	for i := range workers {
		args := append(append([]string(nil), d.WorkerArgs...), server, d.registerPath())
		w, err := startWorker(d.Program, args, i+1, d.events)
		if err != nil {
			return fmt.Errorf("start worker %d: %w", i+1, err)
		}
		d.team = append(d.team, w)
	}
	for range d.team {
		if _, err := d.await(ctx, func(e event) bool { return e.Kind == ready }); err != nil {
			return fmt.Errorf("wait for the workers: %w", err)
		}
	}
	return nil
}

func (d *demo) registerPath() string { return filepath.Join(d.folder, "register") }

// await hears events until one is what is waited for.
func (d *demo) await(ctx context.Context, is func(event) bool) (event, error) {
	for {
		select {
		case e := <-d.events:
			d.hear(e)
			if is(e) {
				return e, nil
			}
		case <-ctx.Done():
			return event{}, fmt.Errorf("it did not happen: %w", ctx.Err())
		}
	}
}

// watch hears events for some time.
func (d *demo) watch(ctx context.Context, how time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, how)
	defer cancel()
	for {
		select {
		case e := <-d.events:
			d.hear(e)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return nil
		}
	}
}

func (d *demo) hear(e event) {
	if e.Kind == gone {
		d.left++
	}
	d.judge.hear(e)
	d.screen.hear(e, d.clock.Now())
}

// keeper orders one worker to keep the register when it has it, and waits for it.
func (d *demo) keeper(ctx context.Context, of *process) error {
	if err := of.order("keep"); err != nil {
		return err
	}
	_, err := d.await(ctx, func(e event) bool { return e.Kind == keeping && e.worker == of.number })
	return err
}

// killHolder kills a worker while it has the register, and waits until another one
// has it.
func (d *demo) killHolder(ctx context.Context) error {
	victim := d.team[0]
	if err := d.keeper(ctx, victim); err != nil {
		return err
	}
	at := d.clock.Now()
	if err := victim.kill(); err != nil {
		return err
	}
	d.judge.killed(victim.number, at)
	d.screen.say("worker %d has %s: killed with SIGKILL; its session is not renewed any more", victim.number, registerName)
	next, err := d.await(ctx, func(e event) bool { return e.Kind == entered && e.Name == registerName && e.At > at })
	if err != nil {
		return err
	}
	d.screen.say("worker %d has %s %.2fs later, under token %v", next.worker, registerName, (next.At - at).Seconds(), next.Token)
	return nil
}

// stopHolder stops a worker while it has the register until another one has
// written, and lets it wake and write.
func (d *demo) stopHolder(ctx context.Context) error {
	victim := d.team[1]
	if err := d.keeper(ctx, victim); err != nil {
		return err
	}
	at := d.clock.Now()
	if err := victim.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	d.screen.say("worker %d has %s: stopped with SIGSTOP", victim.number, registerName)
	next, err := d.await(ctx, func(e event) bool { return e.Kind == wrote && e.worker != victim.number && e.At > at })
	if err != nil {
		return err
	}
	d.screen.say("worker %d has written under token %v; worker %d is let go, and writes under its own", next.worker, next.Token, victim.number)
	if err := victim.order("go on"); err != nil {
		return err
	}
	if err := victim.signal(syscall.SIGCONT); err != nil {
		return err
	}
	late, err := d.await(ctx, func(e event) bool {
		return e.worker == victim.number && (e.Kind == refused || e.Kind == wrote || e.Kind == failed)
	})
	if err != nil {
		return err
	}
	if late.Kind == refused {
		d.screen.say("the register refused worker %d: %s", victim.number, late.Why)
	}
	return nil
}

// grace is how long workers may take to end by themselves.
const grace = 5 * time.Second

// stop ends the workers and the member in good order, and hears what is left to be
// said.
func (d *demo) stop() error {
	var errs []error
	for _, w := range d.team {
		errs = append(errs, w.finish())
	}
	late := time.AfterFunc(grace, func() {
		for _, w := range d.team {
			_ = w.kill() // its death is what is waited for, and told below
		}
	})
	for left := len(d.team) - d.left; left > 0; left = len(d.team) - d.left {
		d.hear(<-d.events)
	}
	if !late.Stop() {
		errs = append(errs, fmt.Errorf("workers did not end within %v", grace))
	}
	if d.member != nil {
		errs = append(errs, d.member.terminate())
	}
	if len(d.team) == workers {
		writes, err := Register{d.registerPath()}.Writes()
		d.writes = writes
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// conclude prints the verdict.
func (d *demo) conclude() error {
	v := d.judge.verdict(d.writes)
	d.screen.close()
	for _, text := range append(v.violations, v.missing...) {
		fmt.Fprintln(d.Out, text)
	}
	if _, err := fmt.Fprintln(d.Out, v); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	if !v.good() {
		return errors.New("the demo has failed; its last lines say why")
	}
	return nil
}
