package target

import (
	"context"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/limit"
)

// limited is package limit's server in a child, with one connection for all workers.
type limited struct {
	servers
	name      string
	queued    bool // Unlock returns once the release is sent
	encrypted bool // mutual TLS
}

func (l *limited) Name() string { return l.name }

// Supports reports true for encryption only without think times, drain and hold.
func (l *limited) Supports(c load.Cell) bool { return !l.encrypted || pricesTLS(c) }

// pricesTLS reports whether a cell is measured for targets that show the cost of TLS.
func pricesTLS(c load.Cell) bool {
	return c.Think == 0 && (c.Workload == load.Uncontended || c.Workload == load.Hot)
}

func (l *limited) Start(ctx context.Context) error {
	args := []string{LimitServer}
	if l.encrypted {
		files, ca, err := l.harness.certificate(l.name)
		if err != nil {
			return err
		}
		args = append(args, files.Cert, files.Key, ca)
	}
	return l.startAlone(ctx, "the limit server", l.name, args...)
}

func (l *limited) Connect(ctx context.Context, _ load.Cell) (load.Client, error) {
	var options []limit.Option
	if l.queued {
		options = append(options, limit.Queued())
	}
	if l.encrypted {
		options = append(options, limit.TLS(l.harness.material.client))
	}
	c, err := limit.Dial(ctx, l.running[0].listen, options...)
	if err != nil {
		return nil, err
	}
	return limitClient{c}, nil
}

type limitClient struct{ client *limit.Client }

func (c limitClient) Worker(context.Context, int) (load.Locker, error) { return c, nil }

func (c limitClient) Close() error { return c.client.Close() }

func (c limitClient) Lock(ctx context.Context, name string) (load.Held, error) {
	h, err := c.client.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (c limitClient) LockAnnounced(ctx context.Context, name string, queued func()) (load.Held, error) {
	h, err := c.client.LockAnnounced(ctx, name, queued)
	if err != nil {
		return nil, err
	}
	return h, nil
}
