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

// Elsewhere says how a cluster that the bench has not started is reached.
type Elsewhere struct {
	Servers string // as a client takes them
	Options []client.Option
	Space   string      // that is measured; "" means the default one
	TLS     *tls.Config // of Options; nil without encryption
}

// Running is a cluster that the bench has not started. Its authority is talked to, which
// is looked for when the target is started.
//
// A round trip to it is the time in which a TCP connection to the authority is made: the
// operating systems at both ends answer, and no member has to wake up for it. What its
// processes have used is read from their /metrics, if all members tell an HTTP address that
// can be reached from here; otherwise it is not known. The bench cannot order such a process to
// collect its garbage, so its memory has in it what is not collected yet.
func Running(e Elsewhere) load.Target {
	e.Space = cmp.Or(e.Space, holdfast.DefaultSpace)
	return &running{Elsewhere: e}
}

type running struct {
	Elsewhere
	addresses []api.Address // the authority's first
	metrics   *metrics      // nil where they cannot be read
}

func (r *running) Name() string { return "remote" }

func (r *running) Supports(load.Cell) bool { return true }

// Start asks whether it is there, and which member is the authority.
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
		r.metrics = nil // what cannot be known is left out
	}
	return nil
}

// authority is where the space's authority is, as far as the members say.
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

// connects is how many connections a ping makes.
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

// Usage is that of all members.
func (r *running) Usage(ctx context.Context, _ bool) (sum load.Usage, err error) {
	all, err := r.Sample(ctx)
	for _, p := range all {
		sum = sum.Plus(p.Usage)
	}
	return sum, err
}

// Sample is what its members have; none where that is not known.
func (r *running) Sample(ctx context.Context) ([]soak.Process, error) { return r.metrics.read(ctx) }

// Addresses are those that were given.
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

// TLS is what a connection needs.
func (r *running) TLS() *tls.Config { return r.Elsewhere.TLS }

func (r *running) Connect(ctx context.Context, _ load.Cell) (load.Client, error) {
	return dial(ctx, r.Servers, append(slices.Clone(r.Options), client.Direct())...)
}

// OnThisMachine says whether servers, as a client takes them, are all on this machine, as
// far as their addresses tell.
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
