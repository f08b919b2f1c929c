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

// Config says what kind of member this process is. The zero Config is a member
// alone, that serves this process only and has the default space.
type Config struct {
	// Name is the member's name, unique in its cluster. Zero means "embedded" for a
	// member alone, and its Address in a cluster.
	Name string
	// Address is where other members and clients reach this one: HOST:PORT, or
	// unix:///PATH. Zero means nowhere for a member alone, and Listen in a cluster.
	Address string
	// HTTP is where the member serves people; every member tells it when asked. Zero
	// means nowhere.
	HTTP string
	// Join are the addresses of the cluster's founders; this member's own may stand
	// among them. Zero means a member alone, which guests may join.
	Join []string
	// Expect is how many founders the cluster has: Join and this member's own address
	// are exactly so many, and the same at each of them. Zero with a Join means that
	// this member is a guest: it holds and grants as they do, without a vote.
	Expect int
	// Priority orders founders by seniority when the cluster is formed, the smallest
	// (Priority, Name) first. Zero is the most senior.
	Priority int
	// Candidate says how eligible this member is as a leader of spaces of protocol bakery: 1 is
	// the most, 14 the least, and NoCandidate never. It is this member's own, and not agreed.
	// Zero means 14.
	Candidate int
	// Patience is T of docs/design/membership.md §1: how long an answer of another member is waited
	// for. Zero means 250 ms, or a twelfth of the lease if that is less. Where members elect a
	// coordinator it is longer if round trips are, up to a quarter of the lease.
	Patience time.Duration
	// Peers makes the transport to other members; identity is what this member gives them in
	// handshakes. Close closes it. Zero means none for a member alone, and what Listen serves in
	// a cluster.
	Peers func(identity func() transport.Identity) (transport.Transport, error)
	// Listen is the address at which the node itself listens for other members, where no
	// server does it: HOST:PORT, or unix:///PATH. It serves no clients. Zero means that
	// it does not.
	Listen string
	// TLS encrypts what goes to other members and what Listen accepts: its certificate must
	// carry this member's Name, and RootCAs is the authority that signs members'
	// certificates. A guest without Data proves with it who it is at the members through which it locks in spaces of protocol
	// consensus. Zero means plain text.
	TLS *tls.Config
	// Terms asks the member at an address what all members of its cluster must agree on, for a guest without Spaces; see
	// transport.Identity. Zero means over gRPC, with TLS.
	Terms func(ctx context.Context, address string) ([]string, error)
	// Unanswered, unless nil, is called by Adopt and Start with the reason why a guest without Spaces does not know those of its
	// cluster yet, in one line that names each member of Join and its reason, whenever all of them were asked in vain.
	Unanswered func(why error)
	// Data is the folder of what spaces of protocol consensus keep, which need one unless this member is a guest; the stable cell is kept
	// there too, unless State names another folder. It is one member's and one process's, and knows which protocol
	// each space has: another one later is refused. Zero means that nothing is kept.
	Data string
	// State is the folder of the stable cell, and of the definitions that a guest has taken from its cluster: where no
	// member answers at a later start, the guest begins with those. Zero means Data, and that none is kept where that is zero too.
	State string
	// Trace is the file to which all that the member's machines take and do is recorded, to
	// be replayed by `holdfast sim replay`; see package trace for what is in it. It is
	// appended to, and only its owner can read it. Zero means that nothing is recorded.
	Trace string
	// TraceSize is how large that file may grow, in bytes: then the trace ends, and the
	// member goes on. Zero means 1 GiB.
	TraceSize int64
	// Serves says that clients outside this process will be served.
	Serves bool
	// Spaces are the lockspaces. Zero means those of the cluster for a guest, and elsewhere the default
	// space alone, which is always added where it is missing, with protocol central.
	Spaces []Space
	// Lease is D of docs/design/membership.md §1. Zero means 3 s, or for a guest without Spaces what the cluster has.
	Lease time.Duration
	// Drift is how much one clock may run faster than another. Zero means 0.05, or for a guest without Spaces what
	// the cluster has.
	Drift float64
	// TTL is what a client's session gets that does not say. Zero means 10 s, or Limits.TTL if that is
	// shorter; but the lease in a cluster that has a space of a protocol in memory, where longer ones have a price.
	TTL time.Duration
	// Limits bound what clients can make the member keep.
	Limits Limits
	// Observe sees the effects of every step; see run.Config.
	Observe func(now protocol.Time, effects *protocol.Effects)
	// Events has what happens to the clients of this member, for the other members: a
	// server's Observer makes it of what Observe sees. Nil means one of the node's own.
	Events *events.Source
	// Logger gets what happens. Nil discards.
	Logger *slog.Logger
	// Clock measures time. Nil means the machine's, which runs through sleep.
	Clock clock.Clock

	disk    vfs.FS   // of the journal, for tests; nil means the machine's
	adopted *adopted // by Adopt; nil where nothing was
	process string   // names this life of the process, in stores
}

// NoCandidate is the Candidate of a member that never leads.
const NoCandidate = protocol.NoCandidate

// Space defines a lockspace. All members of a cluster have the same definitions.
type Space struct {
	Name     string
	Protocol string        // one of member.Protocols; zero means central
	Options  option.Values // those of the protocol, as the command line spells them
	// Store is where locks are kept, where the protocol keeps them in a store. The program that has
	// opened it closes it, after the Node.
	Store storage.Store

	tuning    option.Values        // options that configuration does not have; see Tuned
	described *protocol.Descriptor // from check on
	options   protocol.Options
}

// Tuned returns the space with options that configuration does not have.
func (s Space) Tuned(tuning option.Values) Space {
	s.tuning = tuning
	return s
}

// Class is how safe locks of the space are; advisory where the definition is not valid.
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

// Given returns the options as they hold: what was given, or the defaults.
func (s *Space) Given() option.Values { return s.options.List().Effective() }

// Votes reports whether members vote on what the space decides.
func (s *Space) Votes() bool { return s.described.Logs }

// HasGrace reports whether names stay taken for a while after a hold limit.
func (s *Space) HasGrace() bool { return s.options.HasGrace() }

// Resolved are the options as the protocol has them: its own Options.
func (s *Space) Resolved() protocol.Options { return s.options }

// Settings are the settings that all processes that share the space's store must agree on.
func (s *Space) Settings() string { return s.options.Settings() }

// features are those of the space's store.
func (s *Space) features() storage.Features {
	if s.Store == nil {
		return storage.Features{}
	}
	return s.Store.Features()
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
	if err := c.checkCluster(); err != nil {
		return err
	}
	c.Name = cmp.Or(c.Name, "embedded")
	if c.TTL == 0 {
		c.TTL = min(10*time.Second, cmp.Or(c.Limits.TTL, 10*time.Second))
		if c.clustered() && slices.ContainsFunc(c.Spaces, isInMemory) {
			c.TTL = c.Lease
		}
	}
	return nil
}

// defaultProtocol is that of a space that names none.
const defaultProtocol = "central"

// needsViews reports whether a space grants in views alone: those whose locks are kept in a store go on without any.
func (c *Config) needsViews() bool {
	return slices.ContainsFunc(c.Spaces, func(s Space) bool { return !s.described.Stores })
}

// isInMemory reports whether a space's locks end with the members that they came through, or soon after.
func isInMemory(s Space) bool { return !s.described.Logs && !s.described.Stores }

// allLast reports whether what is held in every space outlasts the member that it came through.
func (c *Config) allLast() bool {
	return !slices.ContainsFunc(c.Spaces, func(s Space) bool { return !s.described.Lasting })
}

// checkSpaces puts the lockspaces in order, the default one first.
func (c *Config) checkSpaces() error {
	c.Spaces = slices.Clone(c.Spaces)
	if !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Name == holdfast.DefaultSpace }) {
		def := Space{Name: holdfast.DefaultSpace}
		if len(c.Spaces) > 0 && c.Spaces[0].Options["partition"] != "" {
			def.Options = option.Values{"partition": c.Spaces[0].Options["partition"]}
		}
		c.Spaces = append(c.Spaces, def)
	}
	// Ports are handed out in this order, which every format shows too.
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
			// The views are those of the member, not of a space.
			return fmt.Errorf("space %q has partition %s and space %q has %s; all spaces of a member must have the same",
				first.Name, first.Given()["partition"], s.Name, s.Given()["partition"])
		}
		if err := s.checkGroup(c.Spaces[:i]); err != nil {
			return err
		}
	}
	return nil
}

// checkSpace judges a space by itself, and makes its options.
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

// checkGroup refuses a space that shares its locks with another one: the two would have two mediators, which do not know of
// each other.
func (s *Space) checkGroup(others []Space) error {
	for i := range others {
		if o := &others[i]; s.Store != nil && o.Store == s.Store && o.group() == s.group() {
			return fmt.Errorf("spaces %q and %q have one store and group %q, and would give its locks twice; give them groups of their own", o.Name, s.Name, s.group())
		}
	}
	return nil
}

// group is the part of the store that the space uses.
func (s *Space) group() string { return s.Given()["group"] }

// drawProcess makes a name for this life of the process: where it runs, for people, and a part that
// no other process draws. A process that starts again, or has several members, has another one
// each time.
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

// checkNumbers looks before anything is opened or written.
func (c *Config) checkNumbers() error {
	if !(c.Drift >= 0 && c.Drift <= 0.5) { // so that it is no NaN either
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

// isNot orders the default space before all others.
func isNot(space string) int {
	if space == holdfast.DefaultSpace {
		return 0
	}
	return 1
}

// mostNames bounds a space's table to some hundred megabytes.
const mostNames = 1_000_000

func (c *Config) table() lock.Config {
	return lock.Config{
		Drift:           c.Drift,
		Names:           cmp.Or(c.Limits.Names, mostNames),
		WaitersPerName:  c.Limits.WaitersPerName,
		LocksPerSession: c.Limits.LocksPerSession,
	}
}
