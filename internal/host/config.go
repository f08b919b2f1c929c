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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
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
	// Peers makes what carries messages to other members, from who this member says it
	// is; Close closes it. Zero means none for a member alone, and what Listen serves in
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
	// Unanswered is told by Adopt and Start why a guest without Spaces does not know those of its cluster yet, in one line
	// that names each member of Join and its reason, whenever all of them were asked in vain. Nil is not told.
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
	// Drift is by how much one clock may run faster than another. Zero means 0.05, or for a guest without Spaces what
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
}

// NoCandidate is the Candidate of a member that never leads.
const NoCandidate = bakery.Off

// Space defines a lockspace. All members of a cluster have the same definitions.
type Space struct {
	Name      string
	Protocol  string // central, grantor, permission, bakery, claim or consensus; zero means central
	Partition string // primary or any, the same in all spaces, and any with central or grantor alone; zero means primary
	Preempt   bool   // the highest id coordinates, as published; zero means seniority
	// Placement, of protocol grantor alone, lets grantorship move by itself to the member that
	// locks most: it is the window in which the grantor counts, from 1 s to 1 h. Zero means
	// that it moves only on request.
	Placement time.Duration
	// HoldOn, of protocol grantor alone, is how long a member keeps a grant that its clients
	// use no more, from 1 s to 1 h. Zero means that it keeps none.
	HoldOn time.Duration
	// Capacity, of protocol permission alone, is how many members may use a name at once: every
	// lock is asked for with Slots(1, Capacity) then. At most holdfast.MaxCapacity. Zero means
	// that each request says what kind of lock it asks for.
	Capacity int
	// Defer, of protocol permission alone, says that a member that cannot give its permission
	// yet says so at once, for one more message.
	Defer bool
	// Retain, of protocol permission alone, says that a member keeps the permissions that it
	// was given for an exclusive lock until another member asks for the name.
	Retain bool
	// Published, of protocol bakery alone, says that leaders tell each other the steps of a lock
	// one by one, as snaplock does: 20 messages, where 8 are enough.
	Published bool
	// Grace, of protocol bakery alone, is how long a name stays taken after a hold limit has
	// passed, so that its holder, which is told, can stop: from 1 s to 1 h. Zero means not at
	// all.
	Grace time.Duration
	// GraceOfHold, of protocol bakery alone, stands for snaplock's Grace: as long as the hold
	// limit, and a minute at least.
	GraceOfHold bool
	// Shards, of protocol consensus alone, is in how many parts the names are split, each with a leader of its own. It stays as
	// it is at the first start. At most consensus.MaxShards. Zero means 1.
	Shards int
	// Autopilot, of protocol consensus alone, is for how long a member that votes is neither heard nor in the view before the others
	// go on without its vote: consensus.LeastAutopilot at least, or consensus.NoAutopilot for never. Zero means
	// consensus.DefaultAutopilot.
	Autopilot time.Duration
	// Store, of protocol claim alone, is where the claims are written. The program that has
	// opened it closes it, after the Node. Required there.
	Store storage.Store
	// Claim, of protocol claim alone, is how. Zero fields mean the defaults that they name; an
	// empty RID is drawn, and an empty Group is the space's name.
	Claim claim.Options
}

// Class is how safe locks of the space are. One of protocol claim must have its Store.
func (s *Space) Class() holdfast.Class {
	switch {
	case s.Protocol == "claim":
		return s.Claim.Class(s.Store.Features())
	case s.Partition == "any":
		return holdfast.Available
	}
	return holdfast.Fenced
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

// needsViews reports whether a space grants in views alone: those of protocol claim go on without any.
func (c *Config) needsViews() bool {
	return slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Protocol != "claim" })
}

// isInMemory reports whether a space's locks end with the members that they came through, or soon after.
func isInMemory(s Space) bool { return s.Protocol != "consensus" && s.Protocol != "claim" }

// allLast reports whether what is held in every space outlasts the member that it came through.
func (c *Config) allLast() bool {
	return !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Protocol != "consensus" })
}

// checkSpaces puts the lockspaces in order, the default one first.
func (c *Config) checkSpaces() error {
	c.Spaces = slices.Clone(c.Spaces)
	if !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Name == holdfast.DefaultSpace }) {
		def := Space{Name: holdfast.DefaultSpace}
		if len(c.Spaces) > 0 {
			def.Partition = c.Spaces[0].Partition
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
	rid := sync.OnceValue(drawRID) // of the process, so of all its spaces
	for i := range c.Spaces {
		s := &c.Spaces[i]
		s.Protocol, s.Partition = cmp.Or(s.Protocol, "central"), cmp.Or(s.Partition, "primary")
		if err := holdfast.CheckSpace(s.Name); err != nil {
			return err
		}
		switch first := &c.Spaces[0]; {
		case !slices.ContainsFunc(member.Protocols(), func(p member.Protocol) bool { return p.Name == s.Protocol }):
			return fmt.Errorf("space %q: protocol %q: this version has central, grantor, permission, bakery, claim and consensus", s.Name, s.Protocol)
		case s.Partition != "primary" && s.Partition != "any":
			return fmt.Errorf("space %q: partition %q: primary or any is allowed", s.Name, s.Partition)
		case i > 0 && c.Spaces[i-1].Name == s.Name:
			return fmt.Errorf("space %q is defined twice", s.Name)
		case s.Partition != first.Partition:
			// The views are those of the member, not of a space.
			return fmt.Errorf("space %q has partition %s and space %q has %s; all spaces of a member have the same", first.Name, first.Partition, s.Name, s.Partition)
		}
		if err := s.checkOptions(); err != nil {
			return err
		}
		if s.Protocol == "consensus" {
			s.Shards, s.Autopilot = cmp.Or(s.Shards, 1), cmp.Or(s.Autopilot, consensus.DefaultAutopilot)
		}
		if err := s.checkClaims(c.Drift, c.Spaces[:i], rid); err != nil {
			return err
		}
		if s.Protocol == "consensus" && c.Data == "" && !c.guest() {
			return fmt.Errorf("space %q: protocol consensus keeps its locks on the disk, and Data is empty; give it a folder, as --data DIR on the command line", s.Name)
		}
	}
	return nil
}

// checkClaims judges what protocol claim has, and puts in what is not given: a rid that no other
// process has, and a group. Two spaces that share claims would have two mediators, which do not know of
// each other.
func (s *Space) checkClaims(drift float64, others []Space, rid func() string) error {
	if s.Protocol != "claim" {
		if s.Store != nil || s.Claim != (claim.Options{}) {
			return fmt.Errorf("space %q: Store or Claim is given, and protocol %s does not have it; leave it out, or use protocol claim", s.Name, s.Protocol)
		}
		return nil
	}
	if s.Store == nil {
		return fmt.Errorf("space %q: protocol claim writes its claims into a store, and Store is nil; give one, as store=URL on the command line", s.Name)
	}
	s.Claim.Group = cmp.Or(s.Claim.Group, s.Name)
	// A name that was given is not enough: after a restart, what clients still believe in is held by
	// claims of the same name, which the process would pass over as its own.
	switch {
	case s.Claim.RID == "":
		s.Claim.RID = rid()
	case len(s.Claim.RID) > mostRID:
		return fmt.Errorf("space %q: rid has %d bytes; at most %d are allowed", s.Name, len(s.Claim.RID), mostRID)
	default:
		s.Claim.RID += "~" + nonce()
	}
	if s.Claim.Cells {
		s.Claim.RID += "~tx" // a cell may have the row of a lock, and is another mediator's
	}
	if err := s.Claim.Resolve(drift); err != nil {
		return fmt.Errorf("space %q: %w", s.Name, err)
	}
	for i := range others {
		if o := &others[i]; o.Store == s.Store && o.Claim.Group == s.Claim.Group {
			return fmt.Errorf("spaces %q and %q have one store and group %q, and would give its locks twice; give them groups of their own", o.Name, s.Name, s.Claim.Group)
		}
	}
	return nil
}

// drawRID makes a name for this process in its claims: where it runs, for people, and a part that
// no other process draws. A process that starts again, or has several members, has another one
// each time.
func drawRID() string {
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
	return fmt.Sprintf("%.64s.%d.%s", host, os.Getpid(), nonce())
}

// mostRID is how long a rid may be that is given: what makes it this life's is added.
const mostRID = 96

// nonce is a text that no other process draws.
func nonce() string {
	var drawn [9]byte
	rand.Read(drawn[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(drawn[:])
}

// checkOptions judges the options that one protocol alone has.
func (s *Space) checkOptions() error {
	for _, option := range []struct {
		field, protocol, value string
		given                  bool
	}{
		{"Placement", "grantor", s.Placement.String(), s.Placement != 0},
		{"HoldOn", "grantor", s.HoldOn.String(), s.HoldOn != 0},
		{"Capacity", "permission", strconv.Itoa(s.Capacity), s.Capacity != 0},
		{"Defer", "permission", "true", s.Defer},
		{"Retain", "permission", "true", s.Retain},
		{"Published", "bakery", "true", s.Published},
		{"Grace", "bakery", s.Grace.String(), s.Grace != 0},
		{"GraceOfHold", "bakery", "true", s.GraceOfHold},
		{"Shards", "consensus", strconv.Itoa(s.Shards), s.Shards != 0},
		{"Autopilot", "consensus", s.autopilot(), s.Autopilot != 0},
	} {
		if option.given && s.Protocol != option.protocol {
			return fmt.Errorf("space %q: %s is %s, and protocol %s does not have it; leave it out, or use protocol %s",
				s.Name, option.field, option.value, s.Protocol, option.protocol)
		}
	}
	const least, most = time.Second, time.Hour
	for _, option := range []struct {
		field string
		value time.Duration
	}{{"Placement", s.Placement}, {"HoldOn", s.HoldOn}, {"Grace", s.Grace}} {
		if option.value != 0 && (option.value < least || option.value > most) {
			return fmt.Errorf("space %q: %s is %v; %v to %v is allowed, and 0 for off", s.Name, option.field, option.value, least, most)
		}
	}
	switch {
	case s.Capacity < 0 || s.Capacity > holdfast.MaxCapacity:
		return fmt.Errorf("space %q: Capacity is %d; 1 to %d is allowed, and 0 for off", s.Name, s.Capacity, holdfast.MaxCapacity)
	case s.Protocol == "permission" && s.Partition == "any":
		return fmt.Errorf("space %q: partition is any, and in protocol permission no member could merge what sides have granted; use primary, or protocol central or grantor", s.Name)
	case s.Protocol == "claim" && s.Partition == "any":
		return fmt.Errorf("space %q: partition is any, and in protocol claim the store decides, which has no sides; use primary, or protocol central or grantor", s.Name)
	case s.Protocol == "bakery" && s.Partition == "any":
		return fmt.Errorf("space %q: partition is any, and in protocol bakery a lock is decided by a majority of the leaders; use primary, or protocol central or grantor", s.Name)
	case s.Protocol == "consensus" && s.Partition == "any":
		return fmt.Errorf("space %q: partition is any, and in protocol consensus a lock is decided by a majority of the voters; use primary, or protocol central or grantor", s.Name)
	case s.Protocol == "consensus" && s.Preempt:
		return fmt.Errorf("space %q: Preempt is true, and in protocol consensus no coordinator decides; leave it out", s.Name)
	case s.Shards < 0 || s.Shards > consensus.MaxShards:
		return fmt.Errorf("space %q: Shards is %d; 1 to %d is allowed, and 0 for 1", s.Name, s.Shards, consensus.MaxShards)
	case s.Autopilot != 0 && s.Autopilot != consensus.NoAutopilot && s.Autopilot < consensus.LeastAutopilot:
		return fmt.Errorf("space %q: Autopilot is %v; %v at least is allowed, consensus.NoAutopilot for never, and 0 for %v",
			s.Name, s.Autopilot, consensus.LeastAutopilot, consensus.DefaultAutopilot)
	case s.Grace != 0 && s.GraceOfHold:
		return fmt.Errorf("space %q: Grace is %v, and GraceOfHold is true; give one of them", s.Name, s.Grace)
	}
	return nil
}

// autopilot is the field as the option is spelled.
func (s *Space) autopilot() string {
	if s.Autopilot == consensus.NoAutopilot {
		return "off"
	}
	return s.Autopilot.String()
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
