//go:build unix

package supervise

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Signals are the signals that a person or a service manager sends to the caller.
type Signals struct {
	arrived chan os.Signal
	dropped chan os.Signal
	stopped chan struct{}
}

// heard bounds how many signals may arrive before a reader listens; what comes
// beyond is dropped, as the kernel drops a signal that is pending already.
const heard = 32

// NewSignals begins to receive INT, TERM, HUP, QUIT, USR1 and USR2, except INT and
// HUP if they were ignored when the program started. SIGPIPE ends nothing from now on: a
// diagnostic that no process reads is an error of its write, not the caller's death.
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

// Arrived delivers the signals, for as long as there is no command to forward them
// to. [SignalStatus] is the exit status that a signal asks for.
func (s *Signals) Arrived() <-chan os.Signal { return s.arrived }

// Forward sends every signal to p's group, from the ones that were not taken from Arrived yet, until the command
// has ended, and what was adopted of it, or Stop is called. It does not wait.
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

// Stop gives the signals back to the system, and may be called once.
func (s *Signals) Stop() {
	signal.Stop(s.arrived)
	signal.Stop(s.dropped)
	close(s.stopped)
}

// Signalled is why a context has ended that a signal ends.
type Signalled struct{ Signal os.Signal }

// Error says which signal it was.
func (s *Signalled) Error() string { return fmt.Sprintf("ended by signal %v", s.Signal) }

// Status is the exit status that it asks for.
func (s *Signalled) Status() int { return SignalStatus(s.Signal) }

// UntilSignal returns a context that the first INT, TERM or HUP ends, with a *[Signalled] as its
// cause. After stop signals are left to the system again.
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
