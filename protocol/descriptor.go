package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Descriptor describes a protocol to configuration, members, servers and the simulator. Each protocol's package exports
// one.
type Descriptor struct {
	// Name is the protocol's name, the same in every format.
	Name string
	// Options returns the options of one space, all of them unset.
	Options func() Options
	// Lasting reports that locks and sessions outlast the member that they came through (Enroll).
	Lasting bool
	// Logs reports that each member keeps its locks in logs on disk: the machine uses storage.Append, Chunk, Install
	// and Fetch.
	Logs bool
	// Stores reports that locks are kept in a store that all members share: the machine uses storage.Mutate, Slice and
	// Swap, and grants without a view.
	Stores bool
	// Candidates reports that members are elected leaders by Setup.Priority and Setup.Random.
	Candidates bool
	// Peers reports that no member is in charge: each decides for its own clients. Each of its machines is a [Peer].
	Peers bool
	// Moves reports that the authority can be transferred: the machine answers Transfer and StepDown.
	Moves bool
	// Probes is further information for the simulator and the explorers: a probe.Probes (package protocol/probe, which
	// depends on this one). Nil means none.
	Probes any
	// Messages lists the message types that its machines exchange.
	Messages []wire.Type
}

// Options are the options of one space: the protocol's struct. [Common] has those that most protocols share.
type Options interface {
	// List binds the fields.
	List() option.List
	// Resolve fills in unset options that depend on other options or on the setup. The error is a sentence that names
	// the contradicting options, and the fix.
	Resolve(s *Setup) error
	// Class returns the safety class of the locks.
	Class(store storage.Features) holdfast.Class
	// New returns the machine of one member. The error names the invalid field.
	New(s *Setup) (Machine, error)
	// Views returns the options about the member's views, which are the same in all its spaces.
	Views() *Common
	// Parts returns the number of parts into which the names are split.
	Parts() int
	// HasGrace reports whether names stay taken for a while after a hold limit has passed.
	HasGrace() bool
	// Settings returns the settings that all processes sharing a store must agree on; "" if there is no store.
	Settings() string
}

// Setup is the input for a machine, in addition to the options.
type Setup struct {
	// Space is the name of the space.
	Space string
	// Member is this member's name, for display.
	Member string
	// Self is this member, and Life the number of its life, each higher than the previous one.
	Self ID
	Life uint64
	// Founders is the number of the cluster's founders, and Founder whether this member is one.
	Founders int
	Founder  bool
	// Table limits what clients may request; the zero value has the table's defaults.
	Table lock.Config
	// Patience is how long to wait for an answer. Zero means 250 ms.
	Patience time.Duration
	// Lease is the member's lease, for display.
	Lease time.Duration
	// Sessions is the maximum number of sessions. Zero means the protocol's default.
	Sessions int
	// Process is a unique name of this life of the process: HOST.PID.NONCE, in readable form.
	Process string
	// PID is the process id. Zero means unknown.
	PID int
	// Priority is this member's eligibility as a leader, if leaders are elected. Zero means the protocol's default.
	Priority int
	// Random is drawn once, at the start.
	Random uint32
	// Wall is the wall clock at the start, since the Unix epoch, for display. Zero means that it is not known.
	Wall time.Duration
	// Store is the features of the store, if locks are kept in one.
	Store storage.Features
	// Attends reports that no client of this member outlives the process. Then the store may report the process's end,
	// which ends the process's locks.
	Attends bool
	// Log is the journal's number of the space's first log, and Logs are the existing logs.
	Log  uint64
	Logs []storage.Kept
	// Above is a lower bound for the first reign of a new log: a second of the wall clock.
	Above uint64
}

// NoCandidate is the Setup.Priority of a member that is never a leader.
const NoCandidate = 15

// Parse returns the options of a space with the given values. It checks no range: [Descriptor.Check] does. The error is
// an *option.Refusal.
func (d *Descriptor) Parse(given option.Values) (Options, error) {
	o := d.Options()
	return o, o.List().Parse(given)
}

// Check returns the options of a space with the given values, checks each of them, and resolves them with those for
// tuning, which are not checked. The error is a sentence.
func (d *Descriptor) Check(given, tuning option.Values, s *Setup) (Options, error) {
	o := d.Options()
	err := o.List().Check(given)
	var refusal *option.Refusal
	if errors.As(err, &refusal) && refusal.Unknown {
		return nil, fmt.Errorf("protocol %s has no option %q; allowed: %s; leave it out", d.Name, refusal.Option, refusal.Allowed)
	}
	if err == nil {
		err = o.List().Parse(tuning)
	}
	if err != nil {
		return nil, err
	}
	return o, o.Resolve(s)
}

// Common are the options common to the spaces of all protocols. A protocol's options embed it.
type Common struct {
	Any     bool // in a partition every side grants, not only the one with a quorum
	Preempt bool // the founder in the view with the highest id coordinates
	// Operators is the maximum number of operators' calls that wait for other members' answers at this member. Zero
	// means the protocol's default.
	Operators int
}

// List binds the fields.
func (c *Common) List() option.List {
	return option.List{
		{
			Name: "partition", Value: option.Switch{At: &c.Any, Words: [2]string{"primary", "any"}}, Default: "primary",
			Help: "Which side of a partition grants: only the one with a quorum (primary), or every side (any); the same in all spaces of a member.",
		},
		{
			Name: "preempt", Value: option.Switch{At: &c.Preempt}, Default: "false",
			Help: "Whether the member with the highest id coordinates, as published, instead of the member that joined first.",
		},
		{
			Name: "operators", Value: option.Count[int]{At: &c.Operators, Most: 1 << 20}, Tuning: true, Local: true,
			Help: "Most calls of operators that wait for other members' answers at one member.",
		},
	}
}

// Primary binds the fields for a protocol in which only the side with a quorum can grant; why is the reason.
func (c *Common) Primary(why string) option.List {
	list := c.List()
	list[0].Value = option.Switch{At: &c.Any, Words: [2]string{"primary", "any"}, Only: true}
	list[0].Refused = map[string]option.Reason{"any": {Wrong: why, Fix: "leave it out for primary, or use protocol central or grantor"}}
	return list
}

// Resolve does nothing.
func (c *Common) Resolve(*Setup) error { return nil }

// Class returns available if every side of a partition grants, and fenced otherwise.
func (c *Common) Class(storage.Features) holdfast.Class {
	if c.Any {
		return holdfast.Available
	}
	return holdfast.Fenced
}

// Views returns the fields.
func (c *Common) Views() *Common { return c }

// Parts returns 1.
func (c *Common) Parts() int { return 1 }

// HasGrace returns false.
func (c *Common) HasGrace() bool { return false }

// Settings returns "".
func (c *Common) Settings() string { return "" }

// Named returns the descriptor with that name, or nil.
func Named(all []Descriptor, name string) *Descriptor {
	i := slices.IndexFunc(all, func(d Descriptor) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Names lists the names of descriptors: "a, b or c".
func Names(all []Descriptor) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}
