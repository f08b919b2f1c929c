package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// grantors is the protocol of targets that have grantors.
const grantors = "grantor"

// own is a member in this process, beside two in children, one of which is the grantor. It
// counts the messages of its space.
type own struct {
	harness  *Harness
	kept     bool // option hold_on
	members  []*child
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

// Supports says that memory is not measured: that of this process is the workers' too.
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
	definition := space.Name + "=" + space.Protocol
	if o.kept {
		space.Options = map[string]string{"hold_on": "1m"}
		definition += ",hold_on=1m"
	}
	last := len(names) - 1
	for i, name := range names[:last] {
		args := o.harness.memberArgs(name, o.harness.fresh("member-"+name), addresses[i],
			"--join", strings.Join(addresses, ","), "--expect", fmt.Sprint(len(addresses)), "--space", definition)
		member, err := o.harness.start("member "+name, "member-"+name, args...)
		if err != nil {
			return err
		}
		o.members = append(o.members, member)
	}
	o.node, err = host.Start(ctx, host.Config{
		Name: names[last], Address: addresses[last], Join: addresses, Expect: len(addresses), Peers: hear(addresses[last], &o.messages, 0, &o.hearing),
		State: o.harness.fresh("member-" + names[last]), Spaces: []host.Space{space},
	})
	if err != nil {
		return err
	}
	for _, m := range o.members {
		if err := m.awaitReady(ctx); err != nil {
			return err
		}
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
	err = stopAll(err, o.members...)
	o.members = nil
	return err
}

func (o *own) children() []*child { return o.members }

// Usage is that of the children: the CPU of this process counts as the workers'.
func (o *own) Usage(ctx context.Context, settle bool) (sum load.Usage, err error) {
	for _, m := range o.members {
		used, err := m.usage(ctx, settle)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(used)
	}
	return sum, nil
}

func (o *own) Connect(context.Context, int) (load.Client, error) { return open{locks{o.node}}, nil }

// Counted is how many messages of its space this process has sent and received.
func (o *own) Counted() uint64 { return o.messages.count.Load() }
