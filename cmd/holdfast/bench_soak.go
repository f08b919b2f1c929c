package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// benchSoak keeps a cluster busy, and reports the effect on the processes. A signal ends it cleanly: then the report
// covers the samples so far.
func (p *program) benchSoak(ctx context.Context, order *benchOrder, figures *figures) error {
	order.soak.Own = target.Own
	reported := false
	order.soak.OnSample = func(s soak.Sample) {
		if s.FirstError != nil && !reported {
			reported = true
			p.say("bench: soak: the first error: %v", s.FirstError)
		}
		p.say("bench: soak: %v of %v: %d turns, %d sessions, %d violations, %d errors",
			s.At.Round(100*time.Millisecond), order.soak.Duration, s.Turns, s.Sessions, s.Violations, s.Errors)
	}
	var result *soak.Result
	err := p.withTargets(ctx, order, func(_ load.Machine, targets []load.Target) (err error) {
		t := targets[0]
		cluster, ok := t.(soak.Cluster)
		if !ok {
			return fmt.Errorf("soak %s: it is no cluster", t.Name())
		}
		if err := t.Start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", t.Name(), err)
		}
		order.soak.Cluster = cluster
		result, err = soak.Run(ctx, order.soak)
		return errors.Join(err, t.Stop())
	})
	if result == nil {
		return reworded("bench", "", err)
	}
	err = errors.Join(err, figures.write(&load.Result{}, result.Sections()...))
	return errors.Join(p.soakVerdict(result, figures), err)
}

// soakVerdict prints the tables and the last line.
func (p *program) soakVerdict(result *soak.Result, figures *figures) error {
	if err := figures.tables(result.Tables()); err != nil {
		return err
	}
	if !result.Judged() {
		p.say("bench: a soak of less than a minute, or of a few samples, says nothing about growth: violations and errors alone are judged")
	}
	var grew []string
	for _, t := range result.Trends() {
		if t.Grew() {
			grew = append(grew, strings.ReplaceAll(t.Process, " ", "-")+"."+t.Figure)
		}
	}
	verdict := "ok"
	var err error
	switch {
	case result.Violations > 0:
		verdict = fmt.Sprintf("VIOLATION violations=%d errors=%d", result.Violations, result.Errors)
		err = &exitError{exitViolation, errors.New("bench: two workers had one lock at once")}
	case result.Errors > 0:
		verdict = fmt.Sprintf("FAILED errors=%d", result.Errors)
		err = fmt.Errorf("bench: %d turns went wrong, the first with %w", result.Errors, result.FirstError)
	case len(grew) > 0:
		verdict = "GREW figures=" + strings.Join(grew, ",")
		err = fmt.Errorf("bench: not flat: %s; the last table says by how much", strings.Join(grew, ", "))
	}
	if written := figures.verdict(verdict, result.Took); written != nil {
		return written
	}
	return err
}
