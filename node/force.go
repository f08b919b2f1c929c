package node

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// ForceView orders a view without the quorum that is lost for good.
type ForceView struct {
	Members []string // the names of the voters that the view shall have, this member among them
	Reason  string   // why, for the log. Required
	By      string   // who orders it, for the log
	Confirm string   // the Code of the ForcePlan that By has read. Required
}

// ForcePlan describes a forced view in advance, as this member knows it.
type ForcePlan struct {
	View        uint64        // the number of the newest view that this member knows
	Epoch       uint64        // its epoch
	Coordinator string        // the name of its coordinator
	Places      []ForcedPlace // its members, in order of seniority
	Named       []string      // the voters of the forced view
	Rivals      []string      // the voters that are not named: if these are alive, two clients may hold one lock
	Wait        time.Duration // from the forced view to its first grant
	Spaces      []ForcedSpace // what becomes of each space
	Code        string        // confirms this plan, and no other
}

// ForcedPlace is a member of the view that a forced one would replace.
type ForcedPlace struct {
	Name, Address string
	Voter         bool
	Named         bool      // it is one of ForcePlan.Named
	Alive         bool      // this member has heard of it lately
	Heard         time.Time // when this member heard of it last; zero where it has not
}

// ForcedSpace says what becomes of a space under a forced view.
type ForcedSpace struct {
	Name, Protocol string
	Serves         bool   // it grants again under that view
	Why            string // why it does not, and what to do
}

// ForcedView is a view that an operator has forced.
type ForcedView struct {
	View     uint64 // its number
	Replaced uint64 // the number of the view before
	Members  []string
	Reason   string
	By       string
	Time     time.Time     // when the order was given
	From     time.Time     // when the view grants; zero where that was not known yet
	Spaces   []ForcedSpace // what becomes of each space; none at a member through which the view was not forced
}

// PlanForce returns what a view of the named voters alone would be, with the code that Force asks for. It changes
// nothing. The error says why the view cannot be forced, and what to do instead: an ErrConflict where the quorum is not
// lost, or a name does not fit; an ErrUnavailable where this member does not know yet; an ErrUnsupported where there is no
// quorum to lose.
func (n *Node) PlanForce(ctx context.Context, members []string) (*ForcePlan, error) {
	p, err := n.member.PlanForce(ctx, members)
	if err != nil {
		return nil, err
	}
	plan := &ForcePlan{
		View: p.View, Epoch: p.Epoch, Coordinator: p.Coordinator, Named: p.Named, Rivals: p.Rivals,
		Wait: p.Wait.AsDuration(), Spaces: forcedSpaces(p.Spaces), Code: p.Code,
	}
	for _, place := range p.Places {
		plan.Places = append(plan.Places, ForcedPlace{
			Name: place.Name, Address: place.Address, Voter: place.Voter, Named: place.Named, Alive: place.Alive, Heard: api.TimeOf(place.Heard),
		})
	}
	return plan, nil
}

// Force makes a view of the named voters alone, without the quorum that is lost for good, and returns when the view is
// installed (docs/design/membership.md §5). The view grants when all that the members before may have promised has
// run out. It is not made unless the plan that was confirmed still holds. If the voters that are not named are alive with a
// quorum of their own, two clients may hold one lock; the caller alone can know whether they are. The log of every member that
// takes part, or learns of it, has the order, and Forced returns it there.
//
// The errors are those of PlanForce; an ErrConflict for a code that does not fit; and an ErrUnavailable where a named member did
// not answer: then the view is as it was, unless ctx has ended before that was known.
func (n *Node) Force(ctx context.Context, order ForceView) (*ForcedView, error) {
	forced, err := n.member.Force(ctx, &schema.ForceViewRequest{Members: order.Members, Reason: order.Reason, By: order.By, Confirm: order.Confirm})
	if err != nil {
		return nil, err
	}
	return forcedView(forced), nil
}

// Forced returns the latest forced view that this member has made, taken part in or learnt of in its life; nil where
// there is none.
func (n *Node) Forced() *ForcedView { return forcedView(n.member.Forced()) }

func forcedView(f *schema.ForcedView) *ForcedView {
	if f == nil {
		return nil
	}
	return &ForcedView{
		View: f.View, Replaced: f.Replaced, Members: f.Members, Reason: f.Reason, By: f.By,
		Time: api.TimeOf(f.Time), From: api.TimeOf(f.From), Spaces: forcedSpaces(f.Spaces),
	}
}

func forcedSpaces(spaces []*schema.ForcedSpace) (all []ForcedSpace) {
	for _, space := range spaces {
		all = append(all, ForcedSpace{Name: space.Name, Protocol: space.Protocol, Serves: space.Serves, Why: space.Why})
	}
	return all
}
