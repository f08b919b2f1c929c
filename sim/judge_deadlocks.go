package sim

import (
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// deadlocked checks a refusal because of a cycle of waits (P4): its user has asked for that, and each owner of the cycle
// waits for a name that another one has. A replica that repeats a refusal knows no more than that it was one.
func (j *judge) deadlocked(r *request, err error) {
	if r.want.deadlock != holdfast.Fail {
		j.violate("P4", "%s wants %v, and is refused because of a deadlock: %v", r.client, r.want, err)
	}
	refused, is := errors.AsType[*holdfast.DeadlockError](err)
	if !is {
		return
	}
	cycle := refused.Cycle
	if len(cycle) < 2 || cycle[0].Name != r.want.name || cycle[0].Owner != r.want.owner {
		j.violate("P4", "%s wants %v, and is refused because of a cycle without it: %v", r.client, r.want, err)
		return
	}
	for i, step := range cycle {
		same := func(other holdfast.DeadlockStep) bool {
			return other.Session == step.Session && other.Owner == step.Owner
		}
		if slices.ContainsFunc(cycle[:i], same) {
			j.violate("P4", "%s is refused because of a cycle that comes twice to %+v: %v", r.client, step, err)
		}
	}
}

// party is an owner that holds and waits: a session, or a named owner of one.
type party struct {
	session lock.SessionID
	owner   string
}

// checkCycles checks that a member which decides, or has a copy of the table, leaves no request in a cycle of waits that
// would rather fail (P4). It draws the edges by their definition, from what the table shows.
func (w *world) checkCycles(m *process) {
	if w.settings.willing == 0 || w.protocol.Tables == nil || m.space() == nil || w.steps%8 != 0 {
		return
	}
	for _, table := range w.protocol.Tables(m.space(), m.now()) {
		if shown := table.Snapshot(table.Now, 0, 1); shown.Paused || table.Reign() == 0 || table.Exhausted() {
			continue // some of the requests may have been granted before
		}
		if gate := table.Show(lock.SpaceLock); len(gate.Holders)+len(gate.Waiters) > 0 {
			continue // some wait for an operator
		}
		edges, willing := cyclesIn(table)
		for _, p := range willing {
			if edges.leads(p, p) {
				w.judge.violate("P4", "%s leaves %v waiting in a cycle, and it would rather fail: %v", m, p, edges)
				return
			}
		}
	}
}

// waitsFor are the edges between owners.
type waitsFor map[party][]party

// leads reports whether a way leads from one owner to another.
func (e waitsFor) leads(from, to party) bool {
	seen, next := map[party]bool{}, slices.Clone(e[from])
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		if p == to {
			return true
		}
		if !seen[p] {
			seen[p] = true
			next = append(next, e[p]...)
		}
	}
	return false
}

// cyclesIn returns the edges of a table, and the owners all of whose waits would rather fail.
func cyclesIn(table probe.Table) (edges waitsFor, willing []party) {
	edges = waitsFor{}
	unwilling := map[party]bool{}
	table.Scan("", "", table.Names()+1, func(l lock.Lock) bool {
		for n := range l.Waiters {
			wait := &l.Waiters[n]
			p := party{wait.Session, wait.Owner}
			if wait.Deadlock == holdfast.Fail {
				willing = append(willing, p)
			} else {
				unwilling[p] = true
			}
			edges[p] = append(edges[p], ahead(&l, n, table.Now)...)
		}
		return true
	})
	return edges, slices.DeleteFunc(willing, func(p party) bool { return unwilling[p] })
}

// ahead returns the owners that the n-th waiter of a name waits for.
func ahead(l *lock.Lock, n int, now lock.Time) (owners []party) {
	wait := &l.Waiters[n]
	p := party{wait.Session, wait.Owner}
	if wait.Until <= now {
		return nil
	}
	for i := range l.Waiters[:n] {
		before := &l.Waiters[i]
		switch owner := (party{before.Session, before.Owner}); {
		case owner == p:
			return nil
		case before.Until > now && exclusive(before.Mode, wait.Mode):
			owners = append(owners, owner)
		}
	}
	for i := range l.Holders {
		holder := &l.Holders[i]
		switch owner := (party{holder.Session, holder.Owner}); {
		case owner == p:
			return nil
		case !holder.Revoked && holder.Until > now && exclusive(holder.Mode, wait.Mode):
			owners = append(owners, owner)
		}
	}
	return owners
}

// exclusive reports whether modes never fit together. Two of slots may.
func exclusive(a, b holdfast.Mode) bool { return a == holdfast.ModeExclusive || a != b }
