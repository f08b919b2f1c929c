package session_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// noting is a stack with a lease for ever, that allows every horizon at once, and notes each.
type noting struct {
	members int // of the view
	asked   []protocol.NeedHorizon
}

func (*noting) Wake() protocol.Time { return protocol.Never }

func (n *noting) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.NeedHorizon:
		n.asked = append(n.asked, *fact)
		out.Raise(&protocol.Horizon{Answer: true, Confirmed: fact.Want, Clients: fact.Clients})
	case *protocol.StepDown:
	default:
		n.show(out)
	}
}

func (n *noting) show(out *protocol.Effects) {
	lease := &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}
	out.Raise(&protocol.View{Members: make([]protocol.Member, n.members), Lease: lease})
}

// TestOneAloneKeepsAPromise: a session that ends leaves its promise to the next one if no other member would have to
// wait for it, until another member comes, or new clients go elsewhere.
func TestOneAloneKeepsAPromise(t *testing.T) {
	const usual = "9.0112s"
	type asked struct {
		want    string
		clients bool
	}
	for name, test := range map[string]struct {
		members int
		then    func(stack *noting, step func(protocol.Event))
		want    []asked
	}{
		"alone":       {1, nil, []asked{{usual, true}}},
		"with others": {2, nil, []asked{{usual, true}, {"0s", false}, {usual, true}, {"0s", false}}},
		"alone until another comes": {1, func(stack *noting, step func(protocol.Event)) {
			stack.members = 2
			step(protocol.Event{Kind: protocol.Receive, From: 9})
		}, []asked{{usual, true}, {"0s", false}}},
		"alone until it is drained": {1, func(_ *noting, step func(protocol.Event)) {
			step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 7}, Fact: &session.Drain{}})
		}, []asked{{usual, true}, {"0s", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			stack := &noting{members: test.members}
			machine, err := session.New(session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1}, stack)
			if err != nil {
				t.Fatal(err)
			}
			step := func(ev protocol.Event) { machine.Step(time.Second, ev, &protocol.Effects{}) }
			step(protocol.Event{Kind: protocol.Start})
			for range 2 {
				opened := open(t, machine, session.Open{Kind: session.Stream})
				step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 2}, Fact: &session.End{ID: opened.ID, Secret: opened.Secret}})
			}
			if test.then != nil {
				test.then(stack, step)
			}
			var got []asked
			for _, need := range stack.asked {
				got = append(got, asked{need.Want.String(), need.Clients})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the horizons asked for are %v, want %v", got, test.want)
			}
		})
	}
}
