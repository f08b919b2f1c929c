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
)

// lockers are used by the workers in rotation: each request is its own owner. The owner of the lockers closes them.
type lockers []holdfast.Locker

// Worker returns a worker's locker.
func (l lockers) Worker(_ context.Context, number int) (load.Locker, error) {
	return locker{l[number%len(l)]}, nil
}

// Close leaves them open.
func (lockers) Close() error { return nil }

// locker adapts a [holdfast.Locker] to the workloads.
type locker struct{ holdfast.Locker }

// ahead is a lock whose release goes to the authority with the next request: its acknowledgement is awaited only at the
// end of a measurement.
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

// local is a member alone in this process, with a protocol for its default space.
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

// Messages returns NoMessages.
func (l *local) Messages() load.Messages { return load.NoMessages }

func (l *local) Start(ctx context.Context) (err error) {
	l.node, err = host.Start(ctx, host.Config{Spaces: []host.Space{{Name: holdfast.DefaultSpace, Protocol: l.protocol}}})
	return err
}

func (l *local) Stop() error { return l.node.Close() }

// Usage returns this process's heap: its CPU counts as the workers'.
func (l *local) Usage(_ context.Context, settle bool) (load.Usage, error) {
	if !settle {
		return load.Usage{}, nil
	}
	return load.Usage{Heap: settled().Heap}, nil
}

func (l *local) Connect(context.Context, load.Cell) (load.Client, error) { return lockers{l.node}, nil }

// remote is a member alone in a child.
type remote struct {
	servers
	encrypted bool // mutual TLS
	policed   bool // a policy of many rules
}

func (r *remote) Name() string {
	switch {
	case r.encrypted:
		return "remote-tls"
	case r.policed:
		return Policed
	}
	return "remote"
}

func (r *remote) Supports(c load.Cell) bool { return !r.encrypted || pricesTLS(c) }

func (r *remote) Start(ctx context.Context) error {
	args := memberArgs(r.Name(), r.harness.fresh(r.Name()), "127.0.0.1:0", "--memory")
	if r.encrypted {
		files, ca, err := r.harness.certificate(r.Name())
		if err != nil {
			return err
		}
		args = append(args, "--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", ca)
	}
	if r.policed {
		path, err := r.harness.policy()
		if err != nil {
			return err
		}
		args = append(args, "--access", path)
	}
	return r.startAlone(ctx, "member "+r.Name(), r.Name(), args...)
}

func (r *remote) Connect(ctx context.Context, _ load.Cell) (load.Client, error) {
	if r.encrypted {
		return dial(ctx, r.running[0].listen, client.TLS(r.TLS()))
	}
	return dial(ctx, r.running[0].listen)
}

// Addresses returns its own.
func (r *remote) Addresses() []string { return []string{r.running[0].listen} }

// TLS returns the configuration of a connection to it, once it is started.
func (r *remote) TLS() *tls.Config {
	if !r.encrypted {
		return nil
	}
	return r.harness.material.client
}

// dial opens the session that all workers share.
func dial(ctx context.Context, servers string, options ...client.Option) (load.Client, error) {
	c, err := client.Dial(ctx, servers, append([]client.Option{client.Name("holdfast bench")}, options...)...)
	if err != nil {
		return nil, err
	}
	return session{lockers{c}, c}, nil
}

// session is a client's.
type session struct {
	lockers
	client *client.Client
}

// settleLimit is the time limit for the acknowledgement of many releases.
const settleLimit = 30 * time.Second

// Close waits until all releases are acknowledged, so that none is left for the next measurement, and ends the session.
// A refused release is an error of the measurement.
func (s session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	return errors.Join(s.client.Settle(ctx), s.client.Close())
}
