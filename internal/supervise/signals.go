//go:build unix

package supervise

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Signals receives the signals that a person or a service manager sends to the caller.
type Signals struct {
	arrived chan os.Signal
	dropped chan os.Signal
	stopped chan struct{}
}

// heard bounds the number of unread signals; further ones are dropped, as the kernel drops a signal that is already
// pending.
const heard = 32

// NewSignals begins to receive INT, TERM, HUP, QUIT, USR1 and USR2, except INT and HUP if they were ignored when the
// program started. From now on SIGPIPE is not fatal: a diagnostic without a reader is an error of its write, not the
// caller's death.
func NewSignals() *Signals {
	s := &Signals{
		arrived: make(chan os.Signal, heard),
		dropped: make(chan os.Signal, 1),
		stopped: make(chan struct{}),
	}
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(s.arrived, sig)
		}
	}
	signal.Notify(s.dropped, syscall.SIGPIPE)
	return s
}

// Arrived delivers the signals, as long as there is no command to forward them to. [SignalStatus] is the exit status
// for a signal.
func (s *Signals) Arrived() <-chan os.Signal { return s.arrived }

// Forward sends every signal to p's group, including those not yet received from Arrived, until the command and
// everything adopted from it has ended, or Stop is called. It does not block.
func (s *Signals) Forward(p *Process) {
	go func() {
		for {
			select {
			case sig := <-s.arrived:
				if err := p.signal(sig.(syscall.Signal)); err != nil {
					p.notice(err.Error())
				}
			case <-p.Left():
				return
			case <-s.stopped:
				return
			}
		}
	}()
}

// Stop returns the signals to the system, and may be called once.
func (s *Signals) Stop() {
	signal.Stop(s.arrived)
	signal.Stop(s.dropped)
	close(s.stopped)
}

// Signalled is the cause of a context that a signal has ended.
type Signalled struct{ Signal os.Signal }

// Error names the signal.
func (s *Signalled) Error() string { return fmt.Sprintf("ended by signal %v", s.Signal) }

// Status returns the exit status for the signal.
func (s *Signalled) Status() int { return SignalStatus(s.Signal) }

// UntilSignal returns a context that the first INT, TERM or HUP ends, with a *[Signalled] as its cause. After stop the
// system handles signals again.
func UntilSignal(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case sig := <-arrived:
			cancel(&Signalled{sig})
		case <-until.Done():
		}
	}()
	return until, func() {
		signal.Stop(arrived)
		cancel(nil)
	}
}
