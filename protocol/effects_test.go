package protocol_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestEffectsKeepOrder checks that each kind of effect comes out in the order of its entry.
func TestEffectsKeepOrder(t *testing.T) {
	var out protocol.Effects
	first, second := protocol.CallID{Sink: 1, Op: 1}, protocol.CallID{Sink: 2, Op: 9}
	out.Send(5, text("a"))
	out.Send(protocol.Storage, text("b"))
	out.Decide(first, &lock.Decision{Kind: lock.Queued, Position: 3})
	out.Reply(second, "result")
	out.Raise(text("up"))
	out.Note(text("noted"))
	same(t, "sends", out.Sends, []protocol.Envelope{{To: 5, Message: text("a")}, {To: protocol.Storage, Message: text("b")}})
	same(t, "replies", out.Replies, []protocol.Reply{
		{To: first, Decision: lock.Decision{Kind: lock.Queued, Position: 3}}, {To: second, Result: "result"},
	})
	same(t, "raises", out.Raises, []any{text("up")})
	same(t, "notes", out.Notes, []protocol.Note{text("noted")})
}

// TestEffectsReset checks that drained effects are released, so that the reused memory keeps nothing alive.
func TestEffectsReset(t *testing.T) {
	var out protocol.Effects
	out.Send(5, text("a"))
	out.Reply(protocol.CallID{Sink: 1}, "result")
	out.Raise(text("up"))
	out.Note(text("noted"))
	sends, replies, raises, notes := out.Sends, out.Replies, out.Raises, out.Notes
	out.Reset()
	if len(out.Sends)+len(out.Replies)+len(out.Raises)+len(out.Notes) != 0 {
		t.Errorf("%+v after Reset", out)
	}
	if sends[0].Message != nil || replies[0].Result != nil || raises[0] != nil || notes[0] != nil {
		t.Error("Reset keeps what was drained")
	}
	if cap(out.Sends) == 0 || cap(out.Replies) == 0 || cap(out.Raises) == 0 || cap(out.Notes) == 0 {
		t.Error("Reset gives the memory away")
	}
}

// TestStatesHaveNames checks that states have the names of docs/design/formats.md §1.
func TestStatesHaveNames(t *testing.T) {
	for state, want := range map[protocol.State]string{
		protocol.Unavailable: "unavailable", protocol.Recovering: "recovering",
		protocol.Transferring: "transferring", protocol.Suspended: "suspended", protocol.Ready: "ready",
	} {
		if got := state.String(); got != want {
			t.Errorf("state %d is called %q, want %q", state, got, want)
		}
	}
	if text := (protocol.Serving{Reign: 7}).String(); text != "serving reign 7" {
		t.Error(text)
	}
}
