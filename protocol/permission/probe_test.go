package permission_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// read returns the probe of members that ask one another.
func read() probe.Peers {
	d := permission.Descriptor()
	return probe.Of(&d).PeerProbe
}

// TestPeersAndTheirMessagesAreRead checks that only requests that wait for exclusive locks have a place, in the reign
// of their stamp, and that at an idle member only a merged reply is an event.
func TestPeersAndTheirMessagesAreRead(t *testing.T) {
	read := read()
	space, err := permission.New(permission.Config{Self: 1})
	if err != nil {
		t.Fatal(err)
	}
	acquire := permission.Request{Number: 7, Clock: 5<<32 | 9, Name: "n"}
	if plea, is := read.PeerRequestIn(acquire); !is || plea != (probe.PeerRequest{Name: "n", Number: 7, Reign: protocol.Epoch{Counter: 5}}) {
		t.Errorf("%v asks for %+v, %v", acquire, plea, is)
	}
	shares, tries := acquire, acquire
	shares.Mode, tries.Try = holdfast.ModeShared, true
	for _, m := range []protocol.Message{shares, tries, permission.Reply{Number: 7}, local.Query{Query: admin.Query{Number: 7}}} {
		if plea, is := read.PeerRequestIn(m); is {
			t.Errorf("%v asks for %+v", m, plea)
		}
	}
	if read.Heard(space, 2, acquire) || read.Heard(space, 2, permission.Reply{}) {
		t.Error("who has no view has heard something")
	}
	for _, at := range []struct {
		message protocol.Message
		want    probe.Meeting
	}{{acquire, probe.MeetsNothing}, {permission.Reply{Number: 7}, probe.MeetsNothing}, {permission.Reply{Number: 7, Count: 2}, probe.MeetsSeveral}, {local.Query{}, probe.MeetsNothing}} {
		if got := read.Meets(space, 2, at.message); got != at.want {
			t.Errorf("%v meets %d; want %d", at.message, got, at.want)
		}
	}
	if d := read.Dealings(space); d != (probe.Dealings{}) {
		t.Errorf("it has to do with %+v", d)
	}
}
