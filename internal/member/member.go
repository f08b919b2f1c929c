package member

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config is the configuration of a member at its start. The fields of the same names in membership.Config,
// session.Config and lock.Config define the allowed values and the meaning of zero.
type Config struct {
	Name, Address, HTTP string
	Founders            []string // the addresses of all founders
	Founder             bool
	Priority            int
	Preempt             bool
	Available           bool // partition mode any
	Kept                bool // it has a stable cell
	Cell                membership.Cell
	Serves              bool
	Spaces              []Space  // at the ports from 1 on
	Definitions         []string // settings of their spaces that all members must agree on
	Lease               time.Duration
	Patience            time.Duration
	Drift               float64
	TTL                 time.Duration // for a session that requests none
	LastingTTL          time.Duration // for one that uses lasting spaces alone; zero means TTL
	MaxTTL              time.Duration
	Sessions            int
	Table               lock.Config
	PID                 int           // of the process; zero if unknown
	Wall                time.Duration // the wall clock at the start, since the Unix epoch
}

// Space is a lockspace, with the name of its protocol and its options, which the protocol interprets.
type Space struct {
	Name, Protocol string
	Options        option.Values
	Process        string           // name of this life of the process, for locks in a store
	Candidate      int              // this member's priority in leader elections; zero means the default
	Random         uint32           // drawn at the start
	Store          storage.Features // for locks in a store
	Attends        bool             // no client outlives the process; for locks in a store that reports ends
	Logs           []storage.Kept   // contents of its logs; none before the first start
}

// LogOf returns the number of a space's first log in the member's journal; shard i has that number plus i. It is
// derived from the name, so other spaces do not affect it. It is never 0.
func LogOf(space string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(space)) // never fails
	return max(h.Sum64()&^(logsOfSpace-1), logsOfSpace)
}

// logsOfSpace is the maximum number of logs of a space.
const logsOfSpace = 1 << 16

// Entropy is the member's source of random values.
type Entropy struct {
	// Rand draws ids and jitter. Required.
	Rand *rand.Rand
	// Secret draws the secrets of sessions. If nil, Rand is used.
	Secret func() session.Secret
	// Proof returns the hash of a secret. If nil, session.ProofOf is used. Without the secrets its values look random,
	// so replays must supply them.
	Proof func(session.Secret) [32]byte
}

// Machines are the machines of one life of a member.
type Machines struct {
	Member  *membership.Machine
	Spaces  []protocol.Machine
	Session *session.Machine // in front of all others
}

// Build makes the machines of a life. The error names the invalid field, or a protocol that is not among those given.
func Build(s *Config, entropy Entropy, protocols []protocol.Descriptor) (*Machines, error) {
	member, err := s.Membership(entropy)
	if err != nil {
		return nil, err
	}
	built := &Machines{Member: member}
	cell := member.Cell()
	for at := range s.Spaces {
		machine, err := s.NewSpace(at, cell, protocols)
		if err != nil {
			return nil, err
		}
		built.Spaces = append(built.Spaces, machine)
	}
	built.Session, err = s.NewSession(entropy, cell, protocols, protocol.Stack(member, built.Spaces...))
	return built, err
}

// NewSpace makes the machine of one space, with the member's identity in this life.
func (s *Config) NewSpace(at int, cell membership.Cell, protocols []protocol.Descriptor) (protocol.Machine, error) {
	space := &s.Spaces[at]
	d := protocol.Named(protocols, space.Protocol)
	if d == nil {
		return nil, fmt.Errorf("space %q has protocol %q, which is not among those that are known", space.Name, space.Protocol)
	}
	setup := &protocol.Setup{
		Space: space.Name, Member: s.Name, Self: cell.ID, Life: cell.Incarnation, Founders: max(1, len(s.Founders)), Founder: s.Founder || len(s.Founders) == 0,
		Table: s.Table, Patience: s.Patience, Lease: s.Lease, Sessions: s.Sessions, Process: space.Process, PID: s.PID,
		Priority: space.Candidate, Random: space.Random, Wall: s.Wall, Store: space.Store, Attends: space.Attends,
		Log: LogOf(space.Name), Logs: space.Logs, Above: membership.Second(s.Wall),
	}
	options, err := d.Parse(space.Options)
	if err == nil {
		options.Views().Any = s.Available // like the views of the member
		err = options.Resolve(setup)
	}
	if err != nil {
		return nil, fmt.Errorf("space %q: %w", space.Name, err)
	}
	return options.New(setup)
}

// Membership makes the membership machine, which is below the spaces.
func (s *Config) Membership(entropy Entropy) (*membership.Machine, error) {
	return membership.New(membership.Config{
		Name: s.Name, Address: s.Address, HTTP: s.HTTP,
		Founders: s.Founders, Founder: s.Founder, Priority: s.Priority, Preempt: s.Preempt, Available: s.Available,
		Kept: s.Kept, Cell: s.Cell, Serves: s.Serves, Spaces: len(s.Spaces), Definitions: s.Definitions,
		Lease: s.Lease, Patience: s.Patience, Drift: s.Drift, Wall: s.Wall, Rand: entropy.Rand,
	})
}

// NewSession makes the session machine in front of a stack of machines, with the member's identity in this life. The
// protocols determine which of its spaces are lasting.
func (s *Config) NewSession(entropy Entropy, cell membership.Cell, protocols []protocol.Descriptor, stack protocol.Machine) (*session.Machine, error) {
	var lasting []protocol.Port
	for at := range s.Spaces {
		if d := protocol.Named(protocols, s.Spaces[at].Protocol); d != nil && d.Lasting {
			lasting = append(lasting, protocol.Port(at+1))
		}
	}
	return session.New(session.Config{
		Member: cell.ID, Incarnation: cell.Incarnation, Rand: entropy.Rand, Secret: entropy.Secret, Proof: entropy.Proof, Spaces: len(s.Spaces), Lasting: lasting,
		Drift: s.Drift, Lease: s.Lease, TTL: s.TTL, LastingTTL: s.LastingTTL, MaxTTL: s.MaxTTL, Sessions: s.Sessions,
	}, stack)
}
