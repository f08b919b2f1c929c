package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Leave leaves the cluster in an orderly way, and waits for it. It revokes clients' holds through this member. When all
// clients have stopped, or can no longer believe that they hold anything, no view contains this member any more and no
// member has to wait for it: neither the others, nor its next start. If ctx ends first, the others wait for clients
// that still have holds. The member accepts nothing new from now on. Call Close after it.
//
// If all spaces have protocol consensus, it revokes nothing of other processes' clients: they continue elsewhere with
// their holds, as soon as others lead what this member has led.
func (n *Member) Leave(ctx context.Context) error {
	err := n.depart(ctx, &membership.Leave{})
	if err != nil {
		n.alone.Store(true) // Close need not find that out again
	}
	return err
}

// Drain accepts nothing new, waits until no locks are held through this member any more, at most until ctx ends, and
// then leaves. Clients without holds, or with holds in lasting spaces only, go elsewhere at once, the others as soon as
// they have released theirs.
func (n *Member) Drain(ctx context.Context) error {
	_, err := n.driver.Do(ctx, protocol.Below, &session.Drain{})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("drain: %w", closedOr(err))
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.leaveLimit())
	defer cancel()
	return n.Leave(last)
}

// Close ends the sessions of this process, informs the others that this member leaves, as far as that does not take
// long, and stops. It revokes clients' holds, and does not wait for them: clients believe until their deadlines, and a
// restart of the member waits for them. To wait for them first, call Leave.
func (n *Member) Close() error {
	n.closing.Do(func() {
		n.closeSessions()
		n.closeClaims()
		limit := n.leaveLimit()
		if n.alone.Load() {
			limit = lookAgain
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		n.closed = n.depart(ctx, &session.LeaveNow{})
		if n.config.clustered() && errors.Is(n.closed, context.DeadlineExceeded) {
			n.logger.Warn("left without the others' agreement")
			n.closed = nil // they will see that it is silent
		}
		n.closed = errors.Join(n.closed, n.release())
	})
	return n.closed
}

// closeClaims waits until stores have recorded releases in spaces of protocol claim. If one does not answer in time,
// those locks are free when their claims expire.
func (n *Member) closeClaims() {
	ctx, cancel := context.WithTimeout(context.Background(), n.leaveLimit())
	defer cancel()
	if err := n.SettleClaims(ctx); err != nil {
		n.logger.Warn("the store did not take all releases: those names are free when their claims expire", "error", err)
	}
}

// SettleClaims closes the spaces of protocol claim: no further locks are possible there. It returns when their stores
// have recorded all releases. The error names the first space where that was not so when ctx ended.
func (n *Member) SettleClaims(ctx context.Context) error {
	for i := range n.config.Spaces {
		if !n.config.Spaces[i].described.Stores {
			continue
		}
		if _, err := n.driver.Do(ctx, protocol.Port(i+1), &protocol.CloseSpace{}); err != nil {
			return &holdfast.Error{Op: "close", Space: n.config.Spaces[i].Name, Err: closedOr(err)}
		}
	}
	return nil
}

// leaveLimit returns how long a leaving member waits for the others, and for its disk. Otherwise its next start waits.
func (n *Member) leaveLimit() time.Duration { return max(n.config.Lease, 5*time.Second) }

// depart waits for the membership's last write.
func (n *Member) depart(ctx context.Context, how any) error {
	n.departing.Store(true)
	reply, err := n.driver.Do(ctx, protocol.Below, how)
	switch {
	case errors.Is(closedOr(err), holdfast.ErrClosed):
		return fmt.Errorf("leave: %w", holdfast.ErrClosed)
	case err != nil:
		return fmt.Errorf("leave: wait for the others, and for the stable cell: %w", err)
	}
	return reply.Result.(*membership.Left).Err
}

// release stops everything that was started, and gives the folder back. Callers that wait for news of the member are
// woken, to find it closed.
func (n *Member) release() error {
	var err error
	n.stopPolling()
	if n.driver != nil {
		err = n.driver.Close()
	}
	err = errors.Join(err, n.disconnect(), n.closeData(), n.closeCell(), n.closeTrace())
	n.change(func() { n.over = true })
	return err
}
