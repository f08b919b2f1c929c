package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// figures is where the figures of a bench go: tables and the verdict to standard output, or a document there and the
// verdict to standard error; and a file, if one is named.
type figures struct {
	program *program
	host    load.Host
	output  *output
	file    *os.File // nil: none
}

// write writes the documents.
func (f *figures) write(result *load.Result, more ...load.Section) error {
	if f.file == nil && f.output.format == formatTable {
		return nil
	}
	var text bytes.Buffer
	if err := result.WriteJSON(&text, f.host, more...); err != nil {
		return err
	}
	if f.file != nil {
		if _, err := f.file.Write(text.Bytes()); err != nil {
			return fmt.Errorf("write the figures: %w", err)
		}
	}
	if f.output.format == formatTable {
		return nil
	}
	return f.output.document(json.RawMessage(text.Bytes()))
}

// tables prints tables, unless the figures are printed as a document.
func (f *figures) tables(found []load.Table) error {
	if f.output.format != formatTable {
		return nil
	}
	var tables []*table
	shed := false
	for _, of := range found {
		t := newTable(of.Header...)
		for _, row := range of.Rows {
			t.row(row...)
		}
		shed = t.shed(f.output, minorFigures) || shed
		tables = append(tables, t)
	}
	if shed {
		f.program.say("bench: the terminal is too narrow for all columns; a file and --output json have them")
	}
	return f.output.print(tables...)
}

// minorFigures are the columns that a narrow terminal does not show, the least important one first.
var minorFigures = []string{
	"CLIENT-ALLOCS", "SERVER-CPU-µs", "CLIENT-CPU-µs", "LOCK-P50-µs", "PING-µs", "BY", "PREDICTED", "UTIL", "OF-LIMIT", "MAX-µs", "[MIN–MAX]", "ERRORS",
}

// verdict prints the last line.
func (f *figures) verdict(verdict string, took time.Duration) error {
	to := f.program.stdout
	if f.output.format != formatTable {
		to = f.program.stderr
	}
	return written(fmt.Fprintf(to, "bench: %s in=%.0fs\n", verdict, took.Seconds()))
}
