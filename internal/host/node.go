package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/gossip"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Member is this process as a member. It is a holdfast.Locker of the default space.
type Member struct {
	locker
	config    Config
	started   time.Time
	member    *membership.Machine // owned by the driver
	terms     []string            // settings that all members must agree on
	driver    *run.Driver
	transport transport.Transport // nil for a member alone
	events    *events.Source      // for the other members
	rumours   *gossip.Gossip      // nil without a transport for them
	folder    *cell.Cell          // nil without a cell
	data      *data               // nil if at most the cell is stored
	trace     *traceFile          // nil without recording
	local     *localSession
	admin     *admin.Service
	logger    *slog.Logger
	assured   []*atomic.Int64 // by space: until when its holds are safe; nil if the lease alone determines that
	assurers  []assurer
	forwarded []forwardedSpace
	poller    poller      // asks the members of Join for their definitions
	recalled  atomic.Bool // it began with remembered definitions, and no member has confirmed them
	departing atomic.Bool
	alone     atomic.Bool  // it has asked to leave, and no member has agreed in time
	ends      atomic.Int64 // end of the lease, on the member's clock
	hearing   sync.WaitGroup
	roll      roll
	forcing   sync.Mutex // held by one call at a time
	observing observing

	opening  sync.Mutex
	sessions map[*localSession]struct{} // open sessions of this process; nil after Close

	mu      sync.Mutex
	cell    membership.Cell
	view    *protocol.View // nil before the first
	former  []protocol.Member
	unfit   error
	faults  map[string]error // by group: why locks in a space of protocol claim fail
	over    bool
	forced  *schema.ForcedView // the latest; nil if there is none
	changed chan struct{}      // closed and replaced whenever view, unfit or a space's state changes

	closing sync.Once
	closed  error
}

var _ holdfast.Locker = (*Member)(nil)

// Start makes this process a member. A member alone has its first view when Start returns; one of a cluster is
// searching for the others by then, and may have to wait for them. In both cases it may still have to wait for the
// promises of an earlier life (WaitReady), and locks wait for all of that too. The error names the fault: an invalid
// field; a folder that is in use, belongs to another member, or cannot be written; a damaged cell or log; a space that
// the folder has with another protocol. It is a StartError if it says what to do about it.
func Start(ctx context.Context, c Config) (*Member, error) {
	c, err := Adopt(ctx, c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("start member: %w", err)
	}
	n := &Member{
		config: c, logger: c.Logger, started: time.Now(),
		changed: make(chan struct{}), sessions: map[*localSession]struct{}{},
		faults: map[string]error{},
	}
	if err := n.begin(ctx); err != nil {
		return nil, fmt.Errorf("start member %q: %w", c.Name, errors.Join(err, n.release()))
	}
	return n, nil
}

// begin builds the member and starts it.
func (n *Member) begin(ctx context.Context) error {
	machine, err := n.build()
	if err != nil {
		return err
	}
	if err := n.connect(); err != nil {
		return err
	}
	config := run.Config{
		Machine: &leased{Machine: machine, ends: &n.ends, assurers: n.assurers, forwarded: n.forwarded},
		Stores:  n.stores(), Clock: n.config.Clock, Observe: n.observer(), Heed: n.heed, Logger: n.logger,
		LagLimit: max(n.config.Lease/3, time.Second),
	}
	if n.folder != nil {
		config.Storage = n.folder
	}
	if n.transport != nil {
		config.Peers = n.transport
	}
	if n.data != nil {
		config.Journal = n.data.journal
	}
	if n.driver, err = run.New(config); err != nil {
		return err
	}
	n.watchData()
	if err := n.confirmDefinitions(); err != nil {
		return err
	}
	if n.admin, err = n.newAdmin(); err != nil {
		return err
	}
	if err := n.hear(); err != nil {
		return err
	}
	if !n.config.clustered() {
		if err := n.awaitView(ctx); err != nil {
			return err
		}
	}
	if n.local, err = n.openSession(); err != nil {
		return err
	}
	n.locker = n.lockerOf(n.local, holdfast.DefaultSpace)
	return nil
}

// build makes the machines: membership, spaces, and the session machine before them; and the recorder, if any.
func (n *Member) build() (protocol.Machine, error) {
	kept, remembered, err := n.openCell()
	if err != nil {
		return nil, err
	}
	if err := n.checkSuperseded(remembered); err != nil {
		return nil, explained(err)
	}
	if err := errors.Join(n.checkFormer(remembered), n.checkFounded(remembered)); err != nil {
		return nil, explained(err)
	}
	if err := n.openTrace(); err != nil {
		return nil, err
	}
	from := n.config.member(kept, remembered, n.started, secretRand())
	if err := n.openData(from); err != nil {
		return nil, explained(err)
	}
	built, err := member.Build(from, n.entropy(), member.Protocols())
	if err != nil {
		return nil, explained(err)
	}
	n.member, n.cell, n.terms = built.Member, built.Member.Cell(), built.Member.Terms()
	n.assured = make([]*atomic.Int64, len(built.Spaces))
	for i, space := range built.Spaces {
		if space, is := space.(protocol.Assures); is {
			n.assured[i] = new(atomic.Int64)
			n.assured[i].Store(int64(protocol.Never))
			n.assurers = append(n.assurers, assurer{space, n.assured[i]})
		}
	}
	n.watchForwarded(built.Spaces)
	return n.recorded(from, built)
}

// stores returns the stores that the spaces use.
func (n *Member) stores() map[protocol.Port]storage.Store {
	stores := map[protocol.Port]storage.Store{}
	for i := range n.config.Spaces {
		if store := n.config.Spaces[i].Store; store != nil {
			stores[protocol.Port(i+1)] = store
		}
	}
	return stores
}

// openCell reads the member's memory.
func (n *Member) openCell() (kept bool, remembered membership.Cell, err error) {
	if n.config.State == "" {
		n.warnClock()
		return false, membership.Cell{}, nil
	}
	folder, data, err := cell.Open(n.config.State)
	if err != nil {
		return false, membership.Cell{}, err
	}
	n.folder = folder
	if data == nil {
		n.warnClock()
		remembered, err = n.firstCell()
		return true, remembered, err
	}
	if remembered, err = membership.DecodeCell(data); err != nil {
		err = fmt.Errorf("read stable cell in %s: %w; a member must not start from a damaged memory: restore the file, or remove it only if no client of the member's former life is left", n.config.State, err)
		return false, membership.Cell{}, explained(err)
	}
	return true, remembered, nil
}

func (n *Member) closeCell() error {
	if n.folder == nil {
		return nil
	}
	return n.folder.Close()
}

// secretRand returns an unpredictable source.
func secretRand() *mathrand.Rand {
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand ends the process instead
	return mathrand.New(mathrand.NewChaCha8(seed))
}

// heed handles facts and notes. It runs under the driver's mutex.
func (n *Member) heed(_ protocol.Time, effects *protocol.Effects) {
	for _, fact := range effects.Raises {
		switch fact := fact.(type) {
		case *protocol.View:
			n.onView(fact)
		case *protocol.Lapsed:
			n.change(func() {})
			if n.departing.Load() {
				continue
			}
			what := "what was held through this member is lost"
			if n.config.allLast() {
				what = "clients go on at other members, with what they hold"
			}
			n.logger.Warn("the lease has run out; "+what, "lapses", fact.Tenure.Lapses)
		case *membership.Unfit:
			n.logger.Error("this member cannot take part", "error", fact.Err)
			n.change(func() { n.unfit = n.outdated(fact.Err) })
			n.alone.Store(true) // the members that it would take leave of do not have it
		}
	}
	for _, note := range effects.Notes {
		switch note := note.(type) {
		case protocol.Serving:
			n.change(func() {})
		case membership.Ordered:
			n.noteOrder(note)
		case membership.Partitioned:
			n.logger.Warn("a member leaves the view because it and others cannot reach each other, which a space needs: fix their links",
				"member", note.Member, "others", strings.Join(note.From, ","))
		case membership.Unsaved, membership.Stale, membership.Resaved, membership.Abdicated:
			n.noteCell(note)
		case membership.Slow:
			n.logger.Warn("links are slow: answers of other members are waited for longer; where a round trip takes more than a tenth of the lease, the loss of the coordinator ends what is held through the others as well, and from a fifth on there may be no view: raise lease on all members",
				"round_trip", note.Trip.Round(time.Millisecond), "waits", note.Patience.Round(time.Millisecond), "patience", note.Configured, "lease", cmp.Or(n.config.Lease, 3*time.Second))
		case protocol.Logged:
			n.noteSpace(note)
		}
	}
}

// noteSpace logs a space's note.
func (n *Member) noteSpace(note protocol.Logged) {
	severity, sentence, pairs := note.Log(n.called)
	switch severity {
	case protocol.Error:
		n.logger.Error(sentence, pairs...)
	case protocol.Warn:
		n.logger.Warn(sentence, pairs...)
	case protocol.Info:
		n.logger.Info(sentence, pairs...)
	}
	if fault, is := note.(protocol.Fault); is {
		group, err := fault.Fault()
		n.change(func() { n.faults[group] = err })
	}
}

// noteCell logs failures of writing the cell.
func (n *Member) noteCell(note protocol.Note) {
	switch note := note.(type) {
	case membership.Unsaved:
		if note.First {
			n.logger.Error("cannot write the stable cell; trying again", "error", note.Err)
		}
	case membership.Stale:
		n.logger.Error("the stable cell could not be written for a whole lease: this member leads no others and has no vote until it can be", "error", note.Why())
	case membership.Resaved:
		n.logger.Info("the stable cell is written again", "after", note.After.Round(time.Millisecond), "failures", note.Failures)
	case membership.Abdicated:
		n.logger.Warn("this member gives up coordinating: other members can write their stable cells", "error", note.Why())
	}
}

// onView handles the newest view. The cell may only be read while the driver's mutex is held.
func (n *Member) onView(view *protocol.View) {
	n.change(func() {
		if n.view == nil || n.view.Number != view.Number || n.view.Epoch != view.Epoch {
			n.logger.Info("view", "number", view.Number, "epoch", view.Epoch.Counter, "members", names(view))
		}
		n.remember(view)
		n.view, n.cell = view, n.member.Cell()
	})
}

// mostFormer is the maximum number of former members whose names are remembered.
const mostFormer = 256

// remember keeps the members that are not in the next view, the latest first, for messages that name them.
func (n *Member) remember(next *protocol.View) {
	if n.view == nil {
		return
	}
	for _, member := range n.view.Members {
		if _, listed := next.Of(member.ID); listed {
			continue
		}
		n.former = slices.DeleteFunc(n.former, func(m protocol.Member) bool { return m.ID == member.ID })
		n.former = slices.Insert(n.former, 0, member)
	}
	n.former = n.former[:min(len(n.former), mostFormer)]
}

func names(view *protocol.View) (all []string) {
	for _, member := range view.Members {
		all = append(all, member.Name)
	}
	return all
}

// called returns the name of a member, from the newest view.
func (n *Member) called(id protocol.ID) string {
	view := n.View()
	return view.Name(id)
}

func (n *Member) change(apply func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	apply()
	close(n.changed)
	n.changed = make(chan struct{})
}

// awaitView waits for the first view.
func (n *Member) awaitView(ctx context.Context) error {
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

// Break takes a name from its holders, as an operator does: each gets a revocation, and the name is free when each has
// stopped. The error is ErrNotHeld if no client holds it, and ErrHeld, with its former holder and the end of its grace,
// if its hold limit has passed and its grace has not.
func (n *Member) Break(ctx context.Context, space, name, reason string) error {
	l := n.lockerOf(n.local, space)
	if l.port == 0 {
		return l.fail("break", name, holdfast.ErrSpace)
	}
	reply, err := n.driver.Do(ctx, l.port, &protocol.Break{Name: name, Reason: reason})
	if err == nil {
		err = reply.Result.(*protocol.Broken).Err
	}
	if err != nil {
		err = n.driver.Explain(closedOr(err), n.called)
		if self, failure := n.Who(ctx); failure == nil {
			err = self.Unavailable(n.driver.Now(), err)
		}
		return l.fail("break", name, err)
	}
	return nil
}

// Driver returns the member's driver, for a server of its clients.
func (n *Member) Driver() *run.Driver { return n.driver }

// Spaces returns the lockspaces, the default first: the one at index i is at port i+1.
func (n *Member) Spaces() []Space { return n.config.Spaces }

// View returns the newest view; the zero View before the first.
func (n *Member) View() protocol.View {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.view == nil {
		return protocol.View{}
	}
	view := *n.view
	view.Former = slices.Clone(n.former)
	if _, listed := view.Of(n.cell.ID); !listed {
		view.Former = append(view.Former, protocol.Member{ID: n.cell.ID, Name: n.config.Name, Address: n.config.Address})
	}
	return view
}

// Identity returns the member's memory of itself.
func (n *Member) Identity() membership.Cell {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cell
}

// Who returns the member's knowledge of itself and of the others.
func (n *Member) Who(ctx context.Context) (*membership.Self, error) {
	reply, err := n.driver.Do(ctx, protocol.Below, &membership.Who{})
	if err != nil {
		return nil, fmt.Errorf("ask the membership: %w", closedOr(err))
	}
	self := reply.Result.(*membership.Self)
	n.outlook(self)
	return self, nil
}

// Started returns when this life of the member began, by the wall clock.
func (n *Member) Started() time.Time { return n.started }

// Name returns the member's name.
func (n *Member) Name() string { return n.config.Name }
