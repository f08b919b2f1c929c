package authority

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestASecondReportIsConfirmedRequestByRequest checks that a holder repeats its waiting requests and its releases after
// a second report: an authority asks a holder again under another epoch of its reign, and may take a late copy of the
// first report for the new one.
func TestASecondReportIsConfirmedRequestByRequest(t *testing.T) {
	defer mutation.Switch("")
	for rule, want := range map[string]int{"": 2, "a second report is confirmed wish by wish": 0} {
		mutation.Switch(rule)
		sent := sentAfterSecondReport(t)
		if len(sent) != want {
			t.Fatalf("without %q %v is sent when the report is known", rule, sent)
		}
		if want == 0 {
			continue
		}
		again, is := sent[0].(Acquire)
		released, ends := sent[1].(Release)
		if !is || again.Entry.Name != "a" || !ends || released.Name != "b" {
			t.Errorf("when the report is known, %v is sent", sent)
		}
	}
}

// sentAfterSecondReport returns the messages of a holder once the authority knows its second report. By then it waits
// for one name, and has released another one.
func sentAfterSecondReport(t *testing.T) []protocol.Message {
	t.Helper()
	const self, other = 1, 2
	m, err := New(Config{Self: self}, Rules{Title: "authority", Terms: struct{ Terms }{}, Outlives: true})
	if err != nil {
		t.Fatal(err)
	}
	reign := Reign{Authority: other, Version: Version{Epoch: 4, Number: 1}}
	said := func(fact any) (sent []protocol.Message) {
		t.Helper()
		var out protocol.Effects
		kind := protocol.Receive
		switch fact.(type) {
		case *lock.Request, *protocol.Release:
			kind = protocol.Call
		}
		m.Step(0, protocol.Event{Kind: kind, From: other, Fact: fact}, &out)
		for _, e := range out.Sends {
			sent = append(sent, e.Message)
		}
		return sent
	}
	view := func(epoch uint64) Stamp {
		v := &protocol.View{
			Epoch: protocol.Epoch{Counter: epoch, Candidate: other}, Coordinator: other, Members: []protocol.Member{{ID: other}, {ID: self}},
			Lease: &protocol.Lease{Member: protocol.Never, Carried: protocol.Never},
		}
		var out protocol.Effects
		m.Follow(0, v, reign, &out)
		return Stamp{Epoch: v.Epoch, Version: reign.Version}
	}
	session := lock.SessionID{Member: self, Number: 1}
	stamp := view(4)
	known := stamp
	known.Known = true
	said(InfoRequest{Stamp: stamp})
	said(Acks{Stamp: known})
	said(&lock.Request{Session: session, ID: 1, Name: "a", WaitEnd: lock.Never})
	said(&lock.Request{Session: session, ID: 2, Name: "b", WaitEnd: lock.Never})
	said(Decided{Stamp: known, Ended: Ended{session, 1}, Name: "a", Kind: lock.Queued})
	said(Decided{Stamp: known, Ended: Ended{session, 2}, Name: "b", Kind: lock.Granted, Token: 7})
	said(&protocol.Release{Session: session, Request: 2, Name: "b", Token: 7})
	stamp = view(5)
	known.Epoch = stamp.Epoch
	answers := said(InfoRequest{Stamp: stamp})
	if report, is := answers[0].(InfoAnswer); !is || len(report.Entries) != 1 || len(report.Released) != 1 {
		t.Fatalf("the second report is %+v", answers)
	}
	return said(Acks{Stamp: known})
}
