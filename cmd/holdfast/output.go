package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// The formats of --output.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatNames = "name"
)

// output is how a command prints its answer. On a terminal tables fit its width and have colours; elsewhere they have
// the same columns, and nothing is cut.
type output struct {
	to      io.Writer
	format  string // one of the formats
	wide    bool   // tables have all columns, and exact times
	columns int    // the width of the terminal; 0 if there is none
	colour  bool
	now     time.Time // what ages count to
}

// outputFlags are the flags for the form of an answer: a table by default.
func outputFlags(formats ...string) []cli.Flag {
	flags := []cli.Flag{outputFlag("the answer", formats), switchFlag("json", "short for --output json; --output overrides it")}
	if slices.Contains(formats, formatTable) {
		flags = append(flags, switchFlag("wide", "all columns of the table, and exact times instead of ages"))
	}
	return flags
}

// outputFlag is the flag for the form of something.
func outputFlag(of string, formats []string) cli.Flag {
	form := textFlag("output", "`FORMAT` of "+of+": "+alternatives(formats), "o")
	form.Validator = func(format string) error {
		if !slices.Contains(formats, format) {
			return fmt.Errorf("want %s", alternatives(formats))
		}
		return nil
	}
	return form
}

// listFlags are outputFlags of a command that lists or shows things with names.
func listFlags() []cli.Flag { return outputFlags(formatTable, formatJSON, formatYAML, formatNames) }

// tableFlags are outputFlags of a command that prints a table of things without names.
func tableFlags() []cli.Flag { return outputFlags(formatTable, formatJSON, formatYAML) }

// deedFlags are outputFlags of a command that prints nothing, or a sentence, without them.
func deedFlags() []cli.Flag { return outputFlags(formatJSON, formatYAML) }

// alternatives lists values, of which one can be chosen.
func alternatives(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// screen returns the output for tables that have no flags.
func (p *program) screen() *output {
	o := &output{to: p.stdout, format: formatTable, colour: p.colour(p.stdout), now: time.Now()}
	if supervise.IsTerminal(p.stdout) {
		o.columns = supervise.Columns(p.stdout)
		if given, err := strconv.Atoi(p.variable("COLUMNS")); err == nil && given > 0 {
			o.columns = given
		}
	}
	return o
}

// output returns the output that the flags of c ask for.
func (p *program) output(c *cli.Command) *output {
	o := p.screen()
	switch {
	case c.String("output") != "":
		o.format = c.String("output")
	case c.Bool("json"):
		o.format = formatJSON
	}
	if o.wide = c.Bool("wide"); o.wide {
		o.columns = 0
	}
	return o
}

// answer prints a member's answer in the format that the flags of c ask for. A table of the answer is built only if it
// is printed.
func (p *program) answer(c *cli.Command, document any, tables func(*output) []*table) error {
	o := p.output(c)
	switch {
	case o.format != formatTable:
		return o.document(document)
	case tables == nil:
		return nil
	}
	return o.print(tables(o)...)
}

// document prints a document in a format that is no table: names are one on each line.
func (o *output) document(document any) error {
	switch o.format {
	case formatYAML:
		return o.yaml(document)
	case formatNames:
		return o.names(namesIn(document))
	}
	return printJSON(o.to, document)
}

// yaml prints a document with the fields that it has in JSON.
func (o *output) yaml(document any) error {
	var text bytes.Buffer
	if err := printJSON(&text, document); err != nil {
		return err
	}
	converted, err := yamlOf(text.Bytes())
	if err != nil {
		return err
	}
	return written(o.to.Write(converted))
}

// names prints names, one on each line.
func (o *output) names(names []string) error {
	var text []byte
	for _, name := range names {
		text = append(append(text, formatName(name)...), '\n')
	}
	return written(o.to.Write(text))
}

// print prints tables, separated by blank lines.
func (o *output) print(tables ...*table) error {
	var text []byte
	for i, t := range tables {
		if i > 0 {
			text = append(text, '\n')
		}
		text = t.append(text, o)
	}
	return written(o.to.Write(text))
}

// since returns the title of a column of times in the past: of ages, or of exact times.
func (o *output) since() string {
	if o.wide {
		return "SINCE"
	}
	return "AGE"
}

// age formats a time in the past as a cell: how long ago it was or, with --wide, exactly.
func (o *output) age(t *timestamppb.Timestamp) string {
	if t == nil || o.wide {
		return formatTime(t)
	}
	return formatAge(o.now.Sub(t.AsTime()))
}

// when is age for a column of times that may be in the past or not: it says which.
func (o *output) when(t *timestamppb.Timestamp) string {
	switch {
	case t == nil || o.wide:
		return formatTime(t)
	case t.AsTime().After(o.now):
		return "in " + formatAge(t.AsTime().Sub(o.now))
	}
	return formatAge(o.now.Sub(t.AsTime())) + " ago"
}

// bold highlights a line on a terminal.
func (o *output) bold(line string) string { return o.paint("1", line) }

// state colours a word for a state on a terminal: green for what serves or is to be had, yellow for what changes by
// itself or waits, red for what takes a person. Other words have no colour.
func (o *output) state(word string) string {
	switch word {
	case "normal", "ready", "free", "granted", "agreed":
		return o.paint("32", word)
	case "grace", "joining", "recovering", "transferring", "leaving", "suspected", "suspended", "waiting", "asked", "overloaded":
		return o.paint("33", word)
	case "unavailable", "closed", "missing", "lost", "broken":
		return o.paint("31", word)
	}
	return word
}

// paint sets the colour of a text on a terminal.
func (o *output) paint(colour, text string) string {
	if !o.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// colour reports whether a file is a terminal with colours enabled.
func (p *program) colour(file *os.File) bool {
	if p.variable("NO_COLOR") != "" || p.variable("TERM") == "dumb" {
		return false
	}
	return supervise.IsTerminal(file)
}

// variable returns an environment variable; "" if it is not set. Of a repeated one the last counts.
func (p *program) variable(name string) string {
	value := ""
	for _, entry := range p.environ {
		if found, ok := strings.CutPrefix(entry, name+"="); ok {
			value = found
		}
	}
	return value
}

// printJSON writes a document as one line.
func printJSON(to io.Writer, document any) error {
	if message, is := document.(proto.Message); is {
		return printMessage(to, api.NewJSON(), message)
	}
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return written(0, encoder.Encode(document))
}

// printMessage writes a message of the network API as one line.
func printMessage(to io.Writer, json *api.JSON, message proto.Message) error {
	return written(to.Write(append(json.Append(nil, message), '\n')))
}

// printDocuments prints messages one after the other in a format that is no table.
func printDocuments[M proto.Message](o *output, messages []M) error {
	all, json := *o, api.NewJSON()
	out := bufio.NewWriter(o.to)
	all.to = out
	for _, message := range messages {
		var err error
		if o.format == formatJSON {
			err = printMessage(out, json, message) // which reuses what it knows of the message's type
		} else {
			err = all.document(message)
		}
		if err != nil {
			return err
		}
	}
	return written(0, out.Flush())
}

// written returns the error of a write to standard output.
func written[N int | int64](_ N, err error) error {
	if err != nil {
		return &exitError{exitInternal, fmt.Errorf("write to standard output: %w", err)}
	}
	return nil
}
