package simtest_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/simtest"
)

// TestTokensAreOfTheirNames checks that releasing a name by its token keeps another one with the same token, as
// protocols may count each name separately.
func TestTokensAreOfTheirNames(t *testing.T) {
	var front simtest.Front
	var out protocol.Effects
	session := lock.SessionID{Member: 1, Number: 1}
	for id, name := range []string{"n0", "n1"} {
		request := &lock.Request{Session: session, ID: uint64(id + 1), Name: name, WaitEnd: protocol.Never}
		front.Take(0, protocol.Event{Kind: protocol.Call, Fact: request}, &out)
		if !front.Grant(session, uint64(id+1), 7, &out) {
			t.Fatalf("%s is not granted", name)
		}
	}
	for _, name := range []string{"n2", "n1"} {
		out.Reset()
		front.Take(0, protocol.Event{Kind: protocol.Call, Fact: &protocol.Release{Session: session, Name: name, Token: 7}}, &out)
		want := lock.Refused
		if name == "n1" {
			want = lock.Released
		}
		if got := out.Replies[0].Decision; got.Kind != want || got.Name != name {
			t.Errorf("a release of %s: %v of %q, want %v", name, got.Kind, got.Name, want)
		}
	}
	if len(front.Wants) != 1 || front.Wants[0].Name != "n0" {
		t.Errorf("what is held afterwards: %v", front.Wants)
	}
}
