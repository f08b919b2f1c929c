package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/realstore/recipe"
	"github.com/holdfast-locks/holdfast/internal/trial"
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

	address string
	server  *server
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

// Start starts the server on free ports with a fresh folder, and waits until the server
// says that it serves.
func (t *Target) Start(ctx context.Context) error {
	addresses, err := trial.FreeAddresses(t.service.recipe.Ports)
	if err != nil {
		return err
	}
	var ports []string
	for _, address := range addresses {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		ports = append(ports, port)
	}
	plan := Plan{Name: t.service.name, Commands: t.service.recipe.Commands(t.path, folder, ports, t.service.more...), Ready: t.service.recipe.Ready}
	if t.service.recipe.Drop {
		if plan.User, plan.Group, err = recipe.Unprivileged(); err != nil {
			return err
		}
	}
	t.address = addresses[0]
	t.server, err = startServer(ctx, t.config.Keeper, plan)
	return err
}

// Stop ends the server; its folder goes with it.
func (t *Target) Stop() error { return t.server.stop() }

// Connect opens what all workers share, and what each of them has of its own: the workers,
// counted from 0, and one more, as workload drain has it.
func (t *Target) Connect(ctx context.Context, workers int) (load.Client, error) {
	client, err := t.service.connect(ctx, t.address, workers+1)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w; it says: %v", t.service.name, err, &t.server.log)
	}
	return client, nil
}

// Usage is what the server's processes have used; memory only with settle, although
// nothing is thrown away then.
func (t *Target) Usage(_ context.Context, settle bool) (load.Usage, error) {
	return usageOf(t.server.process, settle)
}

// Processes are the server's own and those that it has started.
func (t *Target) Processes() ([]int, error) { return recipe.Family(t.server.process) }

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
