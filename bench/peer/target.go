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

	address string // of all servers, with commas between
	servers []*server
}

// Name is the service's.
func (t *Target) Name() string { return t.service.name }

// Program says which program is measured, and its version.
func (t *Target) Program() string { return fmt.Sprintf("%s (%s)", t.version, t.path) }

// Supports says that there is nothing that it cannot be asked for.
func (t *Target) Supports(load.Cell) bool { return true }

// Foreign says that what goes wrong with it is its own affair.
func (t *Target) Foreign() {}

// Bound is how many workers or waiters it is measured with.
func (t *Target) Bound(workload string, wanted int) int {
	if t.service.bound == nil {
		return wanted
	}
	return t.service.bound(workload, wanted)
}

// Start starts the servers on free ports, each with a fresh folder, and waits until they
// say that they serve.
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

// plans are those of its servers, on free ports.
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

// Stop ends the servers; their folders go with them.
func (t *Target) Stop() error {
	servers := t.servers
	t.servers = nil
	return forEach(len(servers), func(i int) error { return servers[i].stop() })
}

// said is what its servers have said last.
func (t *Target) said() string {
	var all []string
	for _, s := range t.servers {
		all = append(all, s.log.String())
	}
	return strings.Join(all, "\n")
}

// Connect opens what all workers share, and what each of them has of its own: the workers,
// counted from 0, and one more, as workload drain has it.
func (t *Target) Connect(ctx context.Context, c load.Cell) (load.Client, error) {
	client, err := t.service.connect(ctx, t.address, c.Workers+1)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w; it says: %v", t.service.name, err, t.said())
	}
	return client, nil
}

// Usage is what the server's processes have used; memory only with settle, although
// nothing is thrown away then.
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

// Processes are the servers' own and those that they have started.
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

// atOnce is how many of many things are opened or closed at once.
const atOnce = 32

// forEach does something with each of so many, some at once.
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

// errTooMany is the error of a worker that Connect was not told of.
func errTooMany(number, count int) error {
	return fmt.Errorf("prepare worker %d: this client is for %d", number, count)
}
