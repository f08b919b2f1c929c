package node

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Node is this process as a member. It is a holdfast.Locker of the default space. Its methods are safe for concurrent
// use.
type Node struct{ member *host.Member }

var (
	_ holdfast.Locker   = (*Node)(nil)
	_ holdfast.Observer = (*Node)(nil)
)

// StartError is an error of Start whose text says what to do about it: the folders belong to another member or cluster,
// or have other spaces; their contents are damaged or missing; or a space has an option, or a store, that its protocol
// cannot use. Other errors, such as a folder that is not writable, need no such advice.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Start makes this process a member. A member alone has its first view when Start returns. A member of a cluster starts
// to look for the others, and locks wait until it has found them (WaitReady). Locks also wait for the promises of an
// earlier life. The error names the field, the folder or the log at fault, and is a *StartError if it says what to do.
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

// Observe yields the current state of a name and each change of it. See holdfast.Observer. A member that cannot tell the
// state for a time, as without a quorum, goes on when it can again. A space whose locks are in a store is an
// ErrUnsupported: observe it with package storelock.
func (n *Node) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return n.member.Observe(ctx, name)
}

// Space returns the Locker of another space of this member, with the same session. It is a holdfast.Observer as well.
func (n *Node) Space(name string) holdfast.Locker { return n.member.Space(name) }

// Session opens another session of this process: a Locker with separate owners, whose Close releases only the locks
// held through it. The Node's Close closes it too.
func (n *Node) Session(ctx context.Context) (holdfast.Locker, error) { return n.member.Session(ctx) }

// Close ends the sessions of this process, informs the others that this member leaves, and stops. It waits for their
// answer for a lease, or 5 s if that is longer. To end a member cleanly, call Leave or Drain first.
func (n *Node) Close() error { return n.member.Close() }

// Leave leaves the cluster cleanly. The member accepts nothing new, and Leave returns when no view has this member and
// neither the others nor its next start has to wait for it. If ctx ends first, the error is the context's, and the
// others wait for this member's promises to expire.
func (n *Node) Leave(ctx context.Context) error { return n.member.Leave(ctx) }

// Drain accepts nothing new, waits until nothing is held through this member, at most until ctx ends, and then leaves.
func (n *Node) Drain(ctx context.Context) error { return n.member.Drain(ctx) }

// WaitReady waits until every space can grant (or could if an operator had not suspended it) and the cluster counts on
// this member: then another member may be stopped. The error is the context's, with what is missing; ErrClosed; the
// reason why this member is unfit; or an ErrConflict if others use a space's store with different settings.
func (n *Node) WaitReady(ctx context.Context) error { return n.member.WaitReady(ctx) }

// Unfit waits until this member can no longer participate, and returns why: its identity or its data cannot be written,
// or it disagrees with the cluster on a required setting. The caller must then close the member. Otherwise the error is
// ErrClosed or the context's.
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

// Assured returns for how long from now all locks of this process in a space are safe even without another renewal. In
// a space of protocol claim that is until the first of its claims may expire, and in protocol consensus until the group
// may end the first of its sessions. It is holdfast.Forever if nothing is held, and in spaces whose locks end with the
// member's lease.
func (n *Node) Assured(space string) time.Duration { return n.member.Assured(space) }
