package node

import (
	"context"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// ForceView is an order to form a view after the permanent loss of a quorum.
type ForceView struct {
	Members []string // the names of the new view's voters, including this member
	Reason  string   // why, for the log. Required
	By      string   // the operator, for the log
	Confirm string   // the Code of the ForcePlan that By has read. Required
}

// ForcePlan describes a forced view in advance, as this member knows it.
type ForcePlan struct {
	View        uint64        // the number of the newest view that this member knows
	Epoch       uint64        // its epoch
	Coordinator string        // the name of its coordinator
	Places      []ForcedPlace // its members, in order of seniority
	Named       []string      // the voters of the forced view
	Rivals      []string      // the unnamed voters: if these are alive, two clients may hold one lock
	Wait        time.Duration // from the forced view to its first grant
	Spaces      []ForcedSpace // the effect on each space
	Code        string        // confirms this plan, and no other
}

// ForcedPlace is a member of the view that a forced view would replace.
type ForcedPlace struct {
	Name, Address string
	Voter         bool
	Named         bool      // it is one of ForcePlan.Named
	Alive         bool      // this member has heard from it recently
	Heard         time.Time // when this member last heard from it; zero if never
}

// ForcedSpace is the effect of a forced view on a space.
type ForcedSpace struct {
	Name, Protocol string
	Serves         bool   // it grants again under that view
	Why            string // why it does not, and what to do
}

// ForcedView is a view that an operator has forced.
type ForcedView struct {
	View     uint64 // its number
	Replaced uint64 // the number of the previous view
	Members  []string
	Reason   string
	By       string
	Time     time.Time     // when the order was given
	From     time.Time     // when the view starts to grant; zero if not known yet
	Spaces   []ForcedSpace // the effect on each space; none at a member that did not force the view itself
}

// PlanForce returns the view that the named voters alone would form, with the code that Force requires. It changes
// nothing. The error says why the view cannot be forced, and what to do instead: an ErrConflict if the quorum is not
// lost or a name is wrong; an ErrUnavailable if this member does not know yet; an ErrUnsupported if there is no quorum
// to lose.
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

// Force forms a view of the named voters alone, without the permanently lost quorum, and returns when the view is
// installed (docs/design/membership.md §5). The view grants when everything that the previous members may have promised
// has expired. Force fails if the confirmed plan no longer holds. If the unnamed voters are alive with a quorum of
// their own, two clients may hold one lock; only the caller can know whether they are. Every member that participates,
// or learns of the view, logs the order, and Forced returns it there.
//
// The errors are those of PlanForce; an ErrConflict for a wrong code; and an ErrUnavailable if a named member did not
// answer: then the view is unchanged, unless ctx ended before that was known.
func (n *Node) Force(ctx context.Context, order ForceView) (*ForcedView, error) {
	forced, err := n.member.Force(ctx, &schema.ForceViewRequest{Members: order.Members, Reason: order.Reason, By: order.By, Confirm: order.Confirm})
	if err != nil {
		return nil, err
	}
	return forcedView(forced), nil
}

// Forced returns the latest forced view that this member has formed, joined or learnt of in its life; nil if there is
// none.
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
