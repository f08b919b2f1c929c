package node

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config describes the member. The zero Config is a member alone, with the default space.
type Config struct {
	// Name is the member's name, unique in its cluster. Zero means "embedded" for a member alone, and
	// its Address in a cluster.
	Name string
	// Address is where other members reach this one: HOST:PORT, or unix:///PATH. Zero means Listen.
	Address string
	// Listen is the address at which the member listens for the others: HOST:PORT, or unix:///PATH. Required in a
	// cluster. Zero means that a member alone does not listen.
	Listen string
	// Join lists the addresses of the cluster's founders; this member's own may be among them. Zero means a
	// member alone, which guests may join.
	Join []string
	// Expect is the number of founders: Join and this member's own address are exactly so many, and all
	// founders have the same. Zero with a Join means that this member is a guest, which locks like the others and has no
	// vote.
	Expect int
	// Priority orders founders by seniority when the cluster is formed, the smallest (Priority, Name)
	// first. Zero is the most senior.
	Priority int
	// Candidate is how eligible this member is as a leader of spaces of protocol bakery: 1 is the most, 14 the least,
	// and NoCandidate never. Members need not agree on it. Zero means 14.
	Candidate int
	// TLS encrypts the links to other members: its certificate must carry this member's Name, and RootCAs is the authority
	// that signs members' certificates. A guest without Data also proves its identity with it to the members through
	// which it locks in spaces of protocol consensus. Zero means plain text.
	TLS *tls.Config
	// Patience is how long the member waits for an answer of another one: T of docs/design/membership.md §1. Zero
	// means 250 ms, or a twelfth of the lease if that is less. Where members elect a coordinator the wait follows the
	// round trips, up to a quarter of the lease.
	Patience time.Duration
	// Lease is how long other members wait for this one when it is lost: D of docs/design/membership.md §1. All members have the
	// same. Zero means 3 s, or for a guest without Spaces that of the cluster.
	Lease time.Duration
	// Drift is how much one clock may run faster than another, from 0 to 0.5. Zero means 0.05, or for a guest without Spaces
	// that of the cluster.
	Drift float64
	// Data is the folder of what spaces of protocol consensus keep, which need one unless this member is a guest. It
	// belongs to one member and one process. Zero means that nothing is kept.
	Data string
	// State is the folder of the member's identity, and of the definitions that a guest has taken from its cluster: where
	// no member answers at a later start, the guest begins with those. Zero means Data.
	State string
	// Spaces are the lockspaces. Zero means those of the cluster for a guest, and the default space alone for other
	// members. The default space is always added where it is missing, with protocol central.
	Spaces []Space
	// TTL is the time to live of the sessions of this process at other members, where it is a guest. Zero means
	// 10 s, or Limits.TTL if that is shorter; but the lease in a cluster that has a space in memory.
	TTL time.Duration
	// Limits bound what this process, and other members, can make the member keep.
	Limits Limits
	// Unanswered is called in Start, by a guest without Spaces, each time that all members of Join were asked for those
	// of the cluster in vain: why names each member and its reason, in one line. Nil means no call.
	Unanswered func(why error)
	// Trace is the file to which the member appends all that its machines take and do, for `holdfast sim replay`; only
	// its owner can read it. Zero means no trace.
	Trace string
	// TraceSize is how large that file may grow, in bytes: the trace ends there, and the member goes on. Zero
	// means 1 GiB.
	TraceSize int64
	// Logger gets what happens. Nil discards.
	Logger *slog.Logger
}

// NoCandidate is the Candidate of a member that never leads.
const NoCandidate = host.NoCandidate

// Space defines a lockspace. All members of a cluster have the same definitions.
type Space struct {
	Name     string
	Protocol string // central, grantor, permission, bakery, claim or consensus; zero means central
	// Options are those of the protocol, as the command line spells them: {"placement": "10s", "hold_on": "off"}. The
	// page docs/protocols lists them. Of those that are left out the defaults hold; Node.Spaces returns all of them.
	Options map[string]string
	// Store, of protocol claim alone, is where the claims are written. The program that has
	// opened it closes it, after the Node. Required there.
	Store storage.Store
}

// host returns the same space for the member itself.
func (s *Space) host() host.Space {
	return host.Space{Name: s.Name, Protocol: s.Protocol, Options: s.Options, Store: s.Store}
}

// Class is how safe locks of the space are; the least of all where the definition is not valid.
func (s *Space) Class() holdfast.Class {
	inside := s.host()
	return inside.Class()
}

// Limits bound a member. Zero values mean the defaults of the fields' comments.
type Limits struct {
	// TTL is the longest that a session is given, up to 24 h. Zero means 24 h where all spaces have protocol
	// consensus, and elsewhere 1 min, or the lease if that is longer: there the others wait for what a lost member has
	// promised its clients.
	TTL             time.Duration
	Sessions        int // zero means 100,000
	LocksPerSession int // in one space; zero means 100,000
	WaitersPerName  int // zero means 10,000
	Names           int // held or waited for, in one space; zero means 1,000,000
}

// host returns the same configuration for the member itself.
func (c *Config) host() host.Config {
	inside := host.Config{
		Name: c.Name, Address: c.Address, Listen: c.Listen, TLS: c.TLS,
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
