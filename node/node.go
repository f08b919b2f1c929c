package node

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Node is this process as a member. It is a holdfast.Locker of the default space. Its methods may be called from
// many goroutines.
type Node struct{ member *host.Member }

var _ holdfast.Locker = (*Node)(nil)

// StartError is an error of Start whose text says what to do about it: the folders are another member's or
// another cluster's, or have other spaces; what they keep is damaged or gone; or a space has an option, or a store, that
// its protocol cannot work with. The caller knows what to do about other errors,
// as a folder that cannot be written.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *StartError) Unwrap() error { return e.Err }

// Start makes this process a member. A member alone has its first view when Start returns. A member of a cluster looks for the
// others from then on, and locks wait until it has found them (WaitReady). Locks also wait for what an earlier life may have
// promised. The error names the field, the folder or the log at fault, and is a *StartError where it says what to do.
func Start(ctx context.Context, c Config) (*Node, error) {
	member, err := host.Start(ctx, c.host())
	if err != nil {
		if _, explained := errors.AsType[*host.StartError](err); explained {
			err = &StartError{err}
		}
		return nil, err
	}
	return &Node{member}, nil
}

// Lock waits for the name. See holdfast.Locker.
func (n *Node) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return n.member.Lock(ctx, name, o...)
}

// TryLock takes the name if it is free. See holdfast.Locker.
func (n *Node) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	return n.member.TryLock(ctx, name, o...)
}

// LockAll takes all names or none. See holdfast.Locker.
func (n *Node) LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error) {
	return n.member.LockAll(ctx, names, o...)
}

// Space returns the Locker of another space of this member, with the same session.
func (n *Node) Space(name string) holdfast.Locker { return n.member.Space(name) }

// Session opens another session of this process: a Locker with owners of its own, whose Close releases what is held through
// it alone. The Node's Close closes it too.
func (n *Node) Session(ctx context.Context) (holdfast.Locker, error) { return n.member.Session(ctx) }

// Close ends the sessions of this process, tells the others that this member leaves, and stops. It waits for
// their answer a lease at most, or 5 s if that is longer. Leave and Drain come before it where a member ends in
// good order.
func (n *Node) Close() error { return n.member.Close() }

// Leave leaves the cluster in good order. It takes nothing new, and returns when no view has this member any more and neither
// the others nor its next start has to wait for it. Where ctx ends first the error is its own, and the others wait for
// what this member has promised.
func (n *Node) Leave(ctx context.Context) error { return n.member.Leave(ctx) }

// Drain takes nothing new, waits until nothing is held through this member, at most until ctx ends, and then
// leaves.
func (n *Node) Drain(ctx context.Context) error { return n.member.Drain(ctx) }

// WaitReady waits until every space can grant, or could if an operator had not suspended it, and until the cluster counts on this
// member: then another one may be stopped. The error is the context's, with what is still waited for; ErrClosed; why
// this member cannot take part; or an ErrConflict where others use a space's store with other settings.
func (n *Node) WaitReady(ctx context.Context) error { return n.member.WaitReady(ctx) }

// Unfit waits until this member cannot take part any more, and returns why: its identity or its data cannot be written, or
// it disagrees with the cluster on what all must agree on. The member must be closed then. Otherwise the error is ErrClosed
// or the context's.
func (n *Node) Unfit(ctx context.Context) error { return n.member.Unfit(ctx) }

// Name returns the member's name.
func (n *Node) Name() string { return n.member.Name() }

// View returns the newest view; the zero View before the first.
func (n *Node) View() protocol.View { return n.member.View() }

// Spaces returns the lockspaces, the default first.
func (n *Node) Spaces() (spaces []Space) {
	for _, space := range n.member.Spaces() {
		spaces = append(spaces, Space{Name: space.Name, Protocol: space.Protocol, Options: space.Given(), Store: space.Store})
	}
	return spaces
}

// Started returns when this life of the member began, by the wall clock.
func (n *Node) Started() time.Time { return n.member.Started() }

// SyncTime returns how long the disk of Config.Data took to sync a small write at the start; 0 without Data.
func (n *Node) SyncTime() time.Duration { return n.member.SyncTime() }

// Assured returns for how long from now all that this process holds in a space is safe, unless more is assured by
// then: in a space of protocol claim until the first of its claims may expire, and of protocol consensus until the group may
// end the first of its sessions. It is holdfast.Forever where nothing is held, and in spaces whose locks end with the member's
// lease.
func (n *Node) Assured(space string) time.Duration { return n.member.Assured(space) }
