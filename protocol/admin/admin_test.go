package admin

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// toy is a protocol in which others answer, and this member too if own is set.
type toy struct {
	others []int
	own    bool
	mute   bool // no message can be sent
	sent   []string
}

func (p *toy) Ready(*Call[int]) bool { return len(p.others) > 0 || p.own }

func (p *toy) Targets(*Call[int]) ([]int, bool) { return p.others, p.own }

func (p *toy) Send(_ protocol.Time, _ *Call[int], other int, q Query, _ *protocol.Effects) bool {
	if !p.mute {
		p.sent = append(p.sent, fmt.Sprintf("%d: %v low=%d skip=%d", other, q, q.Low, q.Skip))
	}
	return !p.mute
}

func (p *toy) Unanswered(protocol.Time, *Call[int]) error { return holdfast.ErrUnavailable }

func (p *toy) Condition(_ protocol.Time, call *Call[int], answered bool) *protocol.Condition {
	if !answered {
		return &protocol.Condition{Why: "silence"}
	}
	return &call.Condition
}

func (p *toy) Show(_ protocol.Time, name string, skip, room int) (lock.Lock, int) {
	return lock.Lock{Name: name}.Part(skip, room)
}

func (p *toy) Scan(protocol.Time, string, string, int, func(lock.Lock) bool) bool { return false }

func (p *toy) Break(protocol.Time, *Query, *protocol.Effects) ([]lock.Grant, error) {
	return nil, holdfast.ErrNotHeld
}

func (p *toy) Inspect(protocol.Time) *protocol.Condition { return &protocol.Condition{Locks: 1} }

// call begins a call, and returns its immediate replies.
func call(c *Calls[int], fact any) []protocol.Reply {
	var out protocol.Effects
	c.OnCall(time.Second, &protocol.Event{Kind: protocol.Call, Fact: fact}, &out)
	return out.Replies
}

// take delivers an answer of another member, and returns the replies to the caller.
func take(c *Calls[int], from int, a Answer) []protocol.Reply {
	var out protocol.Effects
	c.Take(time.Second, &a, func(_ *Call[int], other int) bool { return other == from }, &out)
	return out.Replies
}

func (p *toy) checkSent(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(p.sent, want) {
		t.Errorf("sent %q, want %q", p.sent, want)
	}
	p.sent = nil
}

// TestCallsAreNumbered checks that a repeated call keeps its number, and reports the lowest unanswered one. A call that
// needs no other member's answer has none, and is not bounded.
func TestCallsAreNumbered(t *testing.T) {
	p := &toy{own: true}
	c := New(Config{Operators: 2, Chunk: 9, Patience: time.Second}, p)
	if replies := call(c, &protocol.Show{Name: "n"}); len(replies) != 1 || !c.Empty() {
		t.Fatalf("replied %+v", replies)
	}
	p.others = []int{2}
	call(c, &protocol.Show{Name: "n"})
	call(c, &protocol.Show{Name: "m"})
	p.checkSent(t, `2: query 1 show "n" low=1 skip=0`, `2: query 2 show "m" low=1 skip=0`)
	var limit *holdfast.LimitError
	if replies := call(c, &protocol.Break{Name: "n"}); len(replies) != 1 || !errors.As(replies[0].Result.(*protocol.Broken).Err, &limit) {
		t.Errorf("the third gets %+v", replies)
	}
	take(c, 2, Answer{Number: 1})
	p.others = []int{3, 4}
	var out protocol.Effects
	c.Restart(time.Second, c.Waiting()[0], &out)
	p.checkSent(t, `3: query 2 show "m" low=2 skip=0`, `4: query 2 show "m" low=2 skip=0`)
	if replies := take(c, 2, Answer{Number: 2}); len(replies) != 0 {
		t.Errorf("an answer of a target that is one no more ends it: %+v", replies)
	}
}

// TestPartsOfAListing checks that the rest of the last name is requested, and that the page ends where its first part
// does.
func TestPartsOfAListing(t *testing.T) {
	p := &toy{others: []int{2}}
	c := New(Config{Operators: 2, Chunk: 2, Patience: time.Second}, p)
	call(c, &protocol.Scan{Limit: 7})
	grants := func(tokens ...holdfast.Token) (l []lock.Grant) {
		for _, token := range tokens {
			l = append(l, lock.Grant{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}, Token: token, Until: protocol.Never})
		}
		return l
	}
	p.checkSent(t, `2: query 1 scan "" low=1 skip=0`)
	take(c, 2, Answer{Number: 1, Locks: []lock.Lock{{Name: "a", Holders: grants(1)}, {Name: "b", Holders: grants(2)}}, More: 1, Next: "b"})
	p.checkSent(t, `2: query 1 show "b" low=1 skip=1`)
	replies := take(c, 2, Answer{Number: 1, Skip: 1, Locks: []lock.Lock{{Name: "b", Holders: grants(3)}}})
	if len(replies) != 1 {
		t.Fatalf("replied %+v", replies)
	}
	page := replies[0].Result.(*protocol.Scanned)
	if len(page.Locks) != 2 || page.Next != "b" || len(page.Locks[1].Holders) != 2 {
		t.Errorf("the page is %+v", page)
	}
}

// TestCallsAreRepeated checks that calls are repeated, and given up, and that a call that cannot be sent waits.
func TestCallsAreRepeated(t *testing.T) {
	p := &toy{others: []int{2, 3}, own: true}
	c := New(Config{Operators: 2, Chunk: 2, Patience: time.Second}, p)
	call(c, &protocol.Inspect{})
	take(c, 3, Answer{Number: 1, Condition: protocol.Condition{Locks: 2, Awaited: []protocol.Awaited{{Member: 3}}}})
	p.sent = nil
	var out protocol.Effects
	if c.Wake() != 2*time.Second {
		t.Errorf("it wakes at %v", c.Wake())
	}
	c.Tick(2*time.Second, &out)
	p.checkSent(t, `2: query 1 inspect "" low=1 skip=0`)
	p.mute = true
	c.Tick(4*time.Second, &out)
	if o := c.Waiting()[0]; o.Due != protocol.Never || c.Wake() != 5*time.Second || !slices.Equal(o.Missing(), []int{2}) {
		t.Errorf("it is to be asked at %v of %v, and wakes at %v", o.Due, o.Missing(), c.Wake())
	}
	replies := take(c, 2, Answer{Number: 1, Condition: protocol.Condition{Locks: 4}})
	if len(replies) != 1 || replies[0].Result.(*protocol.Condition).Locks != 7 {
		t.Errorf("replied %+v", replies)
	}
	call(c, &protocol.Inspect{})
	c.Tick(5*time.Second, &out)
	if len(out.Replies) != 1 || out.Replies[0].Result.(*protocol.Condition).Why != "silence" || !c.Empty() {
		t.Errorf("replied %+v", out.Replies)
	}
}
