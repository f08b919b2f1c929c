package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/trial"
	"github.com/holdfast-locks/holdfast/node"
)

// stopAll ends children after an error.
func stopAll(err error, children ...*child) error {
	errs := []error{err}
	for _, c := range children {
		errs = append(errs, c.stop())
	}
	return errors.Join(errs...)
}

// locks is a [holdfast.Locker] as the workloads see it. All workers share it: each of
// their requests is an owner of its own.
type locks struct{ holdfast.Locker }

func (l locks) Worker(context.Context, int) (load.Locker, error) { return locker(l), nil }

type locker locks

func (l locker) Lock(ctx context.Context, name string) (load.Held, error) {
	held, err := l.Locker.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return held, nil
}

func (l locker) LockAnnounced(ctx context.Context, name string, queued func()) (load.Held, error) {
	held, err := l.Locker.Lock(ctx, name, holdfast.OnQueued(func(int) { queued() }))
	if err != nil {
		return nil, err
	}
	return held, nil
}

// local is a member alone in this process.
type local struct{ node *node.Node }

func (l *local) Name() string { return "local" }

func (l *local) Supports(load.Cell) bool { return true }

// Messages says that it sends none.
func (l *local) Messages() load.Messages { return load.NoMessages }

func (l *local) Start(ctx context.Context) (err error) {
	l.node, err = node.Start(ctx, node.Config{})
	return err
}

func (l *local) Stop() error { return l.node.Close() }

// Usage is this process's heap: its CPU counts as the workers'.
func (l *local) Usage(_ context.Context, settle bool) (load.Usage, error) {
	if !settle {
		return load.Usage{}, nil
	}
	a := obey(orderSettle)
	return load.Usage{Heap: a.Heap}, nil
}

func (l *local) Connect(context.Context, int) (load.Client, error) { return open{locks{l.node}}, nil }

// open is locks whose end is not the client's affair.
type open struct{ locks }

func (open) Close() error { return nil }

// memberArgs make a child a member.
func (b *Bed) memberArgs(name, folder, listen string, more ...string) []string {
	return append([]string{"serve", "--name", name, "--listen", listen, "--http", "", "--state", folder, "--log-level", "warn"}, more...)
}

// remote is a member alone in a child.
type remote struct {
	bed    *Bed
	server *child
}

func (r *remote) Name() string { return "remote" }

func (r *remote) Supports(load.Cell) bool { return true }

func (r *remote) Start(ctx context.Context) (err error) {
	folder := r.bed.fresh("remote")
	if r.server, err = r.bed.start("the member", r.bed.memberArgs("remote", folder, "127.0.0.1:0")...); err != nil {
		return err
	}
	if err := r.server.awaitReady(ctx); err != nil {
		return stopAll(err, r.server)
	}
	return nil
}

func (r *remote) Stop() error { return r.server.stop() }

func (r *remote) children() []*child { return []*child{r.server} }

func (r *remote) Usage(ctx context.Context, settle bool) (load.Usage, error) {
	return r.server.usage(ctx, settle)
}

func (r *remote) Connect(ctx context.Context, _ int) (load.Client, error) {
	return dial(ctx, r.server.listen)
}

// dial opens the session that all workers share.
func dial(ctx context.Context, servers string, options ...client.Option) (load.Client, error) {
	c, err := client.Dial(ctx, servers, append([]client.Option{client.Name("holdfast bench")}, options...)...)
	if err != nil {
		return nil, err
	}
	return session{locks{c}, c}, nil
}

// session is a client's.
type session struct {
	locks
	client *client.Client
}

// settleLimit is how long the releases of many locks may take to be acknowledged.
const settleLimit = 30 * time.Second

// Close waits until all releases are acknowledged, so that none is left for whatever is
// measured next, and ends the session. A refused release is an error of the measurement.
func (s session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	return errors.Join(s.client.Settle(ctx), s.client.Close())
}

// Running is a cluster that somebody else has started, at addresses as a client takes
// them; the options are those of the connection. Its authority is talked to.
func Running(servers string, options ...client.Option) load.Target {
	return &running{servers, append(slices.Clone(options), client.Direct())}
}

type running struct {
	servers string
	options []client.Option
}

func (r *running) Name() string { return "remote" }

func (r *running) Supports(load.Cell) bool { return true }

// Start asks whether it is there.
func (r *running) Start(ctx context.Context) error {
	c, err := dial(ctx, r.servers, r.options...)
	if err != nil {
		return err
	}
	return c.Close()
}

func (r *running) Stop() error { return nil }

// Usage is not known.
func (r *running) Usage(context.Context, bool) (load.Usage, error) { return load.Usage{}, nil }

func (r *running) Connect(ctx context.Context, _ int) (load.Client, error) {
	return dial(ctx, r.servers, r.options...)
}

// central is a cluster of three, talked to through its coordinator or another member.
type central struct {
	cluster *cluster
	direct  bool
}

func (c *central) Name() string {
	if c.direct {
		return "central"
	}
	return "central-member"
}

func (c *central) Supports(load.Cell) bool { return true }

func (c *central) Start(ctx context.Context) error { return c.cluster.start(ctx) }

func (c *central) Stop() error { return c.cluster.stop() }

func (c *central) children() []*child { return c.cluster.members }

func (c *central) Usage(ctx context.Context, settle bool) (sum load.Usage, err error) {
	for _, m := range c.cluster.members {
		used, err := m.usage(ctx, settle)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(used)
	}
	return sum, nil
}

// askAgain is the pause between two looks at which member a session has reached.
const askAgain = 5 * time.Millisecond

// Connect dials, and waits until the session is where it shall be: a client that goes to
// the authority begins wherever it is told about that.
func (c *central) Connect(ctx context.Context, _ int) (load.Client, error) {
	coordinator, err := c.cluster.coordinator(ctx)
	if err != nil {
		return nil, err
	}
	first := coordinator
	options := []client.Option{client.Name("holdfast bench")}
	if c.direct {
		options = append(options, client.Direct())
	} else {
		first = (coordinator + 1) % len(c.cluster.addresses)
	}
	dialled, err := client.Dial(ctx, c.cluster.addresses[first], options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	for dialled.Member() != memberNames()[first] {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			err := fmt.Errorf("reach member %s: %w; the session is at %q", memberNames()[first], context.Cause(ctx), dialled.Member())
			return nil, errors.Join(err, dialled.Close())
		}
	}
	return session{locks{dialled}, dialled}, nil
}

// cluster is three members in children. Two targets share it.
type cluster struct {
	bed       *Bed
	users     int
	addresses []string
	members   []*child
}

func memberNames() []string { return []string{"a", "b", "c"} }

func (c *cluster) start(ctx context.Context) error {
	if c.users++; c.users > 1 {
		return nil
	}
	err := c.startAll(ctx)
	if err != nil {
		c.users = 0
		err = stopAll(err, c.members...)
		c.members = nil
	}
	return err
}

func (c *cluster) startAll(ctx context.Context) (err error) {
	if c.addresses, err = trial.FreeAddresses(len(memberNames())); err != nil {
		return err
	}
	for i, name := range memberNames() {
		folder := c.bed.fresh("member-" + name)
		args := c.bed.memberArgs(name, folder, c.addresses[i],
			"--join", strings.Join(c.addresses, ","), "--expect", fmt.Sprint(len(c.addresses)))
		member, err := c.bed.start("member "+name, args...)
		if err != nil {
			return err
		}
		c.members = append(c.members, member)
	}
	for _, m := range c.members {
		if err := m.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) stop() error {
	if c.users--; c.users > 0 {
		return nil
	}
	err := stopAll(nil, c.members...)
	c.members = nil
	return err
}

// coordinator is which of the members coordinates.
func (c *cluster) coordinator(ctx context.Context) (int, error) {
	admin, err := client.DialAdmin(c.addresses[0])
	if err != nil {
		return 0, err
	}
	status, err := admin.Status(ctx)
	if err = errors.Join(err, admin.Close()); err != nil {
		return 0, err
	}
	i := slices.Index(memberNames(), status.View.Coordinator)
	if i < 0 {
		return 0, fmt.Errorf("find the coordinator: member %s says %q", memberNames()[0], status.View.Coordinator)
	}
	return i, nil
}
