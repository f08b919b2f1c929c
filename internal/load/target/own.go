package target

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// grantors is the protocol of targets with grantors.
const grantors = "grantor"

// own is a member in this process, with two more in children, one of which is the grantor. It counts the messages of
// its space.
type own struct {
	servers
	kept     bool // option hold_on
	node     *host.Member
	messages messages
	hearing  sync.WaitGroup
}

func (o *own) Name() string {
	if o.kept {
		return grantors + "-kept"
	}
	return grantors + "-own"
}

// Supports excludes Hold: the memory of this process includes the workers'.
func (o *own) Supports(c load.Cell) bool { return c.Workload != load.Hold }

func (o *own) Start(ctx context.Context) error {
	err := o.start(ctx)
	if err != nil {
		err = errors.Join(err, o.Stop())
	}
	return err
}

func (o *own) start(ctx context.Context) error {
	names := memberNames()
	addresses, err := clustertest.FreeAddresses(len(names))
	if err != nil {
		return err
	}
	space := host.Space{Name: holdfast.DefaultSpace, Protocol: grantors}
	definition := space.Protocol
	if o.kept {
		space.Options = map[string]string{"hold_on": "1m"}
		definition += ",hold_on=1m"
	}
	last := len(names) - 1
	if err := o.startMembers(names[:last], addresses, definition, false); err != nil {
		return err
	}
	o.node, err = host.Start(ctx, host.Config{
		Name: names[last], Address: addresses[last], Join: addresses, Expect: len(addresses), Peers: hear(addresses[last], &o.messages, 0, &o.hearing),
		State: o.harness.fresh("member-" + names[last]), Spaces: []host.Space{space},
	})
	if err != nil {
		return err
	}
	if err := o.awaitReady(ctx); err != nil {
		return err
	}
	if err := o.node.WaitReady(ctx); err != nil {
		return err
	}
	return o.node.Transfer(ctx, "", names[0])
}

func (o *own) Stop() error {
	var err error
	if o.node != nil {
		err = o.node.Close()
		o.node = nil
	}
	o.hearing.Wait()
	return errors.Join(err, o.servers.Stop())
}

func (o *own) Connect(context.Context, load.Cell) (load.Client, error) { return lockers{o.node}, nil }

// Counted returns the number of its space's messages that this process has sent and received.
func (o *own) Counted() uint64 { return o.messages.count.Load() }
