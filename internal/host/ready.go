package host

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// lookAgain is how often WaitReady polls for changes that raise no event here: the authority of a space may be another
// member.
const lookAgain = 200 * time.Millisecond

// WaitReady waits until every space can grant, or could unless an operator had suspended it, and the cluster counts on
// this member: then another one may be stopped. The error is the context's, with what it still waits for; ErrClosed;
// the reason why this member is unfit; or an ErrConflict if others use a space's store with other settings.
func (n *Member) WaitReady(ctx context.Context) error {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		n.mu.Lock()
		changed, unfit := n.changed, n.unfit
		n.mu.Unlock()
		if unfit != nil {
			return unfit
		}
		waiting, err := n.notReady(ctx)
		if err != nil || waiting == "" {
			return err
		}
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", waiting, ctx.Err())
		}
	}
}

// Unfit waits until this member is unfit, though it was not closed, and returns the reason: its cell or its data cannot
// be written, or it disagrees with the cluster on the common terms, which may show at any time. It must then be closed.
// Otherwise the error is ErrClosed or the context's.
func (n *Member) Unfit(ctx context.Context) error {
	for {
		n.mu.Lock()
		changed, unfit, over := n.changed, n.unfit, n.over
		n.mu.Unlock()
		switch {
		case unfit != nil:
			return unfit
		case over:
			return holdfast.ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notReady returns the first space that cannot grant, with the reason, or what else is awaited; "" for nothing. The
// error is that of a space that never will.
func (n *Member) notReady(ctx context.Context) (first string, err error) {
	for i, s := range n.config.Spaces {
		reply, err := n.driver.Do(ctx, protocol.Port(i+1), &protocol.Inspect{})
		if err != nil {
			return "", closedOr(err)
		}
		c := reply.Result.(*protocol.Condition)
		if n.forwards(protocol.Port(i+1)) && len(n.Insiders()) > 0 {
			continue // others serve its clients
		}
		if c.State == protocol.Ready || c.State == protocol.Suspended {
			continue
		}
		if fault := n.faultOf(&s); fault != nil {
			return "", &holdfast.Error{Op: "open", Space: s.Name, Err: fault}
		}
		if first != "" {
			continue
		}
		first = fmt.Sprintf("space %q is %v: %s", s.Name, c.State, c.Why)
		if left := c.Until - n.driver.Now(); c.Until != protocol.Never && left > 0 {
			first += fmt.Sprintf(" (for %v)", left.Round(time.Millisecond))
		}
		first += n.whyNoView(ctx)
	}
	if first != "" {
		return first, nil
	}
	return n.whyUncounted(ctx)
}

// whyUncounted returns why the cluster does not count on this member yet, if so: it has no place, or the members that
// count must still agree to the view with this one.
func (n *Member) whyUncounted(ctx context.Context) (string, error) {
	if !n.config.needsViews() {
		return "", nil
	}
	self, err := n.Who(ctx)
	if err != nil || !self.Uncounted {
		return "", err
	}
	return fmt.Sprintf("this member is %v: %s", self.State, self.Why), nil
}

// faultOf returns why a space will not be ready until this member is configured differently, or nil.
func (n *Member) faultOf(s *Space) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.faults[s.group()]
}

// whyNoView adds why this member is in no view that can serve, if so.
func (n *Member) whyNoView(ctx context.Context) string {
	self, err := n.Who(ctx)
	if err != nil || self.Why == "" {
		return ""
	}
	return fmt.Sprintf("; this member is %v: %s", self.State, self.Why)
}
