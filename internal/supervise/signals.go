//go:build unix

package supervise

import (
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

// heard bounds how many signals may arrive before anybody listens; what comes
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
