package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/run"
	"github.com/holdfast-locks/holdfast/session"
	"github.com/holdfast-locks/holdfast/storage/cell"
)

// Node is this process as a member. It is a holdfast.Locker of the default space.
type Node struct {
	locker
	config  Config
	cell    membership.Cell
	started time.Time
	driver  *run.Driver
	folder  *cell.Cell // nil where no cell is kept
	local   *localSession
	logger  *slog.Logger

	opening  sync.Mutex
	sessions map[*localSession]struct{} // of this process, open; nil after Close

	mu      sync.Mutex
	view    *protocol.View
	unfit   error
	changed chan struct{} // closed and replaced whenever view, unfit or a space's state changes

	closing sync.Once
	closed  error
}

var _ holdfast.Locker = (*Node)(nil)

// Start makes this process a member. It returns when the member has its first view;
// what an earlier life has promised may still have to be waited for (WaitReady),
// and locks wait for that too. The error names what is wrong: the field, the state
// folder that is in use or cannot be written, a damaged cell.
func Start(ctx context.Context, c Config) (*Node, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("start member: %w", err)
	}
	n := &Node{
		config: c, logger: c.Logger, started: time.Now(),
		changed: make(chan struct{}), sessions: map[*localSession]struct{}{},
	}
	if err := n.open(); err != nil {
		return nil, fmt.Errorf("start member %q: %w", c.Name, err)
	}
	if err := n.awaitView(ctx); err != nil {
		n.release()
		return nil, fmt.Errorf("start member %q: %w", c.Name, err)
	}
	local, err := n.openSession(ctx)
	if err != nil {
		n.release()
		return nil, fmt.Errorf("start member %q: %w", c.Name, err)
	}
	n.local = local
	n.locker = n.lockerOf(local, holdfast.DefaultSpace)
	return n, nil
}

// open builds the machines and starts their driver.
func (n *Node) open() error {
	kept, remembered, err := n.openCell()
	if err != nil {
		return err
	}
	random := secretRand()
	lone, err := membership.NewLone(membership.Config{
		Name: n.config.Name, Address: n.config.Address,
		Kept: kept, Cell: remembered, Serves: n.config.Serves,
		Lease: n.config.Lease, Drift: n.config.Drift,
		Wall: time.Duration(n.started.UnixNano()), Rand: random,
	})
	if err != nil {
		return errors.Join(err, n.closeCell())
	}
	n.cell = lone.Cell()
	spaces := make([]protocol.Machine, len(n.config.Spaces))
	for i := range spaces {
		if spaces[i], err = central.New(central.Config{Self: n.cell.ID, Table: n.config.table()}); err != nil {
			return errors.Join(err, n.closeCell())
		}
	}
	desk, err := session.NewDesk(session.Config{
		Member: n.cell.ID, Incarnation: n.cell.Incarnation, Rand: random, Spaces: len(spaces),
		Drift: n.config.Drift, Lease: n.config.Lease, TTL: n.config.TTL,
		MaxTTL: n.config.Limits.TTL, Sessions: n.config.Limits.Sessions,
	}, protocol.Stack(lone, spaces...))
	if err != nil {
		return errors.Join(err, n.closeCell())
	}
	config := run.Config{Machine: desk, Clock: n.config.Clock, Observe: n.config.Observe, Heed: n.heed, Logger: n.logger}
	if n.folder != nil {
		config.Storage = n.folder
	}
	if n.driver, err = run.New(config); err != nil {
		return errors.Join(err, n.closeCell())
	}
	return nil
}

// openCell reads what the member remembers.
func (n *Node) openCell() (kept bool, remembered membership.Cell, err error) {
	if n.config.State == "" {
		return false, membership.Cell{}, nil
	}
	folder, data, err := cell.Open(n.config.State)
	if err != nil {
		return false, membership.Cell{}, err
	}
	n.folder = folder
	if data == nil {
		return true, membership.Cell{}, nil
	}
	if remembered, err = membership.DecodeCell(data); err != nil {
		err = fmt.Errorf("read stable cell in %s: %w; a member must not start from a damaged memory: restore the file, or remove it only if no client of the member's former life is left", n.config.State, err)
		return false, membership.Cell{}, errors.Join(err, n.closeCell())
	}
	return true, remembered, nil
}

func (n *Node) closeCell() error {
	if n.folder == nil {
		return nil
	}
	return n.folder.Close()
}

// secretRand is a source that nobody can guess.
func secretRand() *mathrand.Rand {
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand ends the process instead
	return mathrand.New(mathrand.NewChaCha8(seed))
}

// heed runs under the driver's mutex.
func (n *Node) heed(_ protocol.Time, effects *protocol.Effects) {
	for _, fact := range effects.Raises {
		switch fact := fact.(type) {
		case *protocol.View:
			n.change(func() { n.view = fact })
		case *membership.Unfit:
			n.change(func() { n.unfit = fact.Err })
		}
	}
	for _, note := range effects.Notes {
		switch note := note.(type) {
		case protocol.Serving:
			n.change(func() {})
		case membership.Unsaved:
			n.logger.Error("the stable cell cannot be written", "error", note.Err)
		case central.Broke:
			n.logger.Warn("a lock was broken by an operator", "name", note.Name, "token", note.Token, "reason", note.Reason)
		}
	}
}

func (n *Node) change(apply func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	apply()
	close(n.changed)
	n.changed = make(chan struct{})
}

// awaitView waits for the first view.
func (n *Node) awaitView(ctx context.Context) error {
	for {
		n.mu.Lock()
		view, unfit, changed := n.view, n.unfit, n.changed
		n.mu.Unlock()
		switch {
		case unfit != nil:
			return unfit
		case view != nil:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WaitReady waits until every space can grant. The error is the context's, with
// what is still waited for, or ErrClosed.
func (n *Node) WaitReady(ctx context.Context) error {
	for {
		n.mu.Lock()
		changed := n.changed
		n.mu.Unlock()
		waiting, err := n.notReady(ctx)
		if err != nil || waiting == "" {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", waiting, ctx.Err())
		}
	}
}

// notReady says which space cannot grant, and why; "" when all can.
func (n *Node) notReady(ctx context.Context) (string, error) {
	for i, s := range n.config.Spaces {
		reply, err := n.driver.Ask(ctx, protocol.Port(i+1), &protocol.Inspect{})
		if err != nil {
			return "", closedOr(err)
		}
		if c := reply.Result.(*protocol.Condition); c.State != protocol.Ready {
			return fmt.Sprintf("space %q is %v: %s", s.Name, c.State, c.Why), nil
		}
	}
	return "", nil
}

// Session opens another session of this process: a Locker whose owners are others
// than the Node's own, and whose Close releases what is held through it alone. The
// Node's Close closes it too.
func (n *Node) Session(ctx context.Context) (holdfast.Locker, error) {
	s, err := n.openSession(ctx)
	if err != nil {
		return nil, &holdfast.Error{Op: "open session", Err: closedOr(err)}
	}
	return own{n.lockerOf(s, holdfast.DefaultSpace)}, nil
}

func (n *Node) openSession(ctx context.Context) (*localSession, error) {
	n.opening.Lock()
	defer n.opening.Unlock()
	if n.sessions == nil {
		return nil, holdfast.ErrClosed
	}
	s, err := openLocal(ctx, n.driver)
	if err != nil {
		return nil, err
	}
	n.sessions[s] = struct{}{}
	return s, nil
}

func (n *Node) forgetSession(s *localSession) {
	n.opening.Lock()
	defer n.opening.Unlock()
	delete(n.sessions, s)
}

// closeSessions closes the sessions of this process, and lets no other be opened.
func (n *Node) closeSessions() {
	n.opening.Lock()
	sessions := n.sessions
	n.sessions = nil
	n.opening.Unlock()
	for s := range sessions {
		s.close()
	}
}

// Break takes a name from its holders, as an operator does: each is told, and the
// name is free when each has stopped. The error is ErrNotHeld where nobody holds it.
func (n *Node) Break(ctx context.Context, space, name, reason string) error {
	l := n.lockerOf(n.local, space)
	if l.port == 0 {
		return l.fail("break", name, holdfast.ErrSpace)
	}
	reply, err := n.driver.Ask(ctx, l.port, &protocol.Break{Name: name, Reason: reason})
	if err == nil {
		err = reply.Result.(*protocol.Broken).Err
	}
	if err != nil {
		return l.fail("break", name, closedOr(err))
	}
	return nil
}

// Driver returns the member's driver, for whoever serves its clients.
func (n *Node) Driver() *run.Driver { return n.driver }

// Spaces returns the lockspaces, the default first: the one at index i is at port i+1.
func (n *Node) Spaces() []Space { return n.config.Spaces }

// View returns the newest view.
func (n *Node) View() protocol.View {
	n.mu.Lock()
	defer n.mu.Unlock()
	return *n.view
}

// Identity returns what the member remembers of itself.
func (n *Node) Identity() membership.Cell { return n.cell }

// Started returns when this life of the member began, by the wall clock.
func (n *Node) Started() time.Time { return n.started }

// Name returns the member's name.
func (n *Node) Name() string { return n.config.Name }

// Close ends the sessions of this process, waits until the cell says what is still
// promised to others, and stops. Sessions of other clients that hold something are not
// ended: they believe until their deadlines, and a restart of the member waits for
// them.
func (n *Node) Close() error {
	n.closing.Do(func() {
		n.closeSessions()
		n.closed = n.leave()
		n.closed = errors.Join(n.closed, n.release())
	})
	return n.closed
}

// leave waits for the last word of the cell. A disk that does not answer must not
// keep a process from ending: its next start will wait instead.
func (n *Node) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	reply, err := n.driver.Ask(ctx, protocol.Below, &membership.Leave{})
	if err != nil {
		return fmt.Errorf("leave: wait for the stable cell: %w", err)
	}
	return reply.Result.(*membership.Left).Err
}

// release stops the driver and gives the folder back. Whoever waits to hear of the
// member is woken, to find it closed.
func (n *Node) release() error {
	err := errors.Join(n.driver.Close(), n.closeCell())
	n.change(func() {})
	return err
}
