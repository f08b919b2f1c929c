package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// Elsewhere describes a cluster that the bench has not started.
type Elsewhere struct {
	Servers string // in a client's form
	Options []client.Option
	Space   string      // the measured one; "" means the default one
	TLS     *tls.Config // for Options; nil without encryption
}

// Running returns a cluster that the bench has not started. It uses the cluster's authority, which is located when the
// target is started.
//
// A round trip to it is the time to open a TCP connection to the authority: the operating systems at both ends answer,
// and no member has to wake up for it. The usage of its processes is read from their /metrics, if all members report an
// HTTP address that can be reached from here; otherwise it is unknown. The bench cannot make such a process collect its
// garbage, so its memory includes garbage.
func Running(e Elsewhere) load.Target {
	e.Space = cmp.Or(e.Space, holdfast.DefaultSpace)
	return &running{Elsewhere: e}
}

type running struct {
	Elsewhere
	addresses []api.Address // the authority's first
	metrics   *metrics      // nil if they cannot be read
}

func (r *running) Name() string { return "remote" }

func (r *running) Supports(load.Cell) bool { return true }

// Start checks that it is up, and locates the authority.
func (r *running) Start(ctx context.Context) error {
	given, err := api.ParseTarget(r.Servers)
	if err != nil {
		return err
	}
	c, err := r.Connect(ctx, load.Cell{})
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	admin, err := client.DialAdmin(r.Servers, r.Options...)
	if err != nil {
		return err
	}
	status, err := admin.Status(ctx)
	if err = errors.Join(err, admin.Close()); err != nil {
		return err
	}
	r.addresses = append(r.authority(status), given...)
	r.metrics = newMetrics(status, r.TLS(), onlyHere(given))
	if _, err := r.metrics.read(ctx); err != nil {
		r.metrics = nil // unknown figures are left out
	}
	return nil
}

// authority returns the address of the space's authority, as far as the members report it.
func (r *running) authority(status *schema.Status) (addresses []api.Address) {
	for _, space := range status.Spaces {
		for _, m := range status.View.Members {
			if space.Name != r.Space || !slices.Contains(space.Authority, m.Name) {
				continue
			}
			if parsed, err := api.ParseTarget(m.Address); err == nil {
				addresses = append(addresses, parsed...)
			}
		}
	}
	return addresses
}

func (r *running) Stop() error {
	r.metrics.close()
	return nil
}

// connects is the number of connections in a ping.
const connects = 16

// Ping makes connections, one after the other.
func (r *running) Ping(ctx context.Context, _ time.Duration) (time.Duration, error) {
	var dialer net.Dialer
	var failed error
	for _, address := range r.addresses {
		var times load.Histogram
		for range connects {
			begun := time.Now()
			connection, err := dialer.DialContext(ctx, address.Network, address.Place)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("ping: %w", err))
				break
			}
			times.Record(time.Since(begun))
			_ = connection.Close() // nothing was sent
		}
		if times.Count() == connects {
			return times.Quantile(0.5), nil
		}
	}
	return 0, failed
}

// Usage returns that of all members.
func (r *running) Usage(ctx context.Context, _ bool) (sum load.Usage, err error) {
	all, err := r.Sample(ctx)
	for _, p := range all {
		sum = sum.Plus(p.Usage)
	}
	return sum, err
}

// Sample returns the state of its members; none if unknown.
func (r *running) Sample(ctx context.Context) ([]soak.Process, error) { return r.metrics.read(ctx) }

// Addresses returns the given ones.
func (r *running) Addresses() []string {
	given, err := api.ParseTarget(r.Servers)
	if err != nil {
		return []string{r.Servers}
	}
	var addresses []string
	for _, address := range given {
		addresses = append(addresses, address.String())
	}
	return addresses
}

// TLS returns the configuration of a connection.
func (r *running) TLS() *tls.Config { return r.Elsewhere.TLS }

func (r *running) Connect(ctx context.Context, _ load.Cell) (load.Client, error) {
	return dial(ctx, r.Servers, append(slices.Clone(r.Options), client.Direct())...)
}

// OnThisMachine reports whether servers, in a client's form, are all on this machine, as far as their addresses show.
func OnThisMachine(servers string) bool {
	addresses, err := api.ParseTarget(servers)
	return err == nil && onlyHere(addresses)
}

func onlyHere(addresses []api.Address) bool {
	return !slices.ContainsFunc(addresses, func(a api.Address) bool {
		host, _, err := net.SplitHostPort(a.Place)
		return a.Network != "unix" && (err != nil || !loopback(host))
	})
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
