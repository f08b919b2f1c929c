package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// PlanForce returns the effects of a view of just the named founders, and the code with which Force makes it. It
// changes nothing. The error says why the view cannot be forced, and what to do instead: an ErrConflict with the
// current state, if the quorum is not lost or a name does not fit; an ErrUnavailable if this member does not know yet;
// an ErrUnsupported if there is no quorum to lose.
func (n *Member) PlanForce(ctx context.Context, members []string) (*schema.ForcePlan, error) {
	self, err := n.Who(ctx)
	if err != nil {
		return nil, err
	}
	now := n.driver.Now()
	named := slices.Compact(slices.Sorted(slices.Values(members)))
	if err := n.refuseEver(); err != nil {
		return nil, err
	}
	if err := n.refuseNow(now, self); err != nil {
		return nil, err
	}
	if err := n.refuseNames(now, self, named); err != nil {
		return nil, err
	}
	plan := n.plan(now, self, named)
	plan.Spaces, err = n.forcedSpaces(ctx, self, named)
	return plan, err
}

// plan collects the facts, and derives the code from those that must not change.
func (n *Member) plan(now protocol.Time, self *membership.Self, named []string) *schema.ForcePlan {
	v := self.Cell.Accepted
	plan := &schema.ForcePlan{
		Member: n.Name(), Started: api.Stamp(n.started), View: v.Number, Epoch: v.Epoch.Counter, Wait: api.Span(n.forcedWait(self)),
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%x %x %x %x %x %x", self.Cell.Cluster, self.Cell.ID, self.Cell.Incarnation, v.Epoch.Counter, v.Epoch.Candidate, v.Number)
	for _, member := range v.Members {
		place := &schema.ForcedPlace{
			Name: member.Name, Address: member.Address, Voter: member.Founder,
			Named: slices.Contains(named, member.Name), Alive: n.alive(now, self, member.ID),
		}
		if at, known := n.roll.last(member.ID); known {
			place.Heard = api.Stamp(n.driver.Wall(at))
		}
		switch {
		case place.Named:
			plan.Named = append(plan.Named, place.Name)
		case place.Voter:
			plan.Rivals = append(plan.Rivals, place.Name)
		}
		if member.ID == v.Epoch.Candidate {
			plan.Coordinator = member.Name
		}
		plan.Places = append(plan.Places, place)
		fmt.Fprintf(digest, " %x %t %t", member.ID, place.Named, place.Alive)
	}
	plan.Code = hex.EncodeToString(digest.Sum(nil)[:4])
	return plan
}

// forcedWait returns how long a forced view waits before its first grant: until all possible promises to clients under
// an earlier one have run out.
func (n *Member) forcedWait(self *membership.Self) time.Duration {
	lease := n.config.Lease + time.Duration(float64(n.config.Lease)*n.config.Drift)
	return lease + self.Cell.Pledges.Most().Span()
}

// refuseEver returns why no view of this member can ever be forced.
func (n *Member) refuseEver() error {
	switch {
	case !n.config.clustered():
		return api.Fail(api.CodeUnsupported, fmt.Sprintf("member %q is a cluster of one, which needs no vote of another; there is nothing to force", n.Name()))
	case n.config.guest():
		return api.Fail(api.CodeConflict, fmt.Sprintf("member %q is a guest, which has no vote; ask a voter that is alive, one of %s", n.Name(), strings.Join(n.config.Join, ", ")))
	case n.config.any():
		return api.Fail(api.CodeUnsupported, "partition mode any needs no quorum: every side goes on by itself; there is nothing to force")
	}
	return nil
}

// refuseNow returns why no view can be forced in the current state.
func (n *Member) refuseNow(now protocol.Time, self *membership.Self) error {
	v := self.Cell.Accepted
	switch place, listed := v.Of(self.Cell.ID); {
	case self.State == membership.Leaving:
		return api.Fail(api.CodeConflict, fmt.Sprintf("member %q is leaving; ask one that stays", n.Name()))
	case v == nil:
		return api.Fail(api.CodeConflict, fmt.Sprintf(
			"member %q knows no view: this cluster has never had one, or the member has lost its state folder; ask a voter that knows one, or start all voters (%s)",
			n.Name(), strings.Join(n.config.founders(), ", ")))
	case self.State != membership.Joining:
		return api.Fail(api.CodeConflict, n.wellText(self))
	case now < n.silence():
		return api.Fail(api.CodeUnavailable, fmt.Sprintf("member %q has just started, and is still looking for the others; ask again in %v",
			n.Name(), (n.silence()-now).Round(100*time.Millisecond)))
	case !listed || !place.Founder:
		return api.Fail(api.CodeConflict, fmt.Sprintf("view %d does not have member %q as a voter; ask one that it has: %s",
			v.Number, n.Name(), protocol.JoinNames(n.places(self, isFounder))))
	case n.quorumOf(self, func(id protocol.ID) bool { return n.alive(now, self, id) }):
		alive := n.places(self, func(p membership.Standing) bool { return isFounder(p) && n.alive(now, self, p.ID) })
		return api.Fail(api.CodeConflict, fmt.Sprintf(
			"the quorum is not lost: of the voters of view %d, %s have been heard of within the last %v, and elect a coordinator by themselves; stop those that shall have no part, and ask again in %v",
			v.Number, protocol.JoinNames(alive), n.silence(), n.silence()))
	}
	return nil
}

// wellText says which view is well, and whether it was forced.
func (n *Member) wellText(self *membership.Self) string {
	v := self.Cell.Accepted
	coordinator, _ := v.Of(v.Epoch.Candidate)
	text := fmt.Sprintf("nothing need be forced: member %q has a part in view %d, coordinated by %q", n.Name(), v.Number, coordinator.Name)
	if self.Until != protocol.Never {
		text += fmt.Sprintf(", which grants from %s on", stamp(n.driver.Wall(self.Until)))
	}
	if forced := n.Forced(); forced != nil {
		return text + fmt.Sprintf("; view %d was forced at %s by %s: %s", forced.View, stamp(api.TimeOf(forced.Time)), forced.By, forced.Reason)
	}
	return text + fmt.Sprintf("; if the others were lost just now, ask again in %v", n.config.Lease)
}

// refuseNames returns which name cannot be one of the new view's founders, or which is missing: a founder that is alive
// and left out might still be part of another quorum.
func (n *Member) refuseNames(now protocol.Time, self *membership.Self, named []string) error {
	v := self.Cell.Accepted
	refuse := func(format string, arguments ...any) error {
		return api.Fail(api.CodeConflict, fmt.Sprintf(format, arguments...))
	}
	for _, name := range named {
		i := slices.IndexFunc(n.standings(self), func(p membership.Standing) bool { return p.Name == name })
		if i < 0 {
			return refuse("member %q is not in view %d, whose voters are %s; name some of these", name, v.Number, protocol.JoinNames(n.places(self, isFounder)))
		}
		place := n.standings(self)[i]
		switch {
		case !place.Founder:
			return refuse("member %q is a guest, which has no vote; leave it out: it joins the new view by itself", name)
		case !n.alive(now, self, place.ID):
			return refuse("member %q at %s is named, but it was %s; start it, or leave it out. One that runs without its former state folder is another member: it joins the new view by itself",
				name, place.Address, n.heardText(place.ID))
		}
	}
	if !slices.Contains(named, n.Name()) {
		return refuse("member %q, which is asked, is not among the named %s; name it, or ask one that is named", n.Name(), protocol.JoinNames(named))
	}
	for _, place := range n.standings(self) {
		if place.Founder && !slices.Contains(named, place.Name) && n.alive(now, self, place.ID) {
			return refuse("member %q at %s is alive and not named; name it, or stop it and ask again in %v", place.Name, place.Address, n.silence())
		}
	}
	return nil
}

func isFounder(p membership.Standing) bool { return p.Founder }

// standings returns the places of the newest view that this member knows.
func (n *Member) standings(self *membership.Self) (all []membership.Standing) {
	if v := self.Cell.Accepted; v != nil {
		for _, member := range v.Members {
			all = append(all, membership.Standing{Member: member})
		}
	}
	return all
}

// places names the members of the newest view that match.
func (n *Member) places(self *membership.Self, is func(membership.Standing) bool) (names []string) {
	for _, place := range n.standings(self) {
		if is(place) {
			names = append(names, place.Name)
		}
	}
	return names
}

// quorumOf reports whether the matching members are a quorum of the newest view known here, and of every earlier view
// not known to be installed.
func (n *Member) quorumOf(self *membership.Self, has func(protocol.ID) bool) bool {
	if self.Cell.Accepted == nil {
		return false
	}
	for _, electorate := range self.Cell.Accepted.Needs() {
		if !electorate.Quorum(has) {
			return false
		}
	}
	return true
}

// outlook logs, for a member outside any view, the consequences, the ways out, and the silent members.
func (n *Member) outlook(self *membership.Self) {
	now := n.driver.Now()
	v := self.Cell.Accepted
	if self.State != membership.Joining || !n.config.clustered() || n.config.any() || v == nil || now < n.silence() {
		return
	}
	alive := func(id protocol.ID) bool { return n.alive(now, self, id) }
	for i := range self.Members {
		if place := &self.Members[i]; !alive(place.ID) {
			place.State = membership.Suspected
		}
	}
	n.missSilent(self)
	if n.quorumOf(self, alive) {
		return
	}
	self.Why = n.quorumLost(self, alive)
}

// quorumLost describes the reachable and the missing members, and the ways out. A voter that answers but is refused
// need not be started: the refusal says what to do, and forcing a view would be wrong.
func (n *Member) quorumLost(self *membership.Self, alive func(protocol.ID) bool) string {
	var here, away, refused []string
	ask, refusals := "", n.refusals()
	for _, place := range n.standings(self) {
		if !place.Founder {
			continue
		}
		why := refusals[place.Address]
		switch {
		case alive(place.ID):
			here = append(here, place.Name)
			if ask == "" || place.ID == self.Cell.ID {
				ask = place.Address
			}
		case why != "":
			away = append(away, place.Name+" (it answers, and is refused)")
			refused = append(refused, why)
		default:
			away = append(away, fmt.Sprintf("%s (%s)", place.Name, n.heardText(place.ID)))
		}
	}
	text := fmt.Sprintf("the quorum is lost: of the voters of view %d only %s can be heard, without %s. No lock is granted until enough of them are back",
		self.Cell.Accepted.Number, protocol.JoinNames(here), protocol.JoinNames(away))
	switch {
	case len(refused) > 0:
		text += "; " + strings.Join(refused, "; ")
	case ask != "":
		text += fmt.Sprintf(": start them. Only if they are lost for good: holdfast force-view --server %s --members %s", ask, strings.Join(here, ","))
	default:
		text += ": start them"
	}
	return text
}

// refusals returns, by address, why this member and the one there refuse each other.
func (n *Member) refusals() map[string]string {
	if refuser, is := n.transport.(interface{ Refusals() map[string]string }); is {
		return refuser.Refusals()
	}
	return nil
}

// missSilent counts silent voters as missing: a member outside the view has seen no member leave it.
func (n *Member) missSilent(self *membership.Self) {
	for i := range self.Members {
		place := &self.Members[i]
		missed := func(m membership.Missing) bool { return m.ID == place.ID }
		if place.Founder && place.State == membership.Suspected && !slices.ContainsFunc(self.Missing, missed) {
			since, _ := n.roll.last(place.ID) // 0, when this life began, if it was not heard in it
			self.Missing = append(self.Missing, membership.Missing{ID: place.ID, Name: place.Name, Address: place.Address, Since: since})
		}
	}
}

// heardText says when another member was last heard.
func (n *Member) heardText(id protocol.ID) string {
	if at, known := n.roll.last(id); known {
		return "last heard of at " + stamp(n.driver.Wall(at))
	}
	return "not heard of since this one's start at " + stamp(n.started)
}

// stamp formats a wall time for a sentence.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
