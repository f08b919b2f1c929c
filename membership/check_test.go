package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// acts reports whether a process may grant and free names now: the coordinator of an
// installed view, everybody of which has reported, after the waits and within its
// role. It is what protocol central does with a View.
func (p *process) acts() bool {
	v, now := p.view, p.local()
	if v == nil || p.reign == nil || v.Coordinator != p.self || !v.Installed || now < v.GrantFrom || now >= p.lease.Role {
		return false
	}
	return p.reign.served && p.reign.epoch == v.Epoch
}

// believes reports whether a process may act as the holder of something that was
// granted under an epoch before its newest.
func (p *process) believes() bool { return p.leased && p.local() < p.lease.Member }

func (n *net) fail(format string, args ...any) {
	if n.found == "" {
		n.found = fmt.Sprintf("%.3f ", n.now.Seconds()) + fmt.Sprintf(format, args...)
		n.log("VIOLATION %s", n.found)
	}
}

// word is what a member has given: its highest promise, and the newest view that it
// has accepted.
type word struct {
	promised protocol.Epoch
	accepted *election.View
}

// hold holds a member to its word, whatever it has been through since.
func (n *net) hold(p *process, msg any) {
	given := n.words[p.self]
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
		if v := p.cell.Accepted; v.Epoch == msg.Answer.Epoch && v.Number == msg.Answer.View {
			given.accepted = v
		}
	}
	n.words[p.self] = given
}

// checkLease is what a member owes itself: what has ended is never renewed, and what
// nobody of the newest epoch knows is not renewed either.
func (n *net) checkLease(p *process) {
	if !p.leased {
		return
	}
	p.current = p.lease.Tenure
	if slices.Contains(p.ended, p.current) {
		n.fail("%s has a lease again under %v, which had ended", p.site.name, p.current)
	}
	if !p.carrying {
		p.known = p.lease.Carried
	} else if p.lease.Carried > p.known {
		n.fail("%s goes on with what the newest epoch does not know", p.site.name)
	}
}

// check is what membership promises to the protocols above, from the holders' side:
// one authority at a time; each under a higher epoch; and while it acts, nobody
// believes in what it does not know: neither a member nor a member's client.
func (n *net) check() {
	if n.found != "" {
		return
	}
	var authority *process
	for _, s := range n.sites {
		if s.live != nil {
			n.checkLease(s.live)
		}
		if s.live == nil || !s.live.acts() {
			continue
		}
		if authority != nil && !s.config.Available {
			n.fail("two authorities: %s and %s", authority.site.name, s.name)
			return
		}
		authority = s.live
	}
	if authority == nil || authority.config.Available {
		return
	}
	n.checkReign(authority)
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

// counts reports whether the authority reckons with what a tenure holds: it lists it,
// or counts it out; and it has not freed it.
func (p *process) counts(id protocol.ID, tenure protocol.Tenure) bool {
	freed := slices.ContainsFunc(p.view.Dropped, func(d protocol.Dropped) bool {
		return d.ID == id && d.Tenure == tenure && d.Free <= p.local()
	})
	return !freed && (p.lists(id, tenure) || p.dropping(id, tenure))
}

func (n *net) checkReign(p *process) {
	reign := act{p.view.Epoch, p.view.Count}
	if len(n.acted) > 0 {
		last := n.acted[len(n.acted)-1]
		if last == reign {
			return
		}
		higher := reign.epoch.Counter > last.epoch.Counter || reign.epoch.Counter == last.epoch.Counter && reign.count > last.count
		if !higher {
			n.fail("%s acts under %v after %v", p.site.name, reign, last)
		}
	}
	n.log("%s ACTS under %v in %v", p.site.name, reign, p.reign.view)
	n.acted = append(n.acted, reign)
}

func (n *net) checkMember(authority, p *process) {
	own, accepted := p.lease.Tenure, p.cell.Accepted
	if p.leased && authority.lists(p.self, own) {
		p.held = own // from now on it may hold something
	}
	if !p.believes() || p.held != own {
		return
	}
	switch {
	case !authority.counts(p.self, own):
		n.fail("%s acts under %d, and %s believes for another %v under epoch %d as %v", authority.site.name, authority.view.Epoch.Counter,
			p.site.name, p.lease.Member-p.local(), accepted.Epoch.Counter, own)
	case authority.dropping(p.self, own), election.Less(authority.view.Epoch, accepted.Epoch):
	case accepted.Epoch != authority.view.Epoch:
		n.fail("%s acts under %d, and %s follows %d", authority.site.name, authority.view.Epoch.Counter, p.site.name, accepted.Epoch.Counter)
	case p.carrying && p.local() < p.lease.Carried && p.told != accepted.Epoch.Counter && authority.reports[p.self] != own:
		n.fail("%s acts, and %s holds what it has not told it", authority.site.name, p.site.name)
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

// authority is who acts now, or nil.
func (n *net) authority() *process {
	for _, s := range n.sites {
		if s.live != nil && s.live.acts() {
			return s.live
		}
	}
	return nil
}

// together reports whether somebody acts in a view of exactly these members, each
// leased under its place.
func (n *net) together(names ...string) bool {
	p := n.authority()
	if p == nil || len(p.view.Members) != len(names) || p.reign.proposal != nil {
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

// gather waits until somebody leads exactly these members.
func (n *net) gather(limit time.Duration, names ...string) *process {
	n.t.Helper()
	n.until(limit, fmt.Sprintf("everybody of %v in one view", names), func() bool { return n.together(names...) })
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
