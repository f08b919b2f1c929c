package main

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// host describes this machine. The version is that of this module, which is the same as Holdfast's.
func host() load.Host {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return load.Host{
		System: runtime.GOOS, Machine: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Version: version, Pinned: target.Pins(),
	}
}

// report prints the table and the last line. It mentions violations and errors of third-party targets; the verdict
// covers Holdfast and the yardsticks.
func (p *program) report(result *load.Result, hosted []load.Target, took time.Duration) error {
	var own, others load.Result
	for _, row := range result.Rows {
		if slices.ContainsFunc(hosted, func(t load.Target) bool { _, foreign := t.(load.Foreign); return foreign && t.Name() == row.Target }) {
			others.Rows = append(others.Rows, row)
		} else {
			own.Rows = append(own.Rows, row)
		}
	}
	violations, failures := own.Sum(load.Violations), own.Sum(load.Errors)
	verdict := "ok"
	switch {
	case violations > 0:
		verdict = fmt.Sprintf("VIOLATION violations=%.0f errors=%.0f", violations, failures)
	case failures > 0:
		verdict = fmt.Sprintf("FAILED errors=%.0f", failures)
	}
	text := layOut(result.Overview())
	for _, row := range others.Rows {
		for _, m := range []load.Metric{load.Violations, load.Errors} {
			if n, _ := row.Figure(m); n > 0 {
				fmt.Fprintf(text, "%s, %v: %s: %.0f\n", row.Target, row.Cell, m, n)
			}
		}
	}
	if result.FirstError != nil {
		fmt.Fprintf(text, "the first error: %v\n", result.FirstError)
	}
	fmt.Fprintf(text, "bench: %s in=%.0fs\n", verdict, took.Seconds())
	if _, err := text.WriteTo(p.stdout); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	switch {
	case violations > 0:
		return &exitError{exitViolation, errors.New("two workers had one lock at once; the table says where")}
	case failures > 0:
		return fmt.Errorf("%.0f calls of Holdfast or a yardstick ended with an error; the table says where", failures)
	}
	return nil
}

// layOut formats a table for people: a header line, columns two spaces apart.
func layOut(t load.Table) *bytes.Buffer {
	var text bytes.Buffer
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, cells := range slices.Concat([][]string{t.Header}, t.Rows) {
		shown := slices.Clone(cells)
		for i, cell := range shown {
			if cell == "" {
				shown[i] = "-"
			}
		}
		// A bytes.Buffer never fails.
		_, _ = fmt.Fprintln(columns, strings.Join(shown, "\t"))
	}
	_ = columns.Flush() // likewise
	return &text
}
