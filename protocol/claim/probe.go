package claim

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
)

// probes are those of a protocol that needs other members for nothing but the sessions of its clients.
func probes() probe.Probes {
	return probe.Probes{
		Fewest: 1, Most: 5, Draw: draw, Timed: local.Fields(),
		Known: func(o protocol.Options) probe.Known {
			c := o.(*Options)
			return probe.Known{KeepsCell: c.HoldOn, Wait: c.Wait, Skew: c.Skew, Expiry: c.Expiry}
		},
		Tries: tries,
		Stored: func(o protocol.Options) probe.Stored {
			c := o.(*Options)
			return probe.Stored{Slice: c.Selection, Shown: func(row []storage.Entry, wall int64) (process, value string) {
				s := c.Inspect(row, wall)
				return s.RID, s.Value
			}}
		},
		Kept: []probe.Counted{
			{Name: "granted again without a write", Count: func(space protocol.Machine) uint64 { return space.(*Machine).holding.regranted }},
			{Name: "written anew while it is free", Count: func(space protocol.Machine) uint64 { return space.(*Machine).holding.rewritten }},
			{Name: "given back to others who have waited", Count: func(space protocol.Machine) uint64 { return space.(*Machine).holding.yielded }},
			{Name: "crash of who keeps something", Crash: true, Count: func(space protocol.Machine) uint64 { return space.(*Machine).holding.kept }},
		},
	}
}

// tries reports whether a mutation writes a claim, which is a try to take or keep a lock; or whether a swap of a cell
// is a try to take the lock: under the process's own token, unlike a renewal or the record of a waiter.
func tries(request protocol.Message) bool {
	switch request := request.(type) {
	case storage.Mutate:
		return slices.ContainsFunc(request.Additions, func(e storage.Entry) bool {
			_, _, is := ParseColumn(e.Column)
			return is
		})
	case storage.Swap:
		next, is := decodeCell(request.New)
		if !is || !next.held {
			return false
		}
		old, is := decodeCell(request.Old)
		return request.Absent || !is || old.token != next.token
	}
	return false
}

// draw draws the options of a space, and the features of its store. A client that believes for longer than claims may
// live would be refused, and never get every name.
func draw(r *probe.Run) {
	o := &Options{}
	o.Wait = 40*time.Millisecond + time.Duration(r.IntN(120))*time.Millisecond
	o.Expiry = 5*time.Second + time.Duration(r.IntN(20))*time.Second
	o.CAS = r.IntN(3) == 0
	storeClock, cleaner := r.IntN(4) == 0, r.IntN(3) == 0
	o.StoreClock, o.Cleaner = storeClock && !o.CAS, cleaner && !o.CAS
	o.Unit = []Unit{Micro, Micro, Milli, Nano}[r.IntN(4)]
	r.TTL, r.Watch = r.IntN(2) == 0, r.IntN(2) == 0
	r.Exclusive, r.Belief = true, o.Belief()
	drawHoldOn(r, o)
	maps.Copy(r.Options, o.List().Given())
	// Drawn last, so that the other draws of a seed stay.
	r.Ends = r.IntN(2) == 0
}

// drawHoldOn draws how long processes keep released locks, for half of the runs with conditional writes; in half of
// those users come so often that a kept lock is wanted.
func drawHoldOn(r *probe.Run, o *Options) {
	const least = 20 * time.Millisecond
	length := least + time.Duration(r.Int64N(int64(min(time.Second, o.Expiry/10)-least)))
	if drawn, often := r.IntN(2) == 0, r.IntN(2) == 0; o.CAS && drawn {
		o.HoldOn, r.Often = length.Round(time.Millisecond), often
	}
}
