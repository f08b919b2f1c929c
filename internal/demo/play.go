package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// play runs the acts in order.
func (d *demo) play(ctx context.Context) error {
	if err := d.cast(ctx); err != nil {
		return err
	}
	if err := d.calm(ctx); err != nil {
		return err
	}
	if err := d.killCoordinator(ctx); err != nil {
		return fmt.Errorf("kill the coordinator: %w", err)
	}
	if err := d.calm(ctx); err != nil {
		return err
	}
	if err := d.stopMember(ctx); err != nil {
		return fmt.Errorf("stop a member: %w", err)
	}
	return d.calm(ctx)
}

// cast starts the members and the workers.
func (d *demo) cast(ctx context.Context) error {
	d.screen.intro()
	for _, m := range d.cluster.Members {
		d.screen.say("member %s starts at %s", m.Name, m.Address)
	}
	if err := d.cluster.Start(ctx); err != nil {
		return err
	}
	leader, err := d.cluster.Coordinator(ctx, d.cluster.Members[0])
	if err != nil {
		return err
	}
	d.screen.say("they have elected %s to coordinate, and grant; %d workers begin, two through each member", leader.Name, workers)
	if err := d.workers.StartAll(d.cluster, workers); err != nil {
		return err
	}
	return d.workers.AwaitAll(ctx, 0, 0, d.workers.Workers()...)
}

// calm lets the workers work for a while.
func (d *demo) calm(ctx context.Context) error {
	d.workers.Note(clustertest.Event{Kind: clustertest.Calm})
	select {
	case <-time.After(d.Calm):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reign returns the reign of a token: the authority that granted it.
func reign(t holdfast.Token) uint64 { return uint64(t) >> 32 }

// killCoordinator kills the coordinator while a worker holds the register through
// another member, and waits until the others grant again.
func (d *demo) killCoordinator(ctx context.Context) error {
	victim, err := d.cluster.Coordinator(ctx, d.cluster.Members[0])
	if err != nil {
		return err
	}
	keeper, kept, err := d.keep(ctx, victim)
	if err != nil {
		return err
	}
	d.screen.say("worker %d holds %s through member %s", keeper.Number, clustertest.RegisterName, kept.Member)
	mark := d.workers.Mark()
	if err := victim.Kill(); err != nil {
		return err
	}
	d.killed = true
	d.workers.Note(clustertest.Event{Kind: clustertest.Fault, Why: victim.Name + " killed"})
	at := d.workers.Now()
	d.screen.say("member %s, the coordinator, was killed with SIGKILL", victim.Name)
	next, err := d.workers.Await(ctx, "a grant by another coordinator", mark, func(e clustertest.Event) bool {
		return e.Kind == clustertest.Entered && reign(e.Token) > reign(kept.Token)
	})
	if err != nil {
		return err
	}
	seenBy := d.cluster.Others()[0]
	leader, err := d.cluster.Coordinator(ctx, seenBy)
	if err != nil {
		return err
	}
	d.screen.say("member %s coordinates now and has granted %s to worker %d, %.2fs after the kill", leader.Name, next.Name, next.Worker, (next.At - at).Seconds())
	if err := d.letGo(ctx, keeper, kept); err != nil {
		return err
	}
	if err := victim.Start(); err != nil {
		return err
	}
	if err := d.cluster.AwaitView(ctx, seenBy, d.cluster.Members...); err != nil {
		return err
	}
	d.screen.say("member %s was started again, and has joined", victim.Name)
	return nil
}

// letGo orders a worker to release a lock kept across the coordinator's death.
func (d *demo) letGo(ctx context.Context, keeper *clustertest.Process, kept clustertest.Event) error {
	mark := d.workers.Mark()
	if err := keeper.Order("go on"); err != nil {
		return err
	}
	ended, err := d.awaitEnd(ctx, mark, kept)
	if err != nil {
		return err
	}
	if ended.Kind == clustertest.Lost {
		d.screen.say("worker %d has lost %s meanwhile, and knows it: %s", keeper.Number, clustertest.RegisterName, ended.Why)
		return nil
	}
	d.screen.say("worker %d has held %s all the while, and gives it back", keeper.Number, clustertest.RegisterName)
	return nil
}

// stopMember stops a member that does not coordinate, while a worker holds the
// register through it, until another worker has written to the register; then the
// worker goes on, and the member is woken.
func (d *demo) stopMember(ctx context.Context) error {
	leader, err := d.cluster.Coordinator(ctx, d.cluster.Members[0])
	if err != nil {
		return err
	}
	keeper, kept, err := d.keep(ctx, leader)
	if err != nil {
		return err
	}
	victim := d.cluster.Member(kept.Member)
	mark, at := d.workers.Mark(), d.workers.Now()
	if err := victim.Stop(); err != nil {
		return err
	}
	d.workers.Note(clustertest.Event{Kind: clustertest.Fault, Why: victim.Name + " stopped"})
	d.screen.say("worker %d holds %s through member %s; that member was stopped with SIGSTOP", keeper.Number, clustertest.RegisterName, victim.Name)
	next, err := d.workers.Await(ctx, "a write by another worker", mark, func(e clustertest.Event) bool {
		return e.Kind == clustertest.Wrote && e.Token > kept.Token
	})
	if err != nil {
		return err
	}
	d.screen.say("the lock has passed on: worker %d has written under token %v; worker %d goes on, and writes under its old %v", next.Worker, next.Token, keeper.Number, kept.Token)
	mark = d.workers.Mark()
	if err := keeper.Order("go on"); err != nil {
		return err
	}
	write, err := d.workers.Await(ctx, "the stale write", mark, func(e clustertest.Event) bool {
		return e.Worker == keeper.Number && e.Token == kept.Token && (e.Kind == clustertest.Refused || e.Kind == clustertest.Wrote)
	})
	if err != nil {
		return err
	}
	ended, err := d.awaitEnd(ctx, mark, kept)
	if err != nil {
		return err
	}
	d.lost = ended.Kind == clustertest.Lost
	if write.Kind == clustertest.Refused && d.lost {
		d.screen.say("the register has refused that write, and worker %d has found its lock lost", keeper.Number)
	}
	return d.wake(ctx, victim, leader, at)
}

// wake continues a member that was stopped for longer than its lease.
func (d *demo) wake(ctx context.Context, victim, leader *clustertest.Member, since time.Duration) error {
	select {
	case <-time.After(lease + lease/10 - (d.workers.Now() - since)):
	case <-ctx.Done():
		return ctx.Err()
	}
	stopped, err := victim.Stopped()
	if err != nil {
		return err
	}
	if stopped {
		d.stopped = d.workers.Now() - since
	}
	if err := victim.Continue(); err != nil {
		return err
	}
	if err := d.cluster.AwaitView(ctx, leader, d.cluster.Members...); err != nil {
		return err
	}
	d.screen.say("member %s was woken after %.2fs, has ended what it held, and has joined again", victim.Name, d.stopped.Seconds())
	return nil
}

// keep orders a worker to keep the register, through a member that does not coordinate.
func (d *demo) keep(ctx context.Context, leader *clustertest.Member) (*clustertest.Process, clustertest.Event, error) {
	return d.workers.KeepThrough(ctx, d.cluster, func(member string) bool { return member != leader.Name }, d.cluster.Others(leader)[0])
}

// awaitEnd waits for a worker's report on how its stay with a lock has ended.
func (d *demo) awaitEnd(ctx context.Context, mark int, kept clustertest.Event) (clustertest.Event, error) {
	return d.workers.Await(ctx, "the end of a stay", mark, func(e clustertest.Event) bool {
		return e.Worker == kept.Worker && e.Token == kept.Token && (e.Kind == clustertest.Left || e.Kind == clustertest.Lost)
	})
}
