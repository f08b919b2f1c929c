package consensus

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
)

// DefaultAutopilot is the default time for which a voter is silent before others continue without its vote; NoAutopilot
// means that they never do so automatically.
const (
	DefaultAutopilot = time.Hour
	NoAutopilot      = time.Duration(-1)
)

// LeastAutopilot is the shortest Autopilot: a voter is not given up while it starts again.
const LeastAutopilot = time.Second

// fewestVoters is the number of voters that always stay: with fewer, the loss of one more would be that of the
// majority.
const fewestVoters = 3

// pilot is a member's knowledge of silent voters.
type pilot struct {
	away map[protocol.ID]protocol.Time // since when members with a role are in no view
	next protocol.Time                 // when to check them; 0 if there is none
}

// pilots reports whether this member removes the votes of silent members in a shard.
func (m *Machine) pilots(p *part) bool {
	return m.config.Autopilot > 0 && m.leads(p) && !m.leaving && m.failed == nil && m.view != nil
}

// silent returns since when a voter of a shard that this member leads was neither heard nor in its view, as far as it
// can know: the time before it led does not count.
func (m *Machine) silent(p *part, id protocol.ID) (since protocol.Time, is bool) {
	if id == m.config.Self || m.isHere(id) {
		return 0, false
	}
	if _, known := m.pilot.away[id]; !known {
		m.pilot.away[id] = m.now
	}
	return max(p.led, m.heard[id], m.pilot.away[id]), true
}

// watch makes the machine check the silent voters when the first of them has been silent for long enough.
func (m *Machine) watch() {
	at := protocol.Never
	for _, p := range m.parts {
		if !m.pilots(p) {
			continue
		}
		for _, id := range p.shard.Members().Voters {
			if since, silent := m.silent(p, protocol.ID(id)); silent {
				at = min(at, max(since+m.config.Autopilot, m.now+m.election()))
			}
		}
	}
	if at < protocol.Never && (m.pilot.next == 0 || at < m.pilot.next) {
		m.pilot.next = at
		m.reminders.Push(at, due{what: dueSilent, number: uint64(at)})
	}
}

// goOn continues without the voters that have been silent for long enough.
func (m *Machine) goOn(at protocol.Time, out *protocol.Effects) {
	if at != m.pilot.next {
		return // it has looked before
	}
	m.pilot.next = 0
	for _, p := range m.parts {
		if m.pilots(p) && p.shard.Leads() && !p.shard.Changing() {
			m.goOnIn(p, out)
		}
	}
	m.watch()
}

// goOnIn makes at most one change.
func (m *Machine) goOnIn(p *part, out *protocol.Effects) {
	conf := p.shard.Members()
	for _, id := range slices.Sorted(slices.Values(conf.Voters)) {
		id := protocol.ID(id)
		since, silent := m.silent(p, id)
		if !silent || m.now < since+m.config.Autopilot {
			delete(p.silent, id)
		} else if m.retire(p, &conf, id, since, out) {
			return
		}
	}
}

// retire removes the vote of a silent voter, and gives it to a learner if there is one: both at once, so that at no
// time more votes are needed than before. It reports whether that is done, and notes once why it is impossible.
func (m *Machine) retire(p *part, conf *group.Conf, id protocol.ID, since protocol.Time, out *protocol.Effects) (done bool) {
	spare, coming := m.spare(p, conf, m.now >= since+2*m.config.Autopilot)
	if coming {
		return false
	}
	r := Reform{Member: id, As: protocol.Nonmember}
	rest := group.Conf{}
	rest.Voters, rest.Learners = reformed(conf, r)
	retired := Retired{Space: m.config.Space, Shard: p.index, Member: m.nameOf(id), Silent: m.now - since}
	if spare != 0 {
		r = Reform{Member: spare, As: protocol.Voter}
		rest.Voters, rest.Learners = reformed(&rest, r)
		retired.By = m.nameOf(spare)
	}
	why := ""
	switch {
	case len(rest.Voters) < fewestVoters:
		why = fmt.Sprintf("%d would be left, and %d are the fewest; start it again, or add a member that can take its place", len(rest.Voters), fewestVoters)
	case !m.heardEnough(rest.Voters, r):
		why = "too few of those who would be left are heard; start them again"
	default:
		m.change(p, rest.Voters, rest.Learners, retired, out)
		return true
	}
	if !p.silent[id] {
		if p.silent == nil {
			p.silent = map[protocol.ID]bool{}
		}
		p.silent[id] = true
		out.Note(VoteKept{Space: m.config.Space, Shard: p.index, Member: retired.Member, Silent: retired.Silent, Why: why})
	}
	return false
}

// spare returns the learner that gets a vote next: one that already has it in another shard, so that all shards get the
// same voters, or else the first by its id. It is 0 if none is present, or could vote now; coming reports that it may
// become able to. After a while, late, the first able one is chosen.
func (m *Machine) spare(p *part, conf *group.Conf, late bool) (id protocol.ID, coming bool) {
	for _, learner := range m.spares(conf) {
		switch {
		case m.hearsNow(learner) && !m.lacking(p, learner):
			return learner, false
		case !late:
			return 0, true
		}
	}
	return 0, false
}

// spares are the learners that are here to stay, those in front that have a vote in some shard.
func (m *Machine) spares(conf *group.Conf) []protocol.ID {
	var voting, others []protocol.ID
	for _, id := range slices.Sorted(slices.Values(conf.Learners)) {
		votes := slices.ContainsFunc(m.parts, func(o *part) bool {
			return o.shard != nil && slices.Contains(o.shard.Members().Voters, id)
		})
		switch id := protocol.ID(id); {
		case !m.isHere(id) || m.isLeaving(id):
		case votes:
			voting = append(voting, id)
		default:
			others = append(others, id)
		}
	}
	return append(voting, others...)
}

// Retired notes that a voter was silent for so long that it no longer votes. By is the member that votes in its place,
// or "" if there is none.
type Retired struct {
	Space      string
	Shard      int
	Member, By string
	Silent     time.Duration
}

func (n Retired) String() string {
	text := fmt.Sprintf("shard %d goes on without the vote of %s, which was silent for %v", n.Shard, n.Member, n.Silent)
	if n.By != "" {
		text += "; " + n.By + " votes in its place"
	}
	return text
}

// Log names the member, and the one that votes in its place.
func (n Retired) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, "a member that votes was silent for so long that the others go on without its vote", []any{
		"space", n.Space, "shard", n.Shard, "member", n.Member, "silent", n.Silent, "votes_instead", n.By,
	}
}

// VoteKept notes that a voter keeps its vote though it is silent, and why.
type VoteKept struct {
	Space  string
	Shard  int
	Member string
	Silent time.Duration
	Why    string
}

func (n VoteKept) String() string {
	return fmt.Sprintf("shard %d keeps the vote of %s, which is silent for %v: %s", n.Shard, n.Member, n.Silent, n.Why)
}

// Log names the member, and the reason.
func (n VoteKept) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, "a member that votes is silent, and the others cannot go on without its vote: " + n.Why, []any{
		"space", n.Space, "shard", n.Shard, "member", n.Member, "silent", n.Silent,
	}
}
