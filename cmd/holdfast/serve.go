package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// serveCommand runs a member until a signal ends it.
func (p *program) serveCommand() *cli.Command {
	printConfig := switchFlag("print-config", "print the configuration and where each value came from, and end")
	return &cli.Command{
		Name:      "serve",
		Usage:     "start a member and serve clients",
		UsageText: name + " serve [flags]",
		Description: "Without flags it runs a single member that keeps its locks on the disk. When it can grant, it prints one line\n" +
			"of JSON. TERM or INT shuts it down in good order; a different signal, or the same one a second later, ends it at\n" +
			"once. A flag overrides its environment variable, which overrides the file of --config.\n\n" + optionsOfSpaces(),
		Flags:                     append(configurationFlags(), printConfig),
		DisableSliceFlagSeparator: true,
		Action:                    p.serve,
	}
}

// optionsOfSpaces lists the options that may follow the protocol in --space.
func optionsOfSpaces() string {
	var b strings.Builder
	b.WriteString("Options of a space, as in --space jobs=grantor,placement=on:\n")
	for _, o := range config.Options() {
		fmt.Fprintf(&b, "  %s (%s): %s. Values: %s.\n", o.Name, o.For(), strings.TrimSuffix(o.Help, "."), o.Values())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// configurationFlags makes a flag of every configuration key. Package config reads their variables, so the parser does
// not get them.
func configurationFlags() []cli.Flag {
	var flags []cli.Flag
	for _, key := range config.Keys() {
		usage := strings.TrimSuffix(key.Help, ".") + " [$" + key.Env + "]"
		switch {
		case key.Kind == config.Switch:
			flags = append(flags, &cli.BoolFlag{Name: key.Flag, Usage: usage, HideDefault: true})
		case key.Separator != "":
			flags = append(flags, &cli.StringSliceFlag{Name: key.Flag, Usage: usage, DefaultText: key.Default, HideDefault: key.Default == ""})
		default:
			flags = append(flags, &cli.StringFlag{Name: key.Flag, Usage: usage, DefaultText: key.Default, HideDefault: key.Default == "", OnlyOnce: true})
		}
	}
	return flags
}

// configurationOf loads the configuration from c's flags, the environment and the file.
func (p *program) configurationOf(c *cli.Command) (*config.Config, error) {
	flags := map[string]string{}
	for _, key := range config.Keys() {
		if !c.IsSet(key.Flag) {
			continue
		}
		switch {
		case key.Kind == config.Switch:
			flags[key.Name] = strconv.FormatBool(c.Bool(key.Flag))
		case key.Separator != "":
			flags[key.Name] = strings.Join(c.StringSlice(key.Flag), key.Separator)
		default:
			flags[key.Name] = c.String(key.Flag)
		}
	}
	return config.Load(config.Sources{Flags: flags, Environ: p.environ})
}

// serve runs a member.
func (p *program) serve(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	settings, err := p.configurationOf(c)
	if err != nil {
		return err
	}
	if c.Bool("print-config") {
		return settings.PrintConfig(p.stdout)
	}
	log, err := p.logger(settings.Log)
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1) // one that comes before the member heeds it waits here
	ctx, stop := p.untilSignal(ctx, log, hangups)
	defer stop()
	m, err := p.startMember(ctx, settings, log)
	switch {
	case errors.Is(err, context.Canceled):
		return nil // ended before it had begun
	case err != nil:
		return err
	}
	err = m.serveUntil(ctx, hangups, func() { p.ready(m, log) })
	notify("STOPPING=1", log) // after READY=1, if that was sent
	return errors.Join(err, m.stop())
}

// ready reports that the member can grant.
func (p *program) ready(m *member, log *slog.Logger) {
	line := struct {
		Event   string `json:"event"`
		Name    string `json:"name"`
		Listen  string `json:"listen"`
		Socket  string `json:"socket,omitempty"`
		HTTP    string `json:"http"`
		Cluster string `json:"cluster"`
	}{"ready", m.node.Name(), m.listen, m.settings.Socket, m.http, m.cluster()}
	if err := json.NewEncoder(p.stdout).Encode(line); err != nil {
		log.Error("cannot write the ready line", "error", err)
	}
	notify("READY=1", log)
}

// untilSignal returns a context that a first INT or TERM ends and, on a terminal, a HUP, which otherwise goes to hangups.
// A second one ends the program at once; see heedEnd for what counts as one. A signal that was ignored when the program
// started stays ignored.
func (p *program) untilSignal(ctx context.Context, log *slog.Logger, hangups chan<- os.Signal) (context.Context, func()) {
	// A log without a reader must not end a member that has made promises.
	signal.Ignore(syscall.SIGPIPE)
	arrived := make(chan os.Signal, 2)
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if reloads() {
		signal.Notify(hangups, syscall.SIGHUP)
	} else {
		ends = append(ends, syscall.SIGHUP)
	}
	for _, sig := range ends {
		if !signal.Ignored(sig) {
			signal.Notify(arrived, sig)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go heedEnd(arrived, over, clock.Real(), func(sig os.Signal) {
		log.Info("leaving", "signal", sig.String())
		cancel()
	}, func(sig os.Signal) {
		p.say("serve: ended by a second signal before it had left in good order")
		os.Exit(supervise.SignalStatus(sig))
	})
	return ctx, func() {
		signal.Stop(arrived)
		signal.Stop(hangups)
		close(over)
		cancel()
	}
}

// sameRequest is how long a repeated signal counts as the same request.
const sameRequest = time.Second

// heedEnd calls first for the first signal and second for the second, unless over is closed before. The same signal
// again within sameRequest does not count: timeout(1), for example, sends its signal to the process and then to the
// whole group, and a member must still leave in an orderly way.
func heedEnd(arrived <-chan os.Signal, over <-chan struct{}, c clock.Clock, first, second func(os.Signal)) {
	var request os.Signal
	var since time.Duration
	for {
		select {
		case sig := <-arrived:
			now := c.Now()
			switch {
			case request == nil:
				request, since = sig, now
				first(sig)
			case sig != request || now-since >= sameRequest:
				second(sig)
				return
			}
		case <-over:
			return
		}
	}
}

// logger logs to standard error, with colours on a terminal.
func (p *program) logger(settings config.Log) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.Level)); err != nil {
		return nil, fmt.Errorf("read log.level: %w", err)
	}
	switch {
	case settings.Format == "json":
		return slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: level})), nil
	case p.colour(p.stderr):
		return slog.New(tint.NewTextHandler(p.stderr, &tint.Options{Level: level, TimeFormat: time.TimeOnly})), nil
	}
	return slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: level})), nil
}
