package target

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
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

// ahead is a lock whose release goes to the authority with the next request: nothing waits
// for its acknowledgement, before all of a measurement are waited for.
type ahead struct{ *holdfast.Lock }

func (a ahead) Unlock(context.Context) error { return a.UnlockAsync() }

func (l locker) Lock(ctx context.Context, name string) (load.Held, error) {
	held, err := l.Locker.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return ahead{held}, nil
}

func (l locker) LockAnnounced(ctx context.Context, name string, queued func()) (load.Held, error) {
	held, err := l.Locker.Lock(ctx, name, holdfast.OnQueued(func(int) { queued() }))
	if err != nil {
		return nil, err
	}
	return ahead{held}, nil
}

// local is a member alone in this process, whose default space has a protocol.
type local struct {
	protocol string
	node     *host.Member
}

func (l *local) Name() string {
	if l.protocol == grantors {
		return "local-grantor"
	}
	return "local"
}

func (l *local) Supports(load.Cell) bool { return true }

// Messages says that it sends none.
func (l *local) Messages() load.Messages { return load.NoMessages }

func (l *local) Start(ctx context.Context) (err error) {
	l.node, err = host.Start(ctx, host.Config{Spaces: []host.Space{{Name: holdfast.DefaultSpace, Protocol: l.protocol}}})
	return err
}

func (l *local) Stop() error { return l.node.Close() }

// Usage is this process's heap: its CPU counts as the workers'.
func (l *local) Usage(_ context.Context, settle bool) (load.Usage, error) {
	if !settle {
		return load.Usage{}, nil
	}
	return load.Usage{Heap: settled().Heap}, nil
}

func (l *local) Connect(context.Context, int) (load.Client, error) { return open{locks{l.node}}, nil }

// open is locks whose end is not the client's affair.
type open struct{ locks }

func (open) Close() error { return nil }

// memberArgs make a child a member.
func (b *Harness) memberArgs(name, folder, listen string, more ...string) []string {
	return append([]string{"serve", "--name", name, "--listen", listen, "--http", "", "--state", folder, "--log-level", "warn"}, more...)
}

// remote is a member alone in a child.
type remote struct {
	harness   *Harness
	encrypted bool // mutual TLS
	server    *child
}

func (r *remote) Name() string {
	if r.encrypted {
		return "remote-tls"
	}
	return "remote"
}

func (r *remote) Supports(c load.Cell) bool { return !r.encrypted || besideTLS(c) }

func (r *remote) Start(ctx context.Context) (err error) {
	args := r.harness.memberArgs(r.Name(), r.harness.fresh(r.Name()), "127.0.0.1:0", "--memory")
	if r.encrypted {
		m, err := r.harness.encryption()
		if err != nil {
			return err
		}
		files, err := m.server(r.Name())
		if err != nil {
			return err
		}
		args = append(args, "--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", m.ca)
	}
	if r.server, err = r.harness.start("member "+r.Name(), r.Name(), args...); err != nil {
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
	if r.encrypted {
		return dial(ctx, r.server.listen, client.TLS(r.TLS()))
	}
	return dial(ctx, r.server.listen)
}

// Addresses is its own.
func (r *remote) Addresses() []string { return []string{r.server.listen} }

// TLS is what a connection to it needs, once it is started.
func (r *remote) TLS() *tls.Config {
	if !r.encrypted {
		return nil
	}
	return r.harness.material.client
}

// Sample is what it has.
func (r *remote) Sample(ctx context.Context) ([]soak.Process, error) {
	p, err := r.server.sample(ctx)
	return []soak.Process{p}, err
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

// Close waits until all releases are acknowledged, so that none is left for what is
// measured next, and ends the session. A refused release is an error of the measurement.
func (s session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	return errors.Join(s.client.Settle(ctx), s.client.Close())
}
