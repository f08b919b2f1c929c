package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveUntil accepts clients and other members until ctx ends, a port does, or an
// operator's call has let the member leave. It calls ready once, when every space can
// grant. Clients are served before that, too: they wait, or get the error that no member can
// grant.
func (m *member) serveUntil(ctx context.Context, ready func()) error {
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
	waiting, served := context.WithCancel(ctx)
	work.Go(func() { m.logRecovery(waiting) })
	work.Go(func() {
		defer served()
		if err := m.node.WaitReady(ctx); err != nil {
			// It ends, or cannot take part; or others use a space's store with other settings.
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

// lookAgain is how often logRecovery looks what is waited for.
const lookAgain = time.Second

// logRecovery logs which spaces cannot grant yet, why, and until when, whenever that
// has changed, until ctx ends.
//
// A member alone makes itself the leader of what it keeps on the disk a moment after its start: so much is no news.
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

// logCondition logs one space's condition, unless it has logged that before.
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

// leave lets the member leave because an operator's call asks for it. Serve ends then,
// even if the view could not be left in time.
func (m *member) leave(ctx context.Context) error {
	defer m.leaving.Do(func() { close(m.left) })
	m.log.Info("leaving", "why", "an operator's call")
	return m.node.Leave(ctx)
}

// drain is leave once nothing is held through the member.
func (m *member) drain(ctx context.Context) error {
	defer m.leaving.Do(func() { close(m.left) })
	m.log.Info("draining: new work is refused", "why", "an operator's call")
	return m.node.Drain(ctx)
}

// How long leaving may take: until the clients that hold something through the member
// have stopped, and the others have a view without it; and until clients have heard.
// Both together stay under the ten seconds that many a service manager waits before it
// kills.
const (
	leaveLimit    = 5 * time.Second
	shutdownLimit = 4 * time.Second
)

// stop leaves in good order: clients that hold something through the member get a revocation,
// all clients go elsewhere, and no view has the member any more, so that no
// member has to wait for it. The others wait for what has not happened in time.
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
	if closed != nil {
		return fmt.Errorf("serve: leave in good order: %w", closed)
	}
	m.log.Info("left")
	return nil
}

// mustLeave reports whether there is a view to leave, and an operator's call has not let
// the member leave it, as far as that was possible.
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
