package claim

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Options are the settings that all processes sharing locks agree on, and those that each may choose.
type Options struct {
	protocol.Common
	// Wait is W: how long a claim must be undisturbed before it is checked. The write of a claim may take that time
	// less Skew. The same in all processes. Zero means 100 ms, which is storage.lock.wait-time of the original.
	Wait time.Duration
	// Expiry is the age at which others ignore a claim: how long a lock stays taken after its holder has crashed. A
	// living holder renews it earlier. The same in all processes. Zero means 30 s, or the minimum that Wait, Retries
	// and Skew allow if that is more; the original has 5 min, and no way to hold longer.
	Expiry time.Duration
	// Skew is by how much the clocks of two processes may differ. The same in all processes.
	// Zero means half of Wait, less a twelfth.
	Skew time.Duration
	// Retries is how often a write, a read or a deletion is tried. Zero means 3.
	Retries int
	// Unit is the unit of timestamps. Zero means microseconds.
	Unit Unit
	// RID names the process in its claims: 1 to 128 bytes of UTF-8, unique among all that use the store, or have used
	// it for as long as claims live. Required.
	RID string
	// Group is the key part of rows: locks of one name in one group exclude each other. Required,
	// at most 256 bytes.
	Group string
	// Cells means that names are those of CellName: locks of cells of a user's own table, as in the original. Then
	// Group is not used.
	Cells bool
	// CAS takes locks by conditional writes instead of claims, if the store has them.
	CAS bool
	// HoldOn is how long after a conditional write a process keeps a released lock for its own clients, which then need
	// no write: 1 ms to 1 s, and at most a tenth of Expiry. Locks that they have used in the meantime are rewritten, up
	// to seven times. Other waiters wait that much longer. Each process may choose. Zero means off.
	HoldOn time.Duration
	// StoreClock dates claims by the clock of the store, if it has one, so that the processes' clocks need not agree.
	StoreClock bool
	// Cleaner deletes claims that have expired, at most once in 30 s for a name.
	Cleaner bool
}

// mostRID is the maximum length of a given RID, before the part that identifies this life is added.
const mostRID = 96

// List binds the fields.
func (o *Options) List() option.List {
	return append(o.Primary("the store decides, which has no sides"), option.List{
		{
			Name: "wait", Value: option.Duration{At: &o.Wait, Least: time.Millisecond, Most: time.Minute}, Default: "100ms",
			Help: "How long a process waits between writing a claim and checking it; its write may take as long, less skew.",
		},
		{
			Name: "expiry", Value: option.Duration{At: &o.Expiry, Least: 10 * time.Millisecond, Most: 24 * time.Hour}, Default: "30s, or more where wait asks for it",
			Help: "Age at which other processes ignore a claim: how long the lock of a crashed process stays taken.",
		},
		{
			Name: "retries", Value: option.Count[int]{At: &o.Retries, Most: 100}, Default: "3", Local: true,
			Help: "How often a write, read or deletion is tried.",
		},
		{
			Name: "skew", Value: option.Duration{At: &o.Skew, Least: time.Microsecond, Most: time.Minute}, Default: "5/12 of wait",
			Help: "Largest difference between the clocks of two processes.",
		},
		{
			Name: "unit", Value: option.Choice[Unit]{At: &o.Unit, Words: units}, Default: "us",
			Help: "Unit of timestamps.",
		},
		{
			Name: "rid", Value: option.Text{At: &o.RID, Most: mostRID}, Default: "where the process runs", Local: true,
			Help: "Name of the process in its claims, for people to read.",
		},
		{
			Name: "group", Value: option.Text{At: &o.Group, Most: mostGroup}, Default: "the name of the space",
			Help: "The group part of row keys: locks of one name in one group exclude each other.",
		},
		{
			Name: "cas", Value: option.Switch{At: &o.CAS}, Default: "false",
			Help: "Whether locks are taken by conditional writes instead of claims; the store must support them.",
		},
		{
			Name: "hold_on", Default: "off", Local: true,
			Value: option.Duration{At: &o.HoldOn, Least: leastHoldOn, Most: mostHoldOn, Words: option.Words{{Text: "off"}, {Text: "on", Number: int64(10 * time.Millisecond)}}},
			Help:  "With cas, how long a process keeps a released lock for its own clients; on is 10ms.",
		},
		{
			Name: "clock", Value: option.Switch{At: &o.StoreClock, Words: [2]string{"machine", "store"}}, Default: "machine",
			Help: "The clock that dates claims.",
		},
		{
			Name: "cleaner", Value: option.Switch{At: &o.Cleaner}, Default: "false", Local: true,
			Help: "Whether expired claims are deleted.",
		},
		{
			Name: "cells", Value: option.Switch{At: &o.Cells}, Default: "false", Tuning: true,
			Help: "Whether names are those of cells of a user's own table.",
		},
	}...)
}

// Resolve replaces zeros with defaults, and returns an error for contradictions: an Expiry that does not leave time for
// all tries of a write, a Skew that leaves none. Group defaults to the space. RID identifies this life of the process.
// A given one is not enough: after a restart claims of the same name hold what clients still believe in, and the
// process would skip them as its own.
func (o *Options) Resolve(s *protocol.Setup) error {
	o.Group = cmp.Or(o.Group, s.Space)
	nonce := s.Process[strings.LastIndexByte(s.Process, '.')+1:]
	switch {
	case o.RID == "":
		o.RID = s.Process
	case nonce != "":
		o.RID += "~" + nonce
	}
	if protocol.Mutated("each process has a rid of its own") {
		o.RID = "r"
	}
	if o.Cells {
		o.RID += "~tx" // a cell may have the row of a lock, and is another mediator's
	}
	return o.resolveAll(s.Table.Drift)
}

func (o *Options) resolveAll(drift float64) error {
	if o.Wait == 0 {
		o.Wait = 100 * time.Millisecond
	}
	if o.Skew == 0 {
		o.Skew = o.Wait * 5 / 12
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	if o.Unit == 0 {
		o.Unit = Micro
	}
	if o.Expiry == 0 {
		o.Expiry = max(30*time.Second, o.leastExpiry())
	}
	if o.writeBudget(drift) < o.Wait/10 {
		return fmt.Errorf("skew is %v with wait %v, which leaves a write %v; raise wait to %v at least, or bring the clocks closer together and lower skew",
			o.Skew, o.Wait, max(0, o.writeBudget(drift)), (2*(o.Skew+time.Duration(o.Unit)) + time.Millisecond - 1).Truncate(time.Millisecond))
	}
	if least := o.leastExpiry(); o.Expiry < least {
		return fmt.Errorf("expiry is %v with wait %v, retries %d and skew %v, so a claim could expire while it is written; raise expiry to %v at least, or lower wait or retries",
			o.Expiry, o.Wait, o.Retries, o.Skew, least)
	}
	switch {
	case o.RID == "" || len(o.RID) > 128 || strings.ToValidUTF8(o.RID, "") != o.RID:
		return fmt.Errorf("rid is %q; 1 to 128 bytes of UTF-8 are allowed", o.RID)
	case strings.ContainsFunc(o.RID, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("rid is %q; control characters are not allowed in it", o.RID)
	case o.Group == "" || len(o.Group) > mostGroup:
		return fmt.Errorf("group is %q; 1 to %d bytes are allowed", o.Group, mostGroup)
	case o.CAS && o.StoreClock:
		return fmt.Errorf("cas is on and clock is the store's, but with cas a clock gives only the first token; leave clock out")
	case o.HoldOn != 0 && !o.CAS:
		return fmt.Errorf("hold_on is %v and cas is off, and a claim that was released cannot be kept; turn cas on, or leave hold_on out", o.HoldOn)
	case o.HoldOn > o.Expiry/holdOnShare:
		return fmt.Errorf("hold_on is %v with expiry %v, and what is kept must be far from its expiry; raise expiry to %v at least, or lower hold_on",
			o.HoldOn, o.Expiry, holdOnShare*o.HoldOn)
	case o.CAS && o.Cleaner:
		return fmt.Errorf("cas and cleaner are both on, but with cas there are no claims to clean; leave cleaner out")
	}
	return nil
}

// Class returns the class of locks in such a store. By claims it is advisory, because it depends on close clocks and
// fast writes; with CAS over a store that loses nothing it is fenced, except for the order of the waiters.
func (o *Options) Class(store storage.Features) holdfast.Class {
	if o.CAS && store.Durable {
		return holdfast.Fenced
	}
	return holdfast.Advisory
}

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{
		Options: *o, Self: s.Self, Table: s.Table, Patience: s.Patience, Random: uint64(s.Random), Wall: s.Wall, Store: s.Store, Attends: s.Attends,
	})
}

// Descriptor describes the protocol.
func Descriptor() protocol.Descriptor {
	return protocol.Descriptor{
		Name: "claim", Options: func() protocol.Options { return &Options{} }, Stores: true, Peers: true, Probes: probes(),
		Messages: local.Messages,
	}
}
