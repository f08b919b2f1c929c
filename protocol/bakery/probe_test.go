package bakery_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// read returns the probe of leaders.
func read() probe.Leaders {
	d := bakery.Descriptor()
	return probe.Of(&d).LeaderProbe
}

// TestLeadersAreRead checks the probe on messages, and on members without a view.
func TestLeadersAreRead(t *testing.T) {
	read := read()
	space, err := bakery.New(bakery.Config{Self: 1, Founders: 3})
	if err != nil {
		t.Fatal(err)
	}
	envelope := func(body bakery.Body) bakery.Envelope { return bakery.Envelope{Body: body} }
	if body := protocol.Carrier(envelope(bakery.Drop{})).Carried(); body != (bakery.Drop{}) {
		t.Errorf("an envelope carries %v", body)
	}
	for _, at := range []struct {
		message protocol.Message
		want    probe.Topic
	}{
		{bakery.Leaders{}, probe.TopicLeaders}, {envelope(bakery.Tickets{}), probe.TopicTickets}, {envelope(bakery.Locked{}), probe.TopicNone},
		{envelope(bakery.Drop{}), probe.TopicNone}, {local.Query{}, probe.TopicNone},
	} {
		if got := read.TopicOf(space, at.message); got != at.want {
			t.Errorf("%v tells %d; want %d", at.message, got, at.want)
		}
	}
	view := &protocol.View{Number: 2, Epoch: protocol.Epoch{Counter: 4}, Members: []protocol.Member{{ID: 1, Since: 2}}}
	tag := local.Tag{View: 2, Epoch: view.Epoch}
	elected := func(view uint64) bakery.Election { return bakery.Election{Term: bakery.Term{Epoch: 4, View: view}} }
	for _, at := range []struct {
		message protocol.Message
		want    probe.Finding
	}{
		{bakery.Refused{Tag: tag, Why: bakery.RefusedFew}, probe.FindsNothing},
		{bakery.Refused{Tag: tag, Why: bakery.RefusedEpoch}, probe.FindsRefused},
		{bakery.Refused{Why: bakery.RefusedEpoch}, probe.FindsNothing},
		{bakery.Leaders{Tag: tag, Election: elected(1)}, probe.FindsNewcomer},
		{bakery.Leaders{Tag: tag, Election: elected(2)}, probe.FindsLeaders},
		{bakery.Leaders{Election: elected(2)}, probe.FindsNothing},
		{envelope(bakery.Added{}), probe.FindsNothing},
		{envelope(bakery.Claim{Claims: []bakery.Claimed{{}}}), probe.FindsNothing},
	} {
		if got := read.Finds(space, view, 2, at.message); got != at.want {
			t.Errorf("%v finds %d; want %d", at.message, got, at.want)
		}
	}
	if _, placed := read.Placed(space, envelope(bakery.Added{})); placed || read.Serves(space) || len(read.Drawn(space)) > 0 || read.Graces(space) > 0 {
		t.Error("who has no view leads")
	}
	if _, _, waits := read.Request(space, probe.Placed{Owner: 1, Number: 1}); waits {
		t.Error("who has no clients asks")
	}
}
