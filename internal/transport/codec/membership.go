package codec

import (
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The fewest bytes that an element of a list can have.
const (
	leastMember     = 17
	leastElectorate = 11
	leastPledge     = 12
)

func (c *coder) member(v *election.Member) {
	fixed(c, &v.ID)
	text(c, &v.Name)
	text(c, &v.Address)
	c.tenure(&v.Tenure)
	c.truth(&v.Founder)
	text(c, &v.HTTP)
	c.truth(&v.Serves)
	c.truth(&v.Kept)
	number(c, &v.Since)
}

func (c *coder) view(v **election.View) {
	if !optional(c, v) {
		return
	}
	view := *v
	fixed(c, &view.Cluster)
	number(c, &view.Number)
	c.epoch(&view.Epoch)
	for i := range list(c, &view.Members, leastMember) {
		c.member(&view.Members[i])
	}
	for i := range list(c, &view.Base, leastElectorate) {
		c.electorate(&view.Base[i])
	}
	c.texts(&view.Terms)
	c.truth(&view.Installed)
	c.truth(&view.Open)
	text(c, &view.Order.Reason)
	text(c, &view.Order.By)
}

func (c *coder) electorate(v *election.Electorate) {
	number(c, &v.Number)
	c.epoch(&v.Epoch)
	c.ids(&v.Voters)
}

func (c *coder) pledges(v **election.Pledges) {
	if !optional(c, v) {
		return
	}
	p := *v
	enum(c, &p.Top, protocol.MaxReach)
	enum(c, &p.Durable, protocol.MaxReach)
	for i := range list(c, &p.Of, leastPledge) {
		q := &p.Of[i]
		fixed(c, &q.ID)
		c.tenure(&q.Tenure)
		number(c, &q.Version)
		enum(c, &q.Reach, protocol.MaxReach)
	}
}

func (c *coder) statusPoll(v *election.StatusPoll) { number(c, &v.Number) }

func (c *coder) statusAnswer(v *election.StatusAnswer) {
	number(c, &v.Number)
	c.member(&v.Self)
	c.count(&v.Priority)
	enum(c, &v.Status, election.Normal)
	fixed(c, &v.Candidate)
	fixed(c, &v.Coordinator)
	text(c, &v.Address)
	c.truth(&v.Well)
	c.span(&v.Lease)
	c.view(&v.View)
	c.epoch(&v.Promised)
	c.texts(&v.Founders)
	c.texts(&v.Terms)
	c.truth(&v.Leaving)
	c.span(&v.Wait)
}

func (c *coder) election(v *election.Election) {
	c.epoch(&v.Epoch)
	c.view(&v.View)
	c.texts(&v.Terms)
	c.truth(&v.Merge)
	c.truth(&v.NoQuorum)
}

func (c *coder) promise(v *election.Promise) {
	c.epoch(&v.Epoch)
	c.span(&v.At)
	c.member(&v.Self)
	c.count(&v.Priority)
	c.view(&v.Accepted)
	c.pledges(&v.Pledges)
	c.span(&v.Owes)
	c.truth(&v.Leaving)
	c.truth(&v.Empty)
}

func (c *coder) refuse(v *election.Refuse) {
	c.epoch(&v.Epoch)
	c.epoch(&v.Promised)
	c.truth(&v.Well)
	c.tenure(&v.Tenure)
	c.view(&v.View)
}

func (c *coder) poll(v *membership.Poll) {
	c.epoch(&v.Epoch)
	number(c, &v.View)
	number(c, &v.Seq)
	c.span(&v.Echo)
	c.tenure(&v.Tenure)
	c.span(&v.Role)
	number(c, &v.List)
	c.pledges(&v.Pledges)
	number(c, &v.Recorded)
	enum(c, &v.Most, protocol.MaxReach)
	for i := range list(c, &v.Closed, leastID+1) {
		fixed(c, &v.Closed[i].Member)
		c.ports(&v.Closed[i].Ports)
	}
	c.truth(&v.Installed)
	c.truth(&v.Open)
	c.span(&v.Wait)
}

func (c *coder) newView(v *membership.NewView) {
	c.poll(&v.Poll)
	c.view(&v.View)
}

func (c *coder) pollAnswer(v *membership.PollAnswer) {
	c.epoch(&v.Epoch)
	number(c, &v.View)
	number(c, &v.Seq)
	c.span(&v.At)
	c.tenure(&v.Tenure)
	enum(c, &v.Wants, protocol.MaxReach)
	number(c, &v.Version)
	enum(c, &v.Pledge, protocol.MaxReach)
	number(c, &v.Stored)
	c.truth(&v.Reported)
	c.truth(&v.Leaving)
	c.truth(&v.Empty)
	c.ids(&v.Unheard)
	c.ports(&v.Closed)
}

func (c *coder) join(v *membership.Join) {
	c.member(&v.Self)
	number(c, &v.Version)
	c.epoch(&v.Promised)
	c.span(&v.Lease)
	c.real(&v.Drift)
	c.texts(&v.Definitions)
	c.texts(&v.Founders)
	fixed(c, &v.Cluster)
	c.ids(&v.Hears)
}

func (c *coder) joinDeferred(v *membership.JoinDeferred) {
	c.tenure(&v.Tenure)
	text(c, &v.Unheard)
}

func (c *coder) unwelcome(v *membership.Unwelcome) {
	c.tenure(&v.Tenure)
	text(c, &v.What)
	text(c, &v.Ours)
	text(c, &v.Yours)
}

func (c *coder) dropped(v *membership.Dropped) {
	c.epoch(&v.Epoch)
	c.tenure(&v.Tenure)
}

func (c *coder) resign(v *membership.Resign) { c.epoch(&v.Epoch) }
