package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveUntil accepts clients and other members until ctx ends, a port fails, or the member has left by an operator's
// call. It calls ready once, when every space can grant. Clients are served before that, too: they wait, or get the
// error that no member can grant. Each of hangups is an operator's signal to read the policy again.
func (m *member) serveUntil(ctx context.Context, hangups <-chan os.Signal, ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	defer work.Wait()
	accept := func(accept func(net.Listener) error, l net.Listener) {
		go func() {
			if err := accept(l); err != nil {
				cancel(err)
			}
		}()
	}
	if m.grpc != nil {
		accept(m.server.AcceptGRPC, m.grpc)
	}
	if m.socket != nil {
		accept(m.server.AcceptGRPC, m.socket)
	}
	if m.web != nil {
		accept(m.server.AcceptHTTP, m.web)
	}
	work.Go(func() { m.followGuard(ctx, hangups) })
	waiting, served := context.WithCancel(ctx)
	work.Go(func() { m.logRecovery(waiting) })
	work.Go(func() {
		defer served()
		if err := m.node.WaitReady(ctx); err != nil {
			// It ends, or is unfit; or others use a space's store with other settings.
			if refused := new(holdfast.Error); ctx.Err() == nil && errors.As(err, &refused) {
				cancel(badSpace(err))
			}
			return
		}
		m.ready.Store(true)
		ready()
	})
	unfits := make(chan error, 1)
	work.Go(func() { unfits <- m.node.Unfit(ctx) })
	var unfit error
	select {
	case <-ctx.Done():
	case <-m.left:
	case unfit = <-unfits:
		if ctx.Err() != nil {
			unfit = nil
		}
	}
	cause := context.Cause(ctx)
	cancel(nil)
	switch {
	case unfit != nil:
		return misconfigured("serve: %w", unfit)
	case cause != nil && !errors.Is(cause, context.Canceled):
		return fmt.Errorf("serve: %w", cause)
	}
	return nil
}

// badSpace gives the error of a space that will never grant its exit code.
func badSpace(err error) error {
	if errors.Is(err, holdfast.ErrConflict) {
		return &exitError{exitConfiguration, err}
	}
	return err
}

// lookAgain is the interval of logRecovery's checks.
const lookAgain = time.Second

// logRecovery logs which spaces cannot grant yet, why, and until when, whenever that has changed, until ctx ends.
//
// A member alone becomes the leader of its durable spaces a moment after its start: so much is not logged.
func (m *member) logRecovery(ctx context.Context) {
	logged := map[string]string{}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for first := true; ; first = false {
		for i, space := range m.node.Spaces() {
			reply, err := m.node.Driver().Do(ctx, protocol.Port(i+1), &protocol.Inspect{})
			if err != nil {
				return // it ends
			}
			condition := reply.Result.(*protocol.Condition)
			if first && !m.settings.Clustered() && condition.State == protocol.Unavailable {
				continue
			}
			m.logCondition(space.Name, condition, logged)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// logCondition logs one space's condition, unless it has already logged the same.
func (m *member) logCondition(space string, condition *protocol.Condition, logged map[string]string) {
	text := condition.State.String() + condition.Why
	if condition.State == protocol.Ready || logged[space] == text {
		return
	}
	logged[space] = text
	until := "unknown"
	if condition.Until != 0 && condition.Until != protocol.Never {
		until = api.At(m.node.Driver().Wall(condition.Until)).String()
	}
	m.log.Warn("not ready", "space", space, "state", condition.State.String(), "why", condition.Why, "until", until)
}

// leave makes the member leave by an operator's call. Serve then ends, even if the view could not be left in time.
func (m *member) leave(ctx context.Context) error {
	defer m.leaving.Do(func() { close(m.left) })
	m.log.Info("leaving", "why", "an operator's call")
	return m.node.Leave(ctx)
}

// drain is leave once no lock is held through the member.
func (m *member) drain(ctx context.Context) error {
	defer m.leaving.Do(func() { close(m.left) })
	m.log.Info("draining: new work is refused", "why", "an operator's call")
	return m.node.Drain(ctx)
}

// Time limits of a leave: until clients with locks through the member have stopped, and the others have a view without
// it; and until clients have been informed. Both together stay under the ten seconds that many service managers wait
// before they kill.
const (
	leaveLimit    = 5 * time.Second
	shutdownLimit = 4 * time.Second
)

// stop leaves in an orderly way: clients with locks through the member get a revocation, all clients go elsewhere, and
// no view contains the member any more, so that no member has to wait for it. If time runs out, the others wait for the
// rest.
func (m *member) stop() error {
	leaving, done := context.WithTimeout(context.Background(), leaveLimit)
	defer done()
	if m.mustLeave() {
		if err := m.node.Leave(leaving); err != nil {
			m.log.Warn("left without the agreement of the others, or with clients that still hold locks", "error", err)
		}
	}
	shutdown, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	if err := m.server.Shutdown(shutdown); err != nil {
		m.log.Warn("some requests were left unanswered", "error", err)
	}
	closed := m.node.Close()
	if err := m.stores.close(); err != nil {
		m.log.Warn("a store was not closed in good order", "error", err)
	}
	if err := m.audit.Close(); err != nil {
		m.log.Warn("the end of the audit log is not written", "error", err)
	}
	if closed != nil {
		return fmt.Errorf("serve: leave in good order: %w", closed)
	}
	m.log.Info("left")
	return nil
}

// mustLeave reports whether there is a view to leave that an operator's call has not already made the member leave, as
// far as possible.
func (m *member) mustLeave() bool {
	select {
	case <-m.left:
		return false
	default:
		return m.node.View().Number > 0
	}
}

// deafen closes the ports of a member that did not start.
func (m *member) deafen() error {
	var errs []error
	for _, l := range []net.Listener{m.grpc, m.socket, m.web} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}
