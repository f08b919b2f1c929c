package main

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// observeCommand is `holdfast observe NAME`.
func (p *program) observeCommand() *cli.Command {
	return &cli.Command{
		Name:      "observe",
		Usage:     "follow one lock: its present state, then each change",
		UsageText: name + " observe NAME [--output FORMAT] [flags]",
		Description: "Prints who holds the lock, with its token and its value, and how many wait; then the same after each change,\n" +
			"in order, until interrupted. TIME is when it is printed. It takes no lock. A state \"missed\" says that other\n" +
			"states may have come before the next one: a member could not be reached, or this command was slow. When its\n" +
			"member ends, it goes on at another one.\n" +
			"\n" +
			"With --store it looks at the store, four times a second or when the store reports a change. It sees what each\n" +
			"look finds, and the names of processes.",
		Flags:  clientFlags(append(tableFlags(), lockStoreFlags()...)...),
		Action: p.observe,
	}
}

func (p *program) observe(ctx context.Context, c *cli.Command) error {
	wanted, err := oneName(c)
	if err != nil {
		return err
	}
	// A member or a store that does not answer, or refuses, is reported as by show.
	if _, err := askOperator(ctx, p, c, func(ctx context.Context, o operator) (*schema.Lock, error) {
		return o.Show(ctx, spaceOf(c), wanted)
	}); err != nil {
		return err
	}
	w := p.newWatcher(c)
	w.table = newTable("TIME", "STATE", "HOLDER", "TOKEN", "MEMBER", "WAITERS", "VALUE").wide("MEMBER").long("HOLDER", "VALUE").states("STATE")
	if p.usesStore(c) {
		return p.withOperator(ctx, c, func(ctx context.Context, o operator) error {
			locks, err := o.(*storeOperator).of(ctx, spaceOf(c))
			if err != nil {
				return err
			}
			for state, err := range locks.Observe(ctx, wanted) {
				if err != nil {
					return err
				}
				if err := w.observed(observedOf(spaceOf(c), state)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		for state, err := range admin.Observe(ctx, spaceOf(c), wanted) {
			if err != nil {
				return reworded(c.Name, "", err)
			}
			if err := w.observed(state); err != nil {
				return err
			}
		}
		return nil
	})
}

// observed prints a state: a row for each holder.
func (w *watcher) observed(state *schema.Observed) error {
	switch w.out.format {
	case formatJSON:
		return printMessage(w.out.to, w.json, state)
	case formatYAML:
		return w.out.document(state)
	}
	at, waiters := time.Now().Local().Format("15:04:05.000"), strconv.Itoa(len(state.GetWaiters()))
	if state.GetMissed() {
		w.row(at, "missed", "", "", "", "", "")
	}
	if len(state.GetHolders()) == 0 {
		w.row(at, "free", "", "", "", waiters, "")
	}
	for _, g := range state.GetHolders() {
		w.row(at, "held", cmp.Or(g.GetOwner(), g.GetClient()), formatToken(g.GetToken()), g.GetMember(), waiters, formatValue(g.GetValue()))
	}
	return w.show()
}

// observedOf returns a state of a store as a document, with the fields that a store has.
func observedOf(space string, state holdfast.State) *schema.Observed {
	document := &schema.Observed{Space: space, Name: state.Name, Missed: state.Missed}
	for _, h := range state.Holders {
		document.Holders = append(document.Holders, &schema.Grant{
			Owner: h.Owner, Member: h.Member, Client: h.Client, Mode: api.ToMode(h.Mode), Units: int32(h.Units), Token: uint64(h.Token),
			Since: timestamppb.New(h.Since), Reason: h.Reason, Value: h.Value,
		})
	}
	for i, r := range state.Waiters {
		document.Waiters = append(document.Waiters, &schema.Wait{
			Owner: r.Owner, Member: r.Member, Client: r.Client, Mode: api.ToMode(r.Mode), Units: int32(r.Units),
			Since: timestamppb.New(r.Since), Position: int32(i), Reason: r.Reason,
		})
	}
	return document
}
