package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

// openGuard reads the policy and the tokens, and opens the audit log.
func (m *member) openGuard(name, state string) error {
	s := m.settings
	log, err := audit.Open(audit.Config{To: s.Audit.To, Member: name})
	if err != nil {
		return misconfigured("serve: %w; give another one with --audit", err)
	}
	m.audit = log
	c := guard.Config{File: s.Access, Insecure: s.InsecureFiles, Audit: log, Unaudited: s.Audit.Optional, Logger: m.log}
	if path := s.TokensFile(state); path != "" {
		c.Tokens = token.Open(token.Options{Path: path, Insecure: s.InsecureFiles, Logger: m.log})
	}
	if m.guard, err = guard.Open(c); err != nil {
		return misconfigured("serve: %w; holdfast access test FILE checks it", err)
	}
	return nil
}

// followGuard reads the policy again when it changes and, after each of hangups, opens the audit log anew, until ctx ends.
func (m *member) followGuard(ctx context.Context, hangups <-chan os.Signal) {
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		m.guard.Follow(ctx)
	}()
	for {
		select {
		case <-hangups:
			m.log.Info("the policy is read again, and the audit log opened anew", "signal", syscall.SIGHUP.String())
			m.guard.Reload()
			if err := m.audit.Reopen(); err != nil {
				m.log.Error(err.Error())
			}
		case <-ctx.Done():
			<-followed
			return
		}
	}
}

// reloads reports whether HUP is an operator's signal: without a terminal it does not mean that the terminal is gone. A
// program that was started with HUP ignored, as by nohup, keeps ignoring it.
func reloads() bool {
	if signal.Ignored(syscall.SIGHUP) {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return true
	}
	_ = terminal.Close() // nothing was written
	return false
}
