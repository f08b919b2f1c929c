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

// Descriptor is a protocol as configuration, members, servers and the simulator know it. Each protocol's package
// exports one.
type Descriptor struct {
	// Name is the name that every format uses.
	Name string
	// Options makes the options of one space, all of them left out.
	Options func() Options
	// Lasting says that its locks and sessions outlast the member that they came through (Enroll).
	Lasting bool
	// Logs says that each member keeps its locks in logs on the disk: the machine asks for storage.Append, Chunk, Install
	// and Fetch.
	Logs bool
	// Stores says that its locks are kept in a store that all members share: the machine asks for storage.Mutate, Slice
	// and Swap, and grants without a view.
	Stores bool
	// Candidates says that members are elected leaders by Setup.Priority and Setup.Random.
	Candidates bool
	// Peers says that no member is in charge: each speaks for its own clients. Its machines are each a [Peer].
	Peers bool
	// Moves says that the authority can be handed over: the machine answers Transfer and StepDown.
	Moves bool
	// Probes is what else the simulator and the explorers may know of it: a probe.Probes (package protocol/probe, which
	// stands on this one). Nil is nothing.
	Probes any
	// Messages lists the types that its machines send to one another.
	Messages []wire.Type
}

// Options are those of one space: the struct of its protocol. [Common] has what is the same in most protocols.
type Options interface {
	// List binds the fields.
	List() option.List
	// Resolve puts in what is left out and comes from the other options or from the setup. The error is a sentence that
	// names the options that contradict each other, and the fix.
	Resolve(s *Setup) error
	// Class is how safe the locks are.
	Class(store storage.Features) holdfast.Class
	// New makes the machine of one member. The error names the field that is wrong.
	New(s *Setup) (Machine, error)
	// Views are the options about the views of the member, which are the same in all its spaces.
	Views() *Common
	// Parts is in how many parts the names are split.
	Parts() int
	// HasGrace reports whether names stay taken for a while after a hold limit has passed.
	HasGrace() bool
	// Settings is what all processes that share a store must agree on; "" where there is no store.
	Settings() string
}

// Setup is what a machine is made from, in addition to the options.
type Setup struct {
	// Space is the name of the space.
	Space string
	// Member is this member's name, for people.
	Member string
	// Self is this member, and Life the number of its life, each higher than the former.
	Self ID
	Life uint64
	// Founders is how many founders the cluster has, and Founder whether this member is one.
	Founders int
	Founder  bool
	// Table bounds what clients may ask for; the zero value has the table's defaults.
	Table lock.Config
	// Patience is how long an answer is waited for. Zero means 250 ms.
	Patience time.Duration
	// Lease is that of the member, for people.
	Lease time.Duration
	// Sessions is how many there may be. Zero means the protocol's default.
	Sessions int
	// Process names this life of the process, unlike any other's: HOST.PID.NONCE, as people may read it.
	Process string
	// PID is that of the process. Zero means that it is not known.
	PID int
	// Priority is how eligible this member is as a leader, where leaders are elected. Zero means the protocol's default.
	Priority int
	// Random is drawn once, at the start.
	Random uint32
	// Store says what the store can do, where locks are kept in one.
	Store storage.Features
	// Log is the journal's number of the first log of the space, and Logs are those that there are.
	Log  uint64
	Logs []storage.Kept
	// Above is the reign that the first one of a new log is above: a second of the wall clock.
	Above uint64
}

// NoCandidate is the Setup.Priority of a member that is never a leader.
const NoCandidate = 15

// Parse makes the options of a space from what is given. It checks no range: [Descriptor.Check] does. The error is an
// *option.Refusal.
func (d *Descriptor) Parse(given option.Values) (Options, error) {
	o := d.Options()
	return o, o.List().Parse(given)
}

// Check makes the options of a space from what is given, checks each of them, and resolves them with those for tuning,
// which are not checked. The error is a sentence.
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

// Common are the options that the spaces of all protocols have. A protocol's options embed it.
type Common struct {
	Any     bool // on a partition every side grants, and not only the one with a quorum
	Preempt bool // of the founders in the view the one with the highest id coordinates
	// Operators is how many calls of operators may wait for other members' answers at this member. Zero means the
	// protocol's default.
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

// Primary binds the fields for a protocol in which only the side with a quorum can grant, and says why.
func (c *Common) Primary(why string) option.List {
	list := c.List()
	list[0].Value = option.Switch{At: &c.Any, Words: [2]string{"primary", "any"}, Only: true}
	list[0].Refused = map[string]option.Reason{"any": {Wrong: why, Fix: "leave it out for primary, or use protocol central or grantor"}}
	return list
}

// Resolve has nothing to do.
func (c *Common) Resolve(*Setup) error { return nil }

// Class is available where every side of a partition grants, and otherwise fenced.
func (c *Common) Class(storage.Features) holdfast.Class {
	if c.Any {
		return holdfast.Available
	}
	return holdfast.Fenced
}

// Views returns the fields.
func (c *Common) Views() *Common { return c }

// Parts is 1.
func (c *Common) Parts() int { return 1 }

// HasGrace is false.
func (c *Common) HasGrace() bool { return false }

// Settings is empty.
func (c *Common) Settings() string { return "" }

// Named returns the descriptor of that name, or nil.
func Named(all []Descriptor, name string) *Descriptor {
	i := slices.IndexFunc(all, func(d Descriptor) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Names lists descriptors for people: "a, b or c".
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
