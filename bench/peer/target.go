package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// Target is a service as the workloads see it. It is a [load.Target], a [load.Bounded]
// and a [target.Hosted].
//
// [target.Hosted]: https://pkg.go.dev/github.com/holdfast-locks/holdfast/internal/load/target#Hosted
type Target struct {
	config  Config
	service service
	path    string
	version string

	address string // of all servers, separated by commas
	servers []*server
}

// Name returns the service's name.
func (t *Target) Name() string { return t.service.name }

// Program names the program, with its version.
func (t *Target) Program() string { return fmt.Sprintf("%s (%s)", t.version, t.path) }

// Supports returns true: every cell is supported.
func (t *Target) Supports(load.Cell) bool { return true }

// Foreign marks the target as third-party: its failures are not ours.
func (t *Target) Foreign() {}

// Bound returns the number of workers or waiters in its measurements.
func (t *Target) Bound(workload string, wanted int) int {
	if t.service.bound == nil {
		return wanted
	}
	return t.service.bound(workload, wanted)
}

// Start starts the servers on free ports, each with a fresh folder, and waits until they are ready.
func (t *Target) Start(ctx context.Context) error {
	plans, err := t.plans()
	if err != nil {
		return err
	}
	// At once: none of several serves alone.
	servers := make([]*server, len(plans))
	err = forEach(len(plans), func(i int) (err error) {
		servers[i], err = startServer(ctx, t.config.Keeper, plans[i])
		return err
	})
	t.servers = slices.DeleteFunc(servers, func(s *server) bool { return s == nil })
	if err != nil {
		return errors.Join(err, t.Stop())
	}
	return nil
}

// plans returns the plans of its servers, on free ports.
func (t *Target) plans() ([]Plan, error) {
	s := &t.service
	addresses, err := clustertest.FreeAddresses(max(1, s.members) * s.recipe.Ports)
	if err != nil {
		return nil, err
	}
	var clients []string
	var ports [][]string
	for of := range slices.Chunk(addresses, s.recipe.Ports) {
		clients = append(clients, of[0])
		var own []string
		for _, address := range of {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, fmt.Errorf("find a free port: %w", err)
			}
			own = append(own, port)
		}
		ports = append(ports, own)
	}
	t.address = strings.Join(clients, ",")
	var plans []Plan
	for i := range ports {
		more := s.more
		if s.as != nil {
			more = slices.Concat(more, s.as(i, ports))
		}
		plan := Plan{Name: s.name, Commands: s.recipe.Commands(t.path, folder, ports[i], more...), Ready: s.recipe.Ready}
		if s.recipe.Drop {
			if plan.User, plan.Group, err = recipe.Unprivileged(); err != nil {
				return nil, err
			}
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// Stop ends the servers and removes their folders.
func (t *Target) Stop() error {
	servers := t.servers
	t.servers = nil
	return forEach(len(servers), func(i int) error { return servers[i].stop() })
}

// said returns the last output of its servers.
func (t *Target) said() string {
	var all []string
	for _, s := range t.servers {
		all = append(all, s.log.String())
	}
	return strings.Join(all, "\n")
}

// Connect opens the resources that all workers share, and each one's own: for the workers, counted from 0, and one
// more, as in workload drain.
func (t *Target) Connect(ctx context.Context, c load.Cell) (load.Client, error) {
	client, err := t.service.connect(ctx, t.address, c.Workers+1)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w; it says: %v", t.service.name, err, t.said())
	}
	return client, nil
}

// Usage returns the resource usage of the server's processes; memory only with settle, although nothing is collected
// then.
func (t *Target) Usage(_ context.Context, settle bool) (sum load.Usage, err error) {
	for _, s := range t.servers {
		used, err := usageOf(s.process, settle)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(used)
	}
	return sum, nil
}

// Processes returns the servers' processes and their descendants.
func (t *Target) Processes() (all []int, err error) {
	for _, s := range t.servers {
		family, err := recipe.Family(s.process)
		if err != nil {
			return nil, err
		}
		all = append(all, family...)
	}
	return all, nil
}

// atOnce is the concurrency of opening or closing many things.
const atOnce = 32

// forEach calls do for each index, some at once.
func forEach(count int, do func(i int) error) error {
	errs := make([]error, count)
	var work sync.WaitGroup
	for first := range min(atOnce, count) {
		work.Go(func() {
			for i := first; i < count; i += atOnce {
				errs[i] = do(i)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// errTooMany is the error of an unexpected worker number.
func errTooMany(number, count int) error {
	return fmt.Errorf("prepare worker %d: this client is for %d", number, count)
}
