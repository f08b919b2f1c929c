package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Status returns this member's view of the cluster and of its spaces.
func (s *service) Status(ctx context.Context, _ *schema.StatusRequest) (answer *schema.Status, err error) {
	defer func() { s.observer.operation("", "status", err) }()
	if answer, _, err = s.statusQuietly(); err != nil {
		return nil, err
	}
	shown := s.shownTo(callerOf(ctx))
	shown.status(answer)
	if shown.callers() {
		answer.Callers, err = s.callerDocuments()
	}
	return answer, err
}

// mostCallers is how many callers a status has.
const mostCallers = 10

// callerDocuments returns what the callers with the largest part of a quota use.
func (s *service) callerDocuments() (all []*schema.CallerUse, err error) {
	used, err := query[*session.Used](s, protocol.Below, &session.Usage{Most: mostCallers})
	if err != nil {
		return nil, failed("status", "", "", err)
	}
	for i := range used.Owners {
		one := &used.Owners[i]
		all = append(all, &schema.CallerUse{
			Caller: one.Name, Sessions: int32(one.Sessions), SessionsQuota: int32(one.Quota.Sessions),
			Locks: int32(one.Locks + one.Waiters), LocksQuota: int32(one.Quota.Locks),
			Waiters: int32(one.Waiters), WaitersQuota: int32(one.Quota.Waiters),
		})
	}
	return all, nil
}

// statusQuietly is Status without counting it as an operation, with the number of this member's sessions.
func (s *service) statusQuietly() (answer *schema.Status, sessions int, err error) {
	view, self := s.view(), s.self()
	answer = s.clusterDocument(view, self)
	counted, err := query[*session.Counted](s, protocol.Below, &session.Count{})
	if err != nil {
		return nil, 0, failed("status", "", "", err)
	}
	answer.Access = s.policyDocument()
	answer.AccessDiffers = s.otherPolicies(view, answer.Access.GetDigest())
	for i := range s.spaces {
		space, err := s.spaceDocument(view, self, &s.spaces[i])
		if err != nil {
			return nil, 0, failed("status", s.spaces[i].Name, "", err)
		}
		answer.Spaces = append(answer.Spaces, space)
	}
	return answer, counted.Sessions, nil
}

func (s *service) spaceDocument(view protocol.View, self *membership.Self, space *Space) (*schema.Space, error) {
	condition, err := s.inspect(space)
	if out := s.forwarderAt(space); out != nil && err == nil {
		document, failure := out.status(space.Name)
		if failure == nil {
			document.Closed = condition.Closed
			return document, nil
		}
		unreached := *condition
		unreached.Why = failure.Error()
		condition = &unreached
	}
	name := naming(&view, self)
	if err != nil {
		return nil, err
	}
	document := &schema.Space{
		Name: space.Name, Protocol: space.Protocol, Class: api.ToClass(space.Class), Partition: cmp.Or(space.Options["partition"], "primary"), Options: space.Options,
		Reign: condition.Reign, State: condition.State.String(), Why: condition.Why,
		Locks: int32(condition.Locks), Waiters: int32(condition.Waiters), Sessions: int32(condition.Sessions),
		Version: condition.Version, Closed: condition.Closed,
		Store: space.Store, Settings: space.Settings,
	}
	document.ClosedAt = s.closedAt(space, condition, self)
	if condition.Elder != 0 {
		document.Elder = name(condition.Elder)
	}
	for _, h := range condition.Transfers {
		document.Transfers = append(document.Transfers, &schema.Handover{
			From: name(h.From), To: name(h.To), Since: s.wall(h.Since),
		})
	}
	for _, a := range condition.Awaited {
		document.Awaited = append(document.Awaited, &schema.Awaited{
			Member: name(a.Member), Reply: name(a.Reply), Requests: int32(a.Requests),
		})
	}
	for _, c := range condition.Candidates {
		document.Candidates = append(document.Candidates, &schema.Candidate{
			Member: name(c.Member), Priority: int32(c.Priority), Eligible: c.Eligible, Why: c.Why,
		})
	}
	if g := s.suspension(space, condition); g != nil {
		document.Suspension, document.Why = s.holderDocument(s.paper(), *g), cmp.Or(document.Why, s.suspensionText(g))
	}
	for _, id := range condition.Authority {
		document.Authority = append(document.Authority, name(id))
	}
	if until := lastsUntil(condition, self); until != protocol.Never {
		document.Until = s.wall(until)
	}
	document.Needs, document.Indispensable, err = s.needs(&view, space, self)
	return document, err
}

// lastsUntil returns when the state of a space that cannot grant is expected to end: from the space, or else from its
// member if that has no place in the view; Never if neither knows, or if the space can grant.
func lastsUntil(condition *protocol.Condition, self *membership.Self) protocol.Time {
	switch {
	case condition.State == protocol.Ready:
		return protocol.Never
	case condition.Until != 0 && condition.Until != protocol.Never:
		return condition.Until
	case self != nil && self.State == membership.Joining:
		return self.Until
	}
	return protocol.Never
}

// closedAt names the members at which the space is closed: this one by its own state, the others by their reports to
// the coordinator.
func (s *service) closedAt(space *Space, condition *protocol.Condition, self *membership.Self) (names []string) {
	me := s.identity().Member
	if self == nil {
		if condition.Closed {
			names = append(names, me.Name)
		}
		return names
	}
	for _, standing := range self.Members {
		closed := slices.Contains(standing.Closed, space.Port)
		if uint64(standing.ID) == me.Id {
			closed = condition.Closed
		}
		if closed {
			names = append(names, standing.Name)
		}
	}
	return names
}

func (s *service) inspect(space *Space) (*protocol.Condition, error) {
	return query[*protocol.Condition](s, space.Port, &protocol.Inspect{})
}

// unready returns a line with the reason for each space that cannot grant, and one if this member hinders others
// (hinders); none if all is well.
func (s *service) unready() (lines []string) {
	for i := range s.spaces {
		space := &s.spaces[i]
		if out := s.forwarderAt(space); out != nil {
			if line := out.unready(space.Name); line != "" {
				lines = append(lines, line)
			}
			continue
		}
		condition, err := s.inspect(space)
		switch {
		case err != nil:
			lines = append(lines, fmt.Sprintf("%s: %v", space.Name, err))
		case condition.State != protocol.Ready:
			lines = append(lines, s.conditionText(space, condition))
		}
	}
	self := s.self()
	if self != nil && self.Why != "" && (len(lines) > 0 || hinders(self, s.spaces)) {
		line := fmt.Sprintf("this member is %v: %s", self.State, self.Why)
		if self.State == membership.Joining && self.Until != protocol.Never {
			line += ", until " + api.At(s.driver.Wall(self.Until)).String()
		}
		lines = append(lines, line)
	}
	return lines
}

// hinders reports whether a member is not ready although its spaces can grant: because clients do better with another
// one, since this one's state cannot be written; or because no other may be stopped now, since the cluster does not
// count on this one yet. Spaces over a store work without a view. A member alone continues: clients have no other.
func hinders(self *membership.Self, spaces []Space) bool {
	inViews := func(space Space) bool { return !space.described.Stores }
	return self != nil && self.Founders > 1 && (self.Stale != nil || self.Uncounted && slices.ContainsFunc(spaces, inViews))
}

// conditionText describes the state of a space in one line.
func (s *service) conditionText(space *Space, condition *protocol.Condition) string {
	text, why := space.Name+": "+condition.State.String(), condition.Why
	if g := s.suspension(space, condition); g != nil && why == "" {
		why = s.suspensionText(g)
	}
	if why != "" {
		text += ": " + why
	}
	if until := lastsUntil(condition, nil); until != protocol.Never {
		text += ", until " + api.At(s.driver.Wall(until)).String()
	}
	return text
}

// retryAfter returns after how many seconds to retry a space that cannot grant now: when its state is expected to end,
// if known, within a minute.
func (s *service) retryAfter(spaceName string) int {
	const most = time.Minute
	space := s.byName[spaceName]
	if space == nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(s.life, explainLimit)
	defer cancel()
	condition, err := run.Query[*protocol.Condition](ctx, s.driver, space.Port, &protocol.Inspect{})
	if err != nil {
		return 1
	}
	until := lastsUntil(condition, nil)
	if until == protocol.Never {
		return 1
	}
	left := min(most, until-s.now())
	return max(1, int((left+time.Second-1)/time.Second))
}
