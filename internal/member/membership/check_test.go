package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// acts reports whether a process may grant and free names now: the coordinator of an
// installed view whose members have all reported once in this epoch, after the waits,
// within its role and not halted. It is what protocol central
// does with a View, derived from what the machine raises and not from what it thinks.
func (p *process) acts() bool {
	v, now := p.view, p.local()
	if v == nil || p.halted || v.Coordinator != p.self || !v.Installed ||
		now < v.GrantFrom || now >= p.lease.Role || now >= p.lease.Member {
		return false
	}
	if p.served != v.Epoch && p.complete() {
		p.served = v.Epoch
	}
	return p.served == v.Epoch
}

// complete reports whether all members of the first view of this epoch that are still
// under that tenure have reported what they hold. A member that joins under a living
// coordinator comes empty.
func (p *process) complete() bool {
	return !slices.ContainsFunc(p.first.Members, func(m protocol.Member) bool {
		switch {
		case m.ID == p.self:
			return p.confirmed != p.view.Epoch.Counter
		case !p.lists(m.ID, m.Tenure):
			return false
		}
		return p.epoch != p.view.Epoch.Counter || p.reports[m.ID] != m.Tenure
	})
}

// believes reports whether a process may act as a holder: what the authority has
// confirmed, until the end of its lease.
func (p *process) believes() bool { return p.leased && p.local() < p.lease.Member }

func (n *net) fail(format string, args ...any) {
	if n.found == "" {
		n.found = fmt.Sprintf("%.3f ", n.now.Seconds()) + fmt.Sprintf(format, args...)
		n.log("VIOLATION %s", n.found)
	}
}

// acceptorState is what a member has given: its highest promise, and the newest view that it
// has accepted, by its head.
type acceptorState struct {
	promised protocol.Epoch
	accepted *election.View
}

// hold holds a member to its word, regardless of what it has been through since. A
// member that polls has promised itself to the epoch of the poll.
func (n *net) hold(p *process, msg any) {
	given := n.acceptors[p.self]
	if n.trusts {
		return
	}
	switch msg := msg.(type) {
	case election.Promise:
		if msg.Epoch.Counter < given.promised.Counter || msg.Epoch.Counter == given.promised.Counter && msg.Epoch != given.promised {
			n.fail("%s promises %v after %v", p.site.name, msg.Epoch, given.promised)
		}
		if given.accepted.Newer(msg.Accepted) {
			n.fail("%s tells of %v, and has accepted %v", p.site.name, msg.Accepted, given.accepted)
		}
		given.promised = msg.Epoch
	case PollAnswer:
		if msg.Epoch.Counter < given.promised.Counter {
			n.fail("%s answers a poll of %v after its promise to %v", p.site.name, msg.Epoch, given.promised)
		}
	case ViewAck:
		if msg.Answer.Epoch.Counter < given.promised.Counter {
			n.fail("%s accepts a view of %v after its promise to %v", p.site.name, msg.Answer.Epoch, given.promised)
		}
		if v := (&election.View{Epoch: msg.Answer.Epoch, Number: msg.Answer.View}); v.Newer(given.accepted) {
			given.accepted = v
		}
	case NewView:
		given = n.holdPoll(p, given, msg.Poll)
	case Poll:
		given = n.holdPoll(p, given, msg)
	}
	n.acceptors[p.self] = given
}

func (n *net) holdPoll(p *process, given acceptorState, poll Poll) acceptorState {
	if poll.Epoch.Counter < given.promised.Counter || poll.Epoch.Counter == given.promised.Counter && poll.Epoch != given.promised {
		n.fail("%s polls under %v after its promise to %v", p.site.name, poll.Epoch, given.promised)
	}
	given.promised = poll.Epoch
	return given
}

// checkLease is what a member owes itself: it promises no more than its next life will
// know of; a tenure that has ended is never renewed, and what no
// member of the newest epoch knows is not renewed either. A member
// that had a lease when it accepted a view of another epoch carries something until the
// authority of that epoch has its report, regardless of what the machine says.
func (n *net) checkLease(p *process) {
	// A guest without a cell comes back as another: its old self is missed, and waited for.
	another := p.site.forgets && !p.site.config.Founder
	if h := p.horizon.Confirmed; h > 0 && h > p.site.reach(p) && !another {
		n.fail("%s promises %v beyond its lease, and its cell says %v", p.site.name, h, p.site.reach(p))
	}
	if v := p.cell.Accepted; v != nil && v.Epoch != p.follows {
		p.follows, p.carries = v.Epoch, p.current == p.lease.Tenure
	}
	if !p.leased {
		return
	}
	p.current = p.lease.Tenure
	if slices.Contains(p.ended, p.current) {
		n.fail("%s has a lease again under %v, which had ended", p.site.name, p.current)
	}
	if !p.carries || p.confirmed == p.follows.Counter {
		p.known = p.lease.Carried
	} else if p.lease.Carried > p.known {
		n.fail("%s goes on with what the newest epoch does not know", p.site.name)
	}
}

// check is what membership promises to the protocols above, from the holders' side:
// one authority at a time; each under a higher epoch; and while it acts, no member
// and no member's client believes in what it does not know.
func (n *net) check() {
	if n.found != "" {
		return
	}
	var authority *process
	for _, s := range n.sites {
		if s.live != nil {
			n.checkLease(s.live)
			n.checkSelf(s.live)
		}
		if s.live == nil || !s.live.acts() {
			continue
		}
		if authority != nil && !s.config.Available && !n.rivals {
			n.fail("two authorities: %s and %s", authority.site.name, s.name)
			return
		}
		authority = s.live
	}
	if authority == nil || authority.config.Available || n.rivals {
		return
	}
	n.checkReign(authority)
	n.checkPlaces(authority)
	authority.held = authority.lease.Tenure
	for _, s := range n.sites {
		if p := s.live; p != nil && p != authority {
			n.checkMember(authority, p)
		}
	}
	keep := n.clients[:0]
	for _, c := range n.clients {
		if c.until > n.now {
			keep = append(keep, c)
			if !authority.counts(c.id, c.tenure) {
				n.fail("%s acts, and a client of %d %v believes for another %v", authority.site.name, c.id, c.tenure, c.until-n.now)
			}
		}
	}
	n.clients = keep
}

// checkSelf asks a member that leaves, or has no view, how it is, which it can say at any time: a voter without a view is not counted.
func (n *net) checkSelf(p *process) {
	if p.exit == nil && p.cell.Accepted != nil {
		return // to ask always takes five times as long as all else
	}
	if self := p.who(p.local()); !self.Uncounted && p.config.Founder && p.cell.Accepted == nil {
		n.fail("%s is counted, and has no view: it is %v", p.site.name, self.State)
	}
}

// counts reports whether the authority reckons with what a tenure holds: it lists it,
// or counts it out; and it has not freed it.
func (p *process) counts(id protocol.ID, tenure protocol.Tenure) bool {
	freed := slices.ContainsFunc(p.view.Dropped, func(d protocol.Dropped) bool {
		return d.ID == id && d.Tenure == tenure && d.Free <= p.local()
	})
	return !freed && (p.lists(id, tenure) || p.dropping(id, tenure))
}

// reach is how far beyond its lease a process's clients believe, as the disk says.
func (s *site) reach(p *process) time.Duration {
	if s.recalls == nil {
		return 0
	}
	return s.recalls.Pledges.Find(p.self, p.lease.Tenure).Reach.Span()
}

func (n *net) checkReign(p *process) {
	reign := act{p.view.Epoch, p.view.Count}
	if len(n.acted) > 0 {
		last := n.acted[len(n.acted)-1]
		if last == reign {
			return
		}
		// An epoch's counter alone names a reign: the count within it
		// proves nothing, for the earlier authority may have counted further.
		if reign.epoch.Counter <= last.epoch.Counter {
			n.fail("%s acts under %v after %v", p.site.name, reign, last)
		}
	}
	n.log("%s ACTS under %v in %v", p.site.name, reign, p.reign.view)
	n.acted = append(n.acted, reign)
}

// checkPlaces: a place that a view of an acting authority had, and a later one had no more, never comes back.
func (n *net) checkPlaces(p *process) {
	view := p.reign.view
	if len(n.viewed) == 0 {
		n.viewed = []*election.View{view}
		return
	}
	latest := n.viewed[len(n.viewed)-1]
	if latest.Same(view) {
		return
	}
	has := func(v *election.View, place election.Member) bool {
		at, listed := v.Of(place.ID)
		return listed && at.Tenure == place.Tenure && at.Since == place.Since
	}
	for _, place := range view.Members {
		if !has(latest, place) && slices.ContainsFunc(n.viewed, func(v *election.View) bool { return has(v, place) }) {
			n.fail("%s acts in %v: the place of %s since view %d has come back, and %v was without it", p.site.name, view, place.Name, place.Since, latest)
			return
		}
	}
	n.viewed = append(n.viewed, view)
}

func (n *net) checkMember(authority, p *process) {
	own, accepted := p.lease.Tenure, p.cell.Accepted
	if p.leased && authority.lists(p.self, own) {
		// From now on it may hold something. Before, it cannot: only who acts grants, and
		// only to tenures that its view lists.
		p.held = own
	}
	if !p.believes() || p.held != own {
		return
	}
	switch {
	case !authority.counts(p.self, own):
		n.fail("%s acts under %d, and %s believes for another %v under epoch %d as %v", authority.site.name, authority.view.Epoch.Counter,
			p.site.name, p.lease.Member-p.local(), accepted.Epoch.Counter, own)
	case authority.dropping(p.self, own):
		// What it holds is known, and freed when it is over.
	case election.Less(authority.view.Epoch, accepted.Epoch):
		// The authority is in its role until it hears of the next one's epoch. It knows
		// what this member holds, which takes nothing more from it; and a member that acts
		// under that epoch is another authority, which must not be.
	case accepted.Epoch != authority.view.Epoch:
		n.fail("%s acts under %d, and %s follows %d", authority.site.name, authority.view.Epoch.Counter, p.site.name, accepted.Epoch.Counter)
	case p.carries && p.local() < p.lease.Carried && (authority.epoch != accepted.Epoch.Counter || authority.reports[p.self] != own):
		n.fail("%s acts, and %s holds what it has not reported to it", authority.site.name, p.site.name)
	}
}

// lists reports whether the view has a member under a tenure.
func (p *process) lists(id protocol.ID, tenure protocol.Tenure) bool {
	return slices.ContainsFunc(p.view.Members, func(m protocol.Member) bool { return m.ID == id && m.Tenure == tenure })
}

// dropping reports whether the authority counts a tenure out.
func (p *process) dropping(id protocol.ID, tenure protocol.Tenure) bool {
	return slices.ContainsFunc(p.view.Dropped, func(d protocol.Dropped) bool {
		return d.ID == id && d.Tenure == tenure && d.Free > p.local()
	})
}

// authority is the process that acts now, or nil.
func (n *net) authority() *process {
	for _, s := range n.sites {
		if s.live != nil && s.live.acts() {
			return s.live
		}
	}
	return nil
}

// together reports whether a member acts in a view of exactly these members, each
// leased under its place.
func (n *net) together(names ...string) bool {
	p := n.authority()
	if p == nil || len(p.view.Members) != len(names) || !p.reign.served || p.reign.proposal != nil {
		return false
	}
	for _, name := range names {
		live := n.site(name).live
		if live == nil {
			return false
		}
		place, listed := p.view.Of(live.self)
		if !listed || place.Tenure != live.lease.Tenure || !live.leased || live.cell.Accepted.Number != p.view.Number {
			return false
		}
	}
	return true
}

// gather waits until a member leads exactly these members.
func (n *net) gather(limit time.Duration, names ...string) *process {
	n.t.Helper()
	n.until(limit, fmt.Sprintf("all of %v in one view", names), func() bool { return n.together(names...) })
	return n.authority()
}

// names lists all sites.
func (n *net) names() []string {
	var names []string
	for _, s := range n.sites {
		names = append(names, s.name)
	}
	return names
}
