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
	for _, of := range found {
		t := newTable(of.Header...)
		for _, row := range of.Rows {
			t.row(row...)
		}
		tables = append(tables, t)
	}
	return f.output.print(tables...)
}

// verdict prints the last line.
func (f *figures) verdict(verdict string, took time.Duration) error {
	to := f.program.stdout
	if f.output.format != formatTable {
		to = f.program.stderr
	}
	return written(fmt.Fprintf(to, "bench: %s in=%.0fs\n", verdict, took.Seconds()))
}
