package node

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config configures the member. The zero Config is a member alone, with the default space.
type Config struct {
	// Name is the member's name, unique in its cluster. Zero means "embedded" for a member alone, and its Address in a
	// cluster.
	Name string
	// Address is the address at which other members reach this one: HOST:PORT, or unix:///PATH. Zero means Listen.
	Address string
	// Listen is the address at which the member listens for the others: HOST:PORT, or unix:///PATH. Required in a
	// cluster. Zero means that a member alone does not listen.
	Listen string
	// Join lists the addresses of the cluster's founders; this member's own may be among them. Zero means a member
	// alone, which guests may join.
	Join []string
	// Expect is the number of founders: the number of addresses in Join plus this member's own, the same at all
	// founders. Zero with a Join means that this member is a guest, which takes locks like the others and has no vote.
	Expect int
	// Priority orders founders by seniority when the cluster is formed, the smallest (Priority, Name) first. Zero is
	// the most senior.
	Priority int
	// Candidate is this member's eligibility as a leader of spaces of protocol bakery: 1 is the highest, 14 the lowest,
	// and NoCandidate means never. Members need not agree on it. Zero means 14.
	Candidate int
	// TLS encrypts the links to other members: its certificate must carry this member's Name, and RootCAs is the
	// authority that signs members' certificates. A guest without Data also proves its identity with it to the members
	// through which it locks in spaces of protocol consensus. Zero means plain text.
	TLS *tls.Config
	// Members are the names of the members that this one accepts with TLS, or patterns of them as in path.Match, its own
	// name included. Zero means every name for which RootCAs has signed a certificate that lists the extended key usages
	// serverAuth and clientAuth: give members an authority of their own then.
	Members []string
	// Patience is how long the member waits for another one's answer: T of docs/design/membership.md §1. Zero means 250
	// ms, or a twelfth of the lease if that is less. If members elect a coordinator, the wait follows the round trips,
	// up to a quarter of the lease.
	Patience time.Duration
	// Lease is how long other members wait for this one when it is lost: D of docs/design/membership.md §1. All members
	// have the same. Zero means 3 s, or for a guest without Spaces the cluster's lease.
	Lease time.Duration
	// Drift is the maximum rate difference between two clocks, from 0 to 0.5. Zero means 0.05, or for a guest without
	// Spaces the cluster's drift.
	Drift float64
	// Data is the folder for the state of spaces of protocol consensus, which require one unless this member is a
	// guest. It belongs to one member and one process. Zero means that nothing is kept.
	Data string
	// State is the folder of the member's identity, and of the definitions that a guest has received from its cluster.
	// If no member answers at a later start, the guest starts with those. Zero means Data.
	State string
	// Spaces are the lockspaces. Zero means the cluster's spaces for a guest, and only the default space for other
	// members. A missing default space is always added, with protocol central.
	Spaces []Space
	// TTL is the time to live of this process's sessions at other members, if it is a guest. Zero means 10 s, or
	// Limits.TTL if that is shorter; in a cluster that has a space in memory, zero means the lease.
	TTL time.Duration
	// Limits limit the state that this process, and other members, can make the member keep.
	Limits Limits
	// Unanswered is called in Start, by a guest without Spaces, each time that no member of Join has answered with the
	// cluster's spaces: why names each member and its reason, in one line. Nil means no call.
	Unanswered func(why error)
	// Trace is the file to which the member appends all inputs and outputs of its machines, for `holdfast sim replay`;
	// only its owner can read it. Zero means no trace.
	Trace string
	// TraceSize is the maximum size of that file, in bytes: the trace ends there, and the member continues. Zero means
	// 1 GiB.
	TraceSize int64
	// Logger is the member's logger. Nil discards.
	Logger *slog.Logger
}

// NoCandidate is the Candidate of a member that never leads.
const NoCandidate = host.NoCandidate

// Space defines a lockspace. All members of a cluster have the same definitions.
type Space struct {
	Name     string
	Protocol string // central, grantor, permission, bakery, claim or consensus; zero means central
	// Options are the protocol's options, in the syntax of the command line: {"placement": "10s", "hold_on": "off"}.
	// The page docs/protocols lists them. Omitted ones have their defaults; Node.Spaces returns all of them.
	Options map[string]string
	// Store, for protocol claim only, is the store to which claims are written. Required there. The program that opened
	// it closes it, after the Node.
	Store storage.Store
}

// host returns the same space in the type of package host.
func (s *Space) host() host.Space {
	return host.Space{Name: s.Name, Protocol: s.Protocol, Options: s.Options, Store: s.Store}
}

// Class returns the safety class of the space; the weakest if the definition is invalid.
func (s *Space) Class() holdfast.Class {
	inside := s.host()
	return inside.Class()
}

// Limits are the limits of a member. Zero values mean the defaults in the fields' comments.
type Limits struct {
	// TTL is the maximum ttl of a session, up to 24 h. Zero means 24 h if all spaces have protocol consensus. With any
	// other protocol it means 1 min, or the lease if that is longer: there the others wait for what a lost member has
	// promised its clients.
	TTL             time.Duration
	Sessions        int // zero means 100,000
	LocksPerSession int // in one space; zero means 100,000
	WaitersPerName  int // zero means 10,000
	Names           int // names held or waited for, in one space; zero means 1,000,000
}

// host returns the same configuration in the type of package host.
func (c *Config) host() host.Config {
	inside := host.Config{
		Name: c.Name, Address: c.Address, Listen: c.Listen, TLS: c.TLS, Members: c.Members,
		Join: c.Join, Expect: c.Expect, Priority: c.Priority, Candidate: c.Candidate,
		Patience: c.Patience, Lease: c.Lease, Drift: c.Drift, TTL: c.TTL, Limits: host.Limits(c.Limits),
		Data: c.Data, State: c.State, Unanswered: c.Unanswered,
		Trace: c.Trace, TraceSize: c.TraceSize, Logger: c.Logger,
	}
	for _, space := range c.Spaces {
		inside.Spaces = append(inside.Spaces, space.host())
	}
	return inside
}
