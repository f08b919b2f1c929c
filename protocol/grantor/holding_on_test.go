package grantor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// sessionOf returns session n of a member.
func sessionOf(member protocol.ID, n uint64) lock.SessionID {
	return lock.SessionID{Member: uint64(member), Number: n}
}

func (p *pair) lock(member protocol.ID, session, request uint64, name string) lock.Kind {
	s := sessionOf(member, session)
	p.call(member, &lock.Request{Session: s, ID: request, Name: name, WaitEnd: lock.Never})
	return p.last[s]
}

func (p *pair) unlock(member protocol.ID, session, request uint64, name string) {
	p.call(member, &protocol.Release{Session: sessionOf(member, session), Request: request, Name: name})
}

// holding is the number of names in the grantor's table.
func (p *pair) holding() int {
	p.answers = nil
	p.call(1, &protocol.Inspect{})
	return p.answers[len(p.answers)-1].(*protocol.Condition).Locks
}

// TestKeptNames checks that a member keeps 1024 names, and that one more makes it return the name that was used longest
// ago.
func TestKeptNames(t *testing.T) {
	const most = 1024
	p := newPair(t, option.Values{"hold_on": "1m"})
	p.lock(1, 1, 1, "first") // member 1 grants from now on
	p.unlock(1, 1, 1, "first")
	name := func(n int) string { return fmt.Sprintf("n%d", n) }
	for n := range most {
		p.lock(2, 1, uint64(n+1), name(n))
		p.unlock(2, 1, uint64(n+1), name(n))
	}
	p.lock(2, 1, 5000, name(0)) // so that n1 is it
	p.unlock(2, 1, 5000, name(0))
	if n := p.holding(); n != most {
		t.Fatalf("%d names are kept, want %d", n, most)
	}
	p.lock(2, 1, 6000, name(most))
	p.unlock(2, 1, 6000, name(most))
	if n := p.holding(); n != most {
		t.Fatalf("with one more %d names are kept, want %d", n, most)
	}
	p.tables, p.answers = nil, nil
	p.call(1, &protocol.Show{Name: name(1)})
	if l := p.answers[0].(*lock.Lock); len(l.Holders) != 0 {
		t.Errorf("%s was used longest ago, and is held by %v", name(1), l.Holders)
	}
}

// TestKeptNamesCountForNoSession checks that kept names count against no session's bound, at the member or at the
// grantor, and that a session's holds do.
func TestKeptNamesCountForNoSession(t *testing.T) {
	p := newPair(t, option.Values{"hold_on": "1m"})
	for i := range p.machines {
		m, err := grantor.New(grantor.Config{
			Config: authority.Config{Self: protocol.ID(i + 1), Table: lock.Config{LocksPerSession: 2}}, Options: grantor.Options{HoldOn: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		p.machines[i] = m
	}
	p.raiseView()
	for _, member := range []protocol.ID{1, 2} {
		for n := range uint64(5) {
			if kind := p.lock(member, 1, n+1, fmt.Sprintf("m%d-%d", member, n)); kind != lock.Granted {
				t.Fatalf("member %d, lock %d: %v", member, n, kind)
			}
			p.unlock(member, 1, n+1, fmt.Sprintf("m%d-%d", member, n))
		}
		p.lock(member, 1, 11, fmt.Sprintf("one-%d", member))
		p.lock(member, 1, 12, fmt.Sprintf("two-%d", member))
		p.refused = nil
		p.lock(member, 1, 13, fmt.Sprintf("three-%d", member))
		var limit *holdfast.LimitError
		if !errors.As(p.refused, &limit) || limit.Limit != "locks_per_session" || limit.Value != 2 {
			t.Errorf("member %d, the third lock of a session: %v", member, p.refused)
		}
	}
}

// TestMuchUsedNames checks that under one grant a member gives 2²⁰ tokens by itself, and then asks for another one. No
// token repeats.
func TestMuchUsedNames(t *testing.T) {
	p := newPair(t, option.Values{"hold_on": "1m"})
	p.lock(1, 1, 1, "first")
	p.unlock(1, 1, 1, "first")
	last, before := holdfast.Token(0), p.sent
	for n := range uint64(1<<20 + 10) {
		p.lock(2, 1, n+1, "hot")
		if p.token <= last {
			t.Fatalf("use %d has token %v after %v", n, p.token, last)
		}
		last = p.token
		p.unlock(2, 1, n+1, "hot")
	}
	if n := p.sent - before; n < 4 || n > 12 {
		t.Errorf("%d messages for 2²⁰ uses and some, want two grants' worth", n)
	}
}

// TestVisitsAreBounded checks that 1024 requests that do not want to wait may wait for a member's answer about its use
// of a name, and that one more is refused at once.
func TestVisitsAreBounded(t *testing.T) {
	const most = 1024
	p := newPair(t, option.Values{"hold_on": "1m"})
	p.lock(1, 1, 1, "first")
	p.unlock(1, 1, 1, "first")
	p.lock(2, 1, 1, "kept")
	p.unlock(2, 1, 1, "kept")
	try := func(n uint64) lock.Kind { // messages stay in flight
		s := sessionOf(1, n+10)
		p.step(1, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &lock.Request{Session: s, ID: 1, Name: "kept", Try: true}})
		return p.last[s]
	}
	for n := range uint64(most) {
		if kind := try(n); kind != lock.Queued {
			t.Fatalf("request %d is %v", n, kind)
		}
	}
	if kind := try(most); kind != lock.Refused {
		t.Errorf("one more than %d is %v", most, kind)
	}
}
