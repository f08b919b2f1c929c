package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/draw"
	"github.com/holdfast-locks/holdfast/sim/published"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// pictureFlags are the flags of every command that can draw its run.
func pictureFlags(of string) []cli.Flag {
	return []cli.Flag{
		textFlag("svg", "`FILE` for a picture of "+of),
		durationFlag("svg-from", 0, "start of the picture, as `TIME` of the run (default, with --svg-to: what led to the broken promise)"),
		durationFlag("svg-to", 0, "end of the picture; 0 is the end of the run"),
		countFlag("svg-events", draw.Events, "most `EVENTS` in the picture"),
	}
}

// drawing is a requested picture.
type drawing struct {
	path    string // empty if none is requested
	picture draw.Picture
	events  []timeline.Event
}

// drawingOf parses from the flags whether a picture is requested, and of what.
func drawingOf(c *cli.Command) (*drawing, error) {
	d := &drawing{path: c.String("svg"), picture: draw.Picture{From: c.Duration("svg-from"), To: c.Duration("svg-to"), Events: c.Int("svg-events")}}
	for _, flag := range []string{"svg-from", "svg-to", "svg-events"} {
		if d.path == "" && c.IsSet(flag) {
			return nil, usageError(c.Name, "flag --%s needs --svg FILE", flag)
		}
	}
	if err := d.picture.Check(); err != nil {
		return nil, usageError(c.Name, "flags --svg-from %v --svg-to %v --svg-events %d: %v", d.picture.From, d.picture.To, d.picture.Events, err)
	}
	return d, nil
}

// observer returns the receiver of the drawn run's events; nil without a picture. It discards those of an earlier run.
func (d *drawing) observer() func(timeline.Event) {
	if d.path == "" {
		return nil
	}
	d.events = d.events[:0]
	return func(h timeline.Event) { d.events = append(d.events, h) }
}

// write draws the events, with a title and the command that repeats them.
func (d *drawing) write(title, repeat string) (err error) {
	if d.path == "" {
		return nil
	}
	d.picture.Title, d.picture.Repeat = title, repeat
	file, err := os.Create(d.path)
	if err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the picture: %w", closed)
		}
	}()
	return d.picture.Write(file, d.events)
}

// field returns its field in the last line.
func (d *drawing) field() string {
	if d.path == "" {
		return ""
	}
	return " svg=" + d.path
}

// simPicture runs one seed again for its picture alone.
func simPicture(config sim.Config, seed uint64, d *drawing) error {
	if d.path == "" {
		return nil
	}
	config.Observe = d.observer()
	if _, err := sim.Run(config, seed, nil); err != nil {
		return err
	}
	return d.write(fmt.Sprintf("%s, seed %d", config.Protocol.Name, seed), simRepeat(config, seed))
}

// publishedPicture runs one seed without a rule for its picture alone.
func publishedPicture(row *published.Row, seed uint64, d *drawing) error {
	if d.path == "" {
		return nil
	}
	if _, err := row.Observe(seed, d.observer()); err != nil {
		return err
	}
	return d.write(fmt.Sprintf("%s without %q, seed %d", row.Protocol, row.Rule, seed), fmt.Sprintf("%s --seed %d", row.Command(), seed))
}

// simRepeat returns the command that runs a seed again.
func simRepeat(config sim.Config, seed uint64) string {
	repeat := fmt.Sprintf("%s sim --protocol %s --seed %d --faults %v --duration %v", name, config.Protocol.Name, seed, config.Faults, config.Duration)
	if config.Members != 0 {
		repeat += fmt.Sprintf(" --members %d", config.Members)
	}
	return repeat
}
