package host

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/protocol"
)

// traceFile has the trace of all input and output of the member's machines.
type traceFile struct {
	tap      *trace.Tap
	file     *trace.File
	recorder *trace.Recorder
}

// openTrace opens the trace file, if any, before the first promise, so that it contains all of them.
func (n *Member) openTrace() (err error) {
	if n.config.Trace == "" {
		return nil
	}
	n.trace = &traceFile{}
	if n.trace.file, err = trace.Open(n.config.Trace, n.config.TraceSize, n.logger); err != nil {
		return fmt.Errorf("field Trace: %w", err)
	}
	return nil
}

// entropy returns the machines' source of random values.
func (n *Member) entropy() member.Entropy {
	if n.trace == nil {
		return member.Entropy{Rand: secretRand()}
	}
	n.trace.tap = trace.NewTap(secretRand())
	return n.trace.tap.Entropy()
}

// recorded returns the machine that the driver steps: the session machine, or its recorder.
func (n *Member) recorded(from *member.Config, built *member.Machines) (protocol.Machine, error) {
	if n.trace == nil {
		return built.Session, nil
	}
	recorder, err := trace.New(trace.Config{
		Config: from, Machine: built.Session, Cell: n.cell, Tap: n.trace.tap, Protocols: member.Protocols(), Store: n.trace.file,
	})
	if err != nil {
		return nil, err
	}
	n.trace.recorder = recorder
	return recorder, nil
}

// closeTrace ends the trace. The driver is no longer stepping.
func (n *Member) closeTrace() error {
	switch {
	case n.trace == nil || n.trace.file == nil:
		return nil
	case n.trace.recorder == nil:
		n.trace.file.Ended("") // the member did not start
	default:
		n.trace.recorder.Close()
	}
	return n.trace.file.Close()
}
