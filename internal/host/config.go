package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config configures this process as a member. The zero Config is a member alone that serves only this process and has
// the default space.
type Config struct {
	// Name is the member's name, unique in its cluster. Zero means "embedded" for a
	// member alone, and its Address in a cluster.
	Name string
	// Address is where other members and clients reach this one: HOST:PORT, or unix:///PATH. Zero means none for a
	// member alone, and Listen in a cluster.
	Address string
	// HTTP is the member's HTTP address; every member reports it on request. Zero means none.
	HTTP string
	// Join are the addresses of the cluster's founders, which may include this member's own. Zero means a member alone,
	// which guests may join.
	Join []string
	// Expect is the number of the cluster's founders: Join and this member's own address must be exactly that many, and
	// the same at each founder. Zero with a Join makes this member a guest: it holds and grants as founders do, but
	// does not vote.
	Expect int
	// Priority orders founders by seniority when the cluster is formed, the smallest
	// (Priority, Name) first. Zero is the most senior.
	Priority int
	// Candidate is this member's eligibility as a leader of spaces of protocol bakery: 1 is the highest, 14 the lowest,
	// and NoCandidate never. Each member may have its own. Zero means 14.
	Candidate int
	// Patience is T of docs/design/membership.md §1: how long to wait for an answer of another member. Zero means 250
	// ms, or a twelfth of the lease if that is less. In the election of a coordinator it is longer if round trips are,
	// up to a quarter of the lease.
	Patience time.Duration
	// Peers makes the transport to other members; identity is what this member sends them in handshakes. Close closes
	// it. Zero means none for a member alone, and in a cluster the one that Listen serves.
	Peers func(identity func() transport.Identity) (transport.Transport, error)
	// Listen is the address on which the node itself listens for other members, without a server: HOST:PORT, or
	// unix:///PATH. It serves no clients. Zero means that it does not listen.
	Listen string
	// TLS encrypts connections to other members and those of Listen: its certificate must carry this member's Name, and
	// RootCAs is the authority of members' certificates. A guest without Data authenticates with it at the members
	// through which it locks in spaces of protocol consensus. Zero means plain text.
	TLS *tls.Config
	// Members are the names of the members that TLS accepts, or patterns of them as in path.Match. Empty means every name
	// for which RootCAs has signed a certificate.
	Members []string
	// Terms asks the member at an address for its cluster's terms, for a guest without Spaces; see transport.Identity.
	// Zero means over gRPC, with TLS.
	Terms func(ctx context.Context, address string) ([]string, error)
	// Unanswered, unless nil, is called by Adopt and Start after each failed round of asking all members of Join, if a
	// guest without Spaces does not know those of its cluster yet. Why is one line that names each member and its
	// reason.
	Unanswered func(why error)
	// Data is the data folder of spaces of protocol consensus, which need one unless this member is a guest; the stable
	// cell is stored there too, unless State names another folder. It belongs to one member and one process, and
	// records the protocol of each space: a different one is refused later. Zero means that nothing is stored.
	Data string
	// State is the folder of the stable cell, and of the definitions that a guest has taken from its cluster: if no
	// member answers at a later start, the guest begins with those. Zero means Data; if that is zero too, neither is
	// stored.
	State string
	// Trace is the file to which all input and output of the member's machines is recorded, for `holdfast sim replay`;
	// package trace describes its contents. It is appended to, and only its owner can read it. Zero means no recording.
	Trace string
	// TraceSize is the maximum size of that file, in bytes: then the trace ends, and the member continues. Zero means 1
	// GiB.
	TraceSize int64
	// Serves reports that clients outside this process will be served.
	Serves bool
	// Spaces are the lockspaces. Zero means those of the cluster for a guest, and otherwise the default space alone,
	// which is always added if missing, with protocol central.
	Spaces []Space
	// Lease is D of docs/design/membership.md §1. Zero means 3 s, or the cluster's value for a guest without Spaces.
	Lease time.Duration
	// Drift is the maximum difference between the rates of two clocks. Zero means 0.05, or the cluster's value for a
	// guest without Spaces.
	Drift float64
	// TTL is the default ttl of a client's session. Zero means 10 s, or Limits.TTL if that is shorter; but in a cluster
	// that has a space of a protocol in memory the lease, for a session that does not use durable spaces alone: there
	// longer ones have a price.
	TTL time.Duration
	// Limits bound the resources that clients can make the member use.
	Limits Limits
	// Observe sees the effects of every step; see run.Config.
	Observe func(now protocol.Time, effects *protocol.Effects)
	// Events has the events of this member's clients, for the other members: a server's Observer makes them from what
	// Observe sees. Nil means a source of the node's own.
	Events *events.Source
	// Logger is the member's logger. Nil discards.
	Logger *slog.Logger
	// Clock measures time. Nil means the machine's clock, which runs through sleep.
	Clock clock.Clock

	disk    vfs.FS   // of the journal, for tests; nil means the machine's
	adopted *adopted // by Adopt; nil if nothing was adopted
	process string   // name of this life of the process, in stores
	// lastingTTL is the default ttl of a session that uses durable spaces alone; 0 means TTL.
	lastingTTL time.Duration
}

// NoCandidate is the Candidate of a member that never leads.
const NoCandidate = protocol.NoCandidate

// Space defines a lockspace. All members of a cluster have the same definitions.
type Space struct {
	Name     string
	Protocol string        // one of member.Protocols; zero means central
	Options  option.Values // those of the protocol, in command line form
	// Store has the locks, if the protocol keeps them in a store. The program that opened it closes it, after the Node.
	Store storage.Store
	// Attends declares that no client outlives the process: then the store may report the process's end, which ends the
	// process's locks at once. A member with clients in other processes must not set it.
	Attends bool
	// Observes is how names of the space are observed by this process's own users. Nil means through the
	// member; names in a store then cannot be.
	Observes Observes

	tuning    option.Values        // options without a configuration key; see Tuned
	described *protocol.Descriptor // set by check
	options   protocol.Options
}

// Tuned returns the space with options that have no configuration key.
func (s Space) Tuned(tuning option.Values) Space {
	s.tuning = tuning
	return s
}

// Class returns the safety class of the space's locks; advisory if the definition is not valid.
func (s *Space) Class() holdfast.Class {
	options := s.options
	if options == nil {
		d := protocol.Named(member.Protocols(), cmp.Or(s.Protocol, defaultProtocol))
		if d == nil {
			return holdfast.Advisory
		}
		var err error
		if options, err = d.Parse(s.Options); err != nil {
			return holdfast.Advisory
		}
	}
	return options.Class(s.features())
}

// Given returns the effective options: the given ones, or the defaults.
func (s *Space) Given() option.Values { return s.options.List().Effective() }

// Votes reports whether members vote on the space's decisions.
func (s *Space) Votes() bool { return s.described.Logs }

// HasGrace reports whether names stay taken for a while after a hold limit.
func (s *Space) HasGrace() bool { return s.options.HasGrace() }

// Resolved returns the options in the protocol's own form.
func (s *Space) Resolved() protocol.Options { return s.options }

// Settings returns the settings that all processes that share the space's store must agree on.
func (s *Space) Settings() string { return s.options.Settings() }

// features returns the features of the space's store.
func (s *Space) features() storage.Features {
	if s.Store == nil {
		return storage.Features{}
	}
	return s.Store.Features()
}

// Limits bound a member. Zero values mean the defaults of the fields' comments.
type Limits struct {
	// TTL is the maximum ttl of a session, up to 24 h. Zero means 24 h if all spaces have protocol consensus, and
	// otherwise 1 min, or the lease if that is longer: there the others wait out a lost member's promises to its
	// clients.
	TTL             time.Duration
	Sessions        int // zero means 100,000
	LocksPerSession int // in one space; zero means 100,000
	WaitersPerName  int // zero means 10,000
	Names           int // held or waited for, in one space; zero means 1,000,000
}

func (c *Config) check() error {
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	c.Drift = cmp.Or(c.Drift, 0.05)
	c.State = cmp.Or(c.State, c.Data)
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	if err := c.checkSpaces(); err != nil {
		return err
	}
	if err := c.checkProof(); err != nil {
		return err
	}
	if err := c.checkCluster(); err != nil {
		return err
	}
	c.Name = cmp.Or(c.Name, "embedded")
	if c.TTL == 0 {
		c.TTL = min(10*time.Second, cmp.Or(c.Limits.TTL, 10*time.Second))
		c.lastingTTL = c.TTL
		if c.clustered() && slices.ContainsFunc(c.Spaces, isInMemory) {
			c.TTL = c.Lease
		}
	}
	return nil
}

// defaultProtocol is the protocol of a space that names none.
const defaultProtocol = "central"

// needsViews reports whether a space grants only in views: spaces whose locks are kept in a store work without any.
func (c *Config) needsViews() bool {
	return slices.ContainsFunc(c.Spaces, func(s Space) bool { return !s.described.Stores })
}

// isInMemory reports whether a space's locks end with the members that they came through, or soon after.
func isInMemory(s Space) bool { return !s.described.Logs && !s.described.Stores }

// allLast reports whether the locks of every space outlast the member that they came through.
func (c *Config) allLast() bool {
	return !slices.ContainsFunc(c.Spaces, func(s Space) bool { return !s.described.Lasting })
}

// checkSpaces sorts the lockspaces, the default one first.
func (c *Config) checkSpaces() error {
	c.Spaces = slices.Clone(c.Spaces)
	if !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Name == holdfast.DefaultSpace }) {
		def := Space{Name: holdfast.DefaultSpace}
		if len(c.Spaces) > 0 && c.Spaces[0].Options["partition"] != "" {
			def.Options = option.Values{"partition": c.Spaces[0].Options["partition"]}
		}
		c.Spaces = append(c.Spaces, def)
	}
	// Ports are assigned in this order, which every format shows too.
	slices.SortFunc(c.Spaces, func(a, b Space) int {
		if a.Name == holdfast.DefaultSpace || b.Name == holdfast.DefaultSpace {
			return cmp.Compare(isNot(a.Name), isNot(b.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	c.process = drawProcess()
	for i := range c.Spaces {
		s, first := &c.Spaces[i], &c.Spaces[0]
		if err := holdfast.CheckSpace(s.Name); err != nil {
			return err
		}
		if i > 0 && c.Spaces[i-1].Name == s.Name {
			return fmt.Errorf("space %q is defined twice", s.Name)
		}
		if err := c.checkSpace(s); err != nil {
			return fmt.Errorf("space %q: %w", s.Name, err)
		}
		if s.options.Views().Any != first.options.Views().Any {
			// The views belong to the member, not to a space.
			return fmt.Errorf("space %q has partition %s and space %q has %s; all spaces of a member must have the same",
				first.Name, first.Given()["partition"], s.Name, s.Given()["partition"])
		}
		if err := s.checkGroup(c.Spaces[:i]); err != nil {
			return err
		}
	}
	return nil
}

// checkSpace checks a space by itself, and makes its options.
func (c *Config) checkSpace(s *Space) (err error) {
	s.Protocol = cmp.Or(s.Protocol, defaultProtocol)
	protocols := member.Protocols()
	if s.described = protocol.Named(protocols, s.Protocol); s.described == nil {
		return fmt.Errorf("there is no protocol %q; use %s", s.Protocol, protocol.Names(protocols))
	}
	switch {
	case s.described.Stores && s.Store == nil:
		return fmt.Errorf("protocol %s keeps its locks in a store, and Store is nil; give one, as store=URL on the command line", s.Protocol)
	case !s.described.Stores && s.Store != nil:
		return fmt.Errorf("a Store is given, and protocol %s does not have it; leave it out, or use protocol claim", s.Protocol)
	case s.described.Logs && c.Data == "" && !c.guest():
		return fmt.Errorf("protocol %s keeps its locks on the disk, and Data is empty; give it a folder, as --data DIR on the command line", s.Protocol)
	}
	s.options, err = s.described.Check(s.Options, s.tuning, &protocol.Setup{Space: s.Name, Process: c.process, Table: lock.Config{Drift: c.Drift}})
	return err
}

// checkGroup refuses a space that shares its locks with another one: the two would have two mediators that do not know
// of each other.
func (s *Space) checkGroup(others []Space) error {
	for i := range others {
		if o := &others[i]; s.Store != nil && o.Store == s.Store && o.group() == s.group() {
			return fmt.Errorf("spaces %q and %q have one store and group %q, and would give its locks twice; give them groups of their own", o.Name, s.Name, s.group())
		}
	}
	return nil
}

// group returns the part of the store that the space uses.
func (s *Space) group() string { return s.Given()["group"] }

// drawProcess makes a name for this life of the process: its machine, for people, and a random, unique part. A process
// that restarts, or has several members, gets a new one each time.
func drawProcess() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "host"
	}
	host = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, host)
	var drawn [9]byte
	rand.Read(drawn[:]) // never fails: crypto/rand ends the process instead
	return fmt.Sprintf("%.64s.%d.%s", host, os.Getpid(), base64.RawURLEncoding.EncodeToString(drawn[:]))
}

// checkNumbers runs before anything is opened or written.
func (c *Config) checkNumbers() error {
	if !(c.Drift >= 0 && c.Drift <= 0.5) { // also rejects NaN
		return fmt.Errorf("field Drift is %v; 0 to 0.5 is allowed", c.Drift)
	}
	if c.Candidate < 0 || c.Candidate > NoCandidate {
		return fmt.Errorf("field Candidate is %d; 1 to %d is allowed, %d for never, and 0 for %d", c.Candidate, NoCandidate-1, NoCandidate, NoCandidate-1)
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Lease", int64(c.Lease)}, {"Patience", int64(c.Patience)}, {"Expect", int64(c.Expect)}, {"Priority", int64(c.Priority)}, {"TTL", int64(c.TTL)}, {"Limits.TTL", int64(c.Limits.TTL)}, {"TraceSize", c.TraceSize},
		{"Limits.Sessions", int64(c.Limits.Sessions)},
		{"Limits.LocksPerSession", int64(c.Limits.LocksPerSession)},
		{"Limits.WaitersPerName", int64(c.Limits.WaitersPerName)},
		{"Limits.Names", int64(c.Limits.Names)},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is negative (%d); 0 means the default", field.name, field.value)
		}
	}
	return nil
}

// isNot sorts the default space before all others.
func isNot(space string) int {
	if space == holdfast.DefaultSpace {
		return 0
	}
	return 1
}

// mostNames bounds a space's table to a few hundred megabytes.
const mostNames = 1_000_000

func (c *Config) table() lock.Config {
	return lock.Config{
		Drift:           c.Drift,
		Names:           cmp.Or(c.Limits.Names, mostNames),
		WaitersPerName:  c.Limits.WaitersPerName,
		LocksPerSession: c.Limits.LocksPerSession,
	}
}
