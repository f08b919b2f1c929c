package node

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/wire"
)

// Force makes a view of the named founders alone, this member among them, without the
// quorum that is lost for good, and returns when it is installed (membership.md §5). It
// grants after what anybody may have been promised before has run out. The code in
// Confirm is that of PlanForce: the view is not forced unless what that told still
// holds. If the founders that are not named are alive with a quorum of their own, two
// may hold one lock; nobody but the caller can know that. What was done, by whom and
// why, is in the log, and Forced tells it.
//
// The error is as those of PlanForce; an ErrConflict for a code that does not fit; or an
// ErrUnavailable where a named member did not answer: then the view is as it was, unless
// ctx has ended before it was known.
func (n *Node) Force(ctx context.Context, order wire.ForceView) (*wire.ForcedView, error) {
	if !n.forcing.TryLock() {
		return nil, wire.Fail(wire.CodeConflict, "another call forces a view through this member now; ask again when it has ended")
	}
	defer n.forcing.Unlock()
	if order.Reason == "" {
		return nil, wire.Fail(wire.CodeBadRequest, "reason: it is missing; say why the view is forced")
	}
	plan, err := n.PlanForce(ctx, order.Members)
	if err != nil {
		return nil, err
	}
	if order.Confirm != plan.Code {
		return nil, wire.Fail(wire.CodeConflict, fmt.Sprintf(
			"confirm %q does not fit what is known now: view %d, to be replaced by one of %s; ask again without it, and read what has changed",
			order.Confirm, plan.View, phrase(plan.Named)))
	}
	forced := &wire.ForcedView{
		Replaced: plan.View, Members: plan.Named, Reason: order.Reason, By: order.By, Time: wire.At(time.Now()),
	}
	log := n.logger.With("members", []string(plan.Named), "reason", order.Reason, "by", order.By)
	log.Warn("an operator forces a view", "replaces", plan.View, "without", []string(plan.Rivals))
	self, err := n.force(ctx, plan, order.Reason)
	if err != nil {
		log.Warn("the view was not forced", "replaces", plan.View, "error", err)
		return nil, err
	}
	forced.View, forced.Members = self.Cell.Accepted.Number, n.places(self, isFounder)
	if self.Until != protocol.Never {
		forced.From = wire.At(n.driver.Wall(self.Until))
	}
	log.Warn("a view was forced", "view", forced.View, "replaces", plan.View, "has", []string(forced.Members), "grants_from", forced.From)
	n.change(func() { n.forced = forced })
	return forced, nil
}

// Forced returns the latest view that was forced through this member in its life; nil
// where there is none.
func (n *Node) Forced() *wire.ForcedView {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.forced
}

// forceAttempts is how often the named members are asked for their promises: a message
// may be lost.
const forceAttempts = 3

// force lets the membership do it, and returns what it says when the view is installed.
func (n *Node) force(ctx context.Context, plan *wire.ForcePlan, reason string) (*membership.Self, error) {
	for range forceAttempts {
		reply, err := n.driver.Ask(ctx, protocol.Below, &membership.Force{Members: plan.Named, Reason: reason})
		if err != nil {
			return nil, fmt.Errorf("ask the membership: %w", closedOr(err))
		}
		if err := reply.Result.(*membership.Forced).Err; err != nil {
			return nil, fmt.Errorf("%w: %w", holdfast.ErrConflict, err)
		}
		self, err := n.awaitForced(ctx, plan)
		if self != nil || err != nil {
			return self, err
		}
	}
	return nil, fmt.Errorf("%w: not all of %s have promised to follow this member, asked %d times; view %d is as it was: see that they run and can be reached, or leave out who does not",
		holdfast.ErrUnavailable, phrase(plan.Named), forceAttempts, plan.View)
}

// awaitForced waits until the forced view is installed; it returns nil when the election
// has come to nothing.
func (n *Node) awaitForced(ctx context.Context, plan *wire.ForcePlan) (*membership.Self, error) {
	look := time.NewTicker(lookAgain / 10)
	defer look.Stop()
	until := n.driver.Now() + n.silence()
	for {
		n.mu.Lock()
		changed := n.changed
		n.mu.Unlock()
		self, err := n.Who(ctx)
		if err != nil {
			return nil, err
		}
		v := self.Cell.Accepted
		replaced := v.Epoch.Counter > plan.Epoch
		switch {
		case replaced && v.Epoch.Candidate != self.Cell.ID:
			return nil, wire.Fail(wire.CodeConflict, fmt.Sprintf("view %d came from another member meanwhile; nothing need be forced", v.Number))
		case replaced && v.Installed:
			return self, nil
		case !replaced && n.driver.Now() >= until:
			return nil, nil
		}
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: view %d is the newest here, and not all of %s have accepted another yet; look at the status before anything else",
				holdfast.ErrUnavailable, v.Number, phrase(plan.Named))
		}
	}
}
