package explore

import (
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// Classes of numbers. A number is only compared with others of its class and group, and counted up by one member, which
// knows all numbers in use. So only the equality and the order of such numbers matter. Queries are the exception:
// another life counts them from one again, while messages of the last one may be in flight; they are renamed like
// numbers without a class, among themselves.
const (
	rounds  = iota + 1 // of polls, by epoch
	queries            // of surveys, by the member that asks
	saves              // of the stable cell, by member: a life's saves end with it
	views              // within an epoch, by its coordinator
	lapses             // of tenures, by their member
)

// Classes of instants: those further back than the horizon are all alike, and no machine compares two of them.
const (
	deadlines = iota + 1 // checked for whether they have passed
	heard                // when a member was last heard
	lent                 // the start of a lease
	freed                // when holds of a tenure are free, and how long that is remembered
	classes
)

// horizons returns how far back an instant of each class may be and still matter.
func (c *Config) horizons() [classes]int64 {
	all := [classes]int64{
		0:         int64(c.longest()),
		deadlines: 0,
		heard:     c.silence(),
		lent:      int64(c.longest()),
		freed:     int64(2*c.Lease + 1),
	}
	if c.Unreduced { // no instant has a class
		all[0] = all[freed]
	}
	return all
}

// silence is how long a coordinator waits for a silent member: longer than the members wait for a coordinator, which is
// three polls.
func (c *Config) silence() int64 { return int64(2 * 3 * (c.Lease / 10)) }

// rules define the meaning of the membership's fields, and when some of them do not matter. Those of a protocol follow.
// A field without a rule always matters.
func rules(c *Config) []snapshot.Rule {
	all := slices.Concat(mootRules(c), numberRules(c), timeRules(), Rules(c.Protocol.Timed))
	if c.Protocol.Peers {
		all = append(all, tableRules()...)
	}
	return all
}

// Rules returns the rules for fields of a protocol.
func Rules(fields []probe.Field) (all []snapshot.Rule) {
	for _, f := range fields {
		rule := snapshot.Rule{In: reflect.TypeOf(f.In), Field: f.Name, Class: [...]uint8{probe.Deadline: deadlines, probe.ViewOf: views}[f.Kind]}
		switch {
		case f.Kind == probe.ViewOf:
			rule.Group = same
		case f.Unless != "":
			rule.Moot = unless(f.Unless)
		case f.Kind == probe.Nothing:
			rule.Moot = always
		}
		all = append(all, rule)
	}
	return all
}

// tableRules are rules for tables of peers that are kept for people, or for speed.
func tableRules() []snapshot.Rule {
	table := reflect.TypeFor[lock.Table]()
	of := func(in reflect.Type, field string) reflect.Type {
		f, _ := in.FieldByName(field)
		return f.Type
	}
	return append(QuickRules(), []snapshot.Rule{
		{In: of(of(table, "entries"), "first").Elem().Elem(), Field: "since", Moot: always},
		{In: table, Field: "history.ended", Moot: always},
		{In: reflect.TypeFor[lock.HeldBy](), Field: "Age", Moot: always},
	}...)
}

// QuickRules are rules for what tables keep between steps for speed.
func QuickRules() []snapshot.Rule {
	table := reflect.TypeFor[lock.Table]()
	return []snapshot.Rule{
		// A hint for a token lookup, which also searches elsewhere.
		{In: table, Field: "given", Moot: always},
		// The names, sorted as far as listings and time required.
		{In: table, Field: "order", Moot: always},
		// Reserved memory.
		{In: table, Field: "touched", Moot: hasNone("touched")},
	}
}

// mootRules are rules for fields that are kept for people, or overwritten before they are read.
func mootRules(c *Config) []snapshot.Rule {
	machine := reflect.TypeFor[membership.Machine]()
	return []snapshot.Rule{
		{In: machine, Field: "since", Moot: always},
		// The reason and the end of a refusal, for its text.
		{In: reflect.TypeFor[protocol.Lost](), Field: "members", Moot: always},
		{In: reflect.TypeFor[lock.Unavailable](), Field: "Left", Moot: always},
		{In: reflect.TypeFor[lock.HeldBy](), Field: "Left", Moot: always},
		{In: reflect.TypeFor[protocol.Lease](), Field: "Opens", Moot: always},
		{In: reflect.TypeFor[membership.Poll](), Field: "Wait", Moot: always},
		{In: machine, Field: "search.deferred", Moot: always},
		{In: machine, Path: "keeping", Field: "inflight", Moot: unless("saving")},
		{In: machine, Path: "keeping", Field: "sentAt", Moot: func(keeping reflect.Value) bool {
			return keeping.FieldByName("pause").IsZero() && keeping.FieldByName("saving").IsZero()
		}},
		{In: machine, Path: "keeping", Field: "tryingAt", Moot: unless("trying")},
		{In: machine, Path: "standing", Field: "heard", Moot: unless("followed"), Class: heard},
		{In: machine, Field: "search.coordinator", Moot: unless("standing", "followed")},
		{In: machine, Path: "search", Field: "until", Moot: searchesNot, Class: deadlines},
		{In: machine, Path: "search", Field: "repeatAt", Moot: searchesNot, Class: deadlines},
		// A coordinator polls itself without a message.
		{In: machine, Path: "reign", Field: "tracks.at", Entry: candidateOf},
		{In: machine, Path: "reign", Field: "tracks.received", Entry: candidateOf},
		// A member whose request was heard gets no echo of its earlier messages.
		{In: machine, Path: "promises", Field: "answeredAt", Moot: isHeard},
		// The first missing member has to be silent for longer than the time to the next look.
		{In: machine, Path: "reign", Field: "lookAt", Moot: c.isFarFromMissing},
		// A round is never compared with that of another epoch's polls.
		{In: machine, Field: "promises.round", Moot: ofAnotherEpoch},
		{In: machine, Field: "promises.roundOf", Moot: ofAnotherEpoch},
	}
}

func numberRules(c *Config) []snapshot.Rule {
	machine := reflect.TypeFor[membership.Machine]()
	poll, answer := reflect.TypeFor[membership.Poll](), reflect.TypeFor[membership.PollAnswer]()
	all := []snapshot.Rule{
		{In: machine, Path: "promises", Field: "round", Class: rounds, Group: counterOf("roundOf")},
		{In: machine, Path: "reign", Field: "seq", Class: rounds, Group: counterOf("epoch")},
		{In: machine, Path: "reign", Field: "sent", Class: rounds, Group: counterOf("epoch"), Table: true},
		{In: poll, Field: "Seq", Class: rounds, Group: counterOf("Epoch")},
		{In: answer, Field: "Seq", Class: rounds, Group: counterOf("Epoch")},

		{In: machine, Path: "search", Field: "surveys", Class: queries},
		{In: reflect.TypeFor[election.Survey](), Field: "Number", Class: queries},
		{In: reflect.TypeFor[election.StatusPoll](), Field: "Number", Class: queries},
		{In: reflect.TypeFor[election.StatusAnswer](), Field: "Number", Class: queries},

		{In: machine, Path: "keeping", Field: "lastSave", Class: saves},
		{In: reflect.TypeFor[savingForm](), Field: "ID", Class: saves},

		{In: reflect.TypeFor[protocol.View](), Field: "Number", Class: views, Group: same},
		{In: reflect.TypeFor[protocol.Member](), Field: "Since", Class: views, Group: same},
		{In: reflect.TypeFor[election.View](), Field: "Number", Class: views, Group: same},
		{In: reflect.TypeFor[election.Electorate](), Field: "Number", Class: views, Group: same},
		{In: poll, Field: "View", Class: views, Group: same},
		{In: answer, Field: "View", Class: views, Group: same},
		{In: machine, Path: "reign.tracks", Field: "acked", Class: views, Group: same},
	}
	if !c.Protocol.Locks { // else numbers of requests are derived from them
		all = append(all, snapshot.Rule{In: reflect.TypeFor[protocol.Tenure](), Field: "Lapses", Class: lapses, Group: same})
	}
	return all
}

func timeRules() []snapshot.Rule {
	machine := reflect.TypeFor[membership.Machine]()
	return []snapshot.Rule{
		{In: machine, Path: "standing.lease", Field: "Member", Class: deadlines},
		{In: machine, Path: "standing.lease", Field: "Role", Class: deadlines},
		{In: machine, Path: "standing.lease", Field: "Carried", Class: deadlines},
		{In: machine, Path: "search", Field: "tryAt", Class: deadlines},
		{In: machine, Path: "reign", Field: "nextPoll", Class: deadlines},
		{In: machine, Path: "reign", Field: "grantFrom", Class: deadlines},
		{In: machine, Path: "reign", Field: "openFrom", Class: deadlines},
		{In: machine, Path: "reign", Field: "lookAt", Class: deadlines},
		{In: machine, Path: "reign", Field: "anchor", Class: lent},
		{In: machine, Path: "reign.tracks", Field: "heard", Class: heard},
		{In: machine, Path: "reign.tracks", Field: "received", Class: lent},
		{In: machine, Path: "reign.tracks", Field: "echoed", Class: lent},
		{In: machine, Path: "reign.tracks", Field: "answered", Class: lent},
		{In: reflect.TypeFor[protocol.View](), Field: "GrantFrom", Class: deadlines},
		{In: reflect.TypeFor[protocol.Dropped](), Field: "Free", Class: freed},
		{In: reflect.TypeFor[session.Machine](), Field: "wake", Class: deadlines},
		{In: reflect.TypeOf(protocol.Stack(inert{})).Elem(), Field: "wakes", Class: deadlines},
	}
}

func always(reflect.Value) bool { return true }
func same(reflect.Value) uint64 { return 0 }
func searchesNot(search reflect.Value) bool {
	return search.FieldByName("survey").IsNil() && search.FieldByName("ballot").IsNil()
}

// unless returns a condition: a field is moot if another one is zero.
func unless(path ...string) func(reflect.Value) bool {
	return func(in reflect.Value) bool {
		for _, name := range path {
			in = in.FieldByName(name)
		}
		return in.IsZero()
	}
}

// hasNone returns a condition: a slice is moot while it is empty, as it may be nil or not.
func hasNone(field string) func(reflect.Value) bool {
	return func(in reflect.Value) bool { return in.FieldByName(field).Len() == 0 }
}

// counterOf groups by the counter of an epoch.
func counterOf(field string) func(reflect.Value) uint64 {
	return func(in reflect.Value) uint64 { return in.FieldByName(field).FieldByName("Counter").Uint() }
}

func isHeard(promises reflect.Value) bool {
	return promises.FieldByName("heeded").Bool() || !promises.FieldByName("answered").Bool()
}

// isFarFromMissing reports whether the coordinator's next look for missing members is due before any can be missing:
// all are in the view, and none is dropped before a silence that ends after the next look. In this model no member
// leaves, and there are no suspicions.
func (c *Config) isFarFromMissing(reign reflect.Value) bool {
	if reign.FieldByName("view").Elem().FieldByName("Members").Len() < c.Members || !reign.FieldByName("proposal").IsNil() {
		return false
	}
	self, look := candidateOf(reign).Uint(), reign.FieldByName("lookAt").Int()
	for tracks := reign.FieldByName("tracks").MapRange(); tracks.Next(); {
		silent := tracks.Value().Elem().FieldByName("heard").Int() + c.silence()
		if tracks.Key().Uint() != self && silent < look {
			return false
		}
	}
	return true
}

func candidateOf(reign reflect.Value) reflect.Value {
	return reign.FieldByName("epoch").FieldByName("Candidate")
}

func ofAnotherEpoch(machine reflect.Value) bool {
	accepted := machine.FieldByName("cell").FieldByName("Accepted")
	if accepted.IsNil() {
		return false
	}
	of, epoch := machine.FieldByName("promises").FieldByName("roundOf"), accepted.Elem().FieldByName("Epoch")
	return !of.Equal(epoch)
}

// inert is a machine that serves to name the type of a stack.
type inert struct{}

func (inert) Wake() protocol.Time                                   { return protocol.Never }
func (inert) Step(time.Duration, protocol.Event, *protocol.Effects) {}

// scope is the group of a packet's numbers that belong to one member: the one that asks, or saves.
func (p *packet) scope() uint64 {
	if _, polls := p.Message.(election.StatusPoll); polls {
		return uint64(p.From)
	}
	return uint64(p.To)
}

// presented is the tenure under which a member's packet asks to be counted.
func (p *packet) presented() (protocol.Tenure, bool) {
	switch message := p.Message.(type) {
	case membership.PollAnswer:
		return message.Tenure, true
	case membership.ViewAck:
		return message.Answer.Tenure, true
	case membership.Join:
		return message.Self.Tenure, true
	}
	return protocol.Tenure{}, false
}

// forgettable reports whether no member continues, now or later, under a tenure that a view has dropped: its member has
// another tenure, or is down, and none of its messages is in flight. Then it does not matter how long the tenure is
// remembered.
func (w *world) forgettable() bool {
	for _, m := range w.members {
		if !m.up || m.soul.View == nil {
			continue
		}
		for _, dropped := range m.soul.View.Dropped {
			if w.goesOn(dropped.ID, dropped.Tenure) {
				return false
			}
		}
	}
	return true
}

// lapses reports whether a member's lease has ended, so that it takes another tenure before it does anything else.
func (w *world) lapses(m *member) bool {
	if m.clock(w.now) < m.soul.View.Lease.Member {
		return false
	}
	stack := reflect.ValueOf(m.soul.Session).Elem().FieldByName("inner").Elem().Elem()
	return stack.FieldByName("below").Elem().Elem().FieldByName("standing").FieldByName("leased").Bool()
}

func (w *world) goesOn(id protocol.ID, tenure protocol.Tenure) bool {
	place := w.place(id, "")
	if place < 0 {
		return true
	}
	of := w.members[place]
	if of.up && of.soul.View != nil && !tenure.Before(of.soul.View.Lease.Tenure) && !w.lapses(of) {
		return true
	}
	said := func(p *packet) bool {
		at, says := p.presented()
		return says && p.From == of.place && !tenure.Before(at)
	}
	for _, m := range w.members {
		if slices.ContainsFunc(m.inbox, said) {
			return true
		}
	}
	return slices.ContainsFunc(w.flying, said) || slices.ContainsFunc(w.held, said)
}
