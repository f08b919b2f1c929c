package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
)

// single is a member that decides alone, and whose journal answers at once.
type single struct {
	*testing.T
	shard     *Shard
	config    Config
	disk      disk
	now       protocol.Time
	decisions []lock.Decision
}

func newSingle(t *testing.T) *single {
	mark := group.Founding([]uint64{1})
	s := &single{
		T: t, config: Config{Group: group.Config{Self: 1}, Log: 1},
		disk: disk{begins: 1, snapshot: 1, meta: mark.Append(nil)},
	}
	s.begin()
	return s
}

// begin begins a life from the disk, and returns when it leads.
func (s *single) begin() {
	s.Helper()
	s.config.Life++
	mark, err := group.ReadMark(s.disk.meta)
	if err != nil {
		s.Fatal(err)
	}
	kept := Kept{Group: group.Kept{State: s.disk.state, Snapshot: mark, Records: s.disk.records}, Parts: s.disk.chunks, Begins: s.disk.begins, Number: s.disk.snapshot}
	if s.shard, err = New(s.config, &kept, s.now); err != nil {
		s.Fatal(err)
	}
	for range 10 {
		if s.shard.Leads() {
			return
		}
		s.do(func(out *Output) { s.shard.Tick(s.now, out) })
		s.now += s.config.Group.Election + time.Second
	}
	s.Fatalf("life %d does not lead", s.config.Life)
}

// do performs a call, and all resulting requests to the journal.
func (s *single) do(what func(out *Output)) {
	s.Helper()
	var out Output
	for what(&out); ; {
		s.decisions = append(s.decisions, out.Decisions...)
		journal := append([]any{}, out.Journal...)
		if out.Reset(); len(journal) == 0 {
			return
		}
		for _, request := range journal {
			s.shard.Stored(s.now, s.disk.do(request), &out)
		}
	}
}

// hear executes operations sent by member 2, and returns the decisions.
func (s *single) hear(ops ...replica.Op) []lock.Decision {
	s.Helper()
	s.decisions = nil
	s.do(func(out *Output) {
		if err := s.shard.Hear(s.now, 2, Forward{ops}, out); err != nil {
			s.Fatal(err)
		}
	})
	return s.decisions
}

// from2 is an operation of member 2.
func from2(number uint64, op replica.Op) replica.Op {
	op.ID = replica.OpID{Member: 2, Number: number}
	return op
}

// holder returns the holder of a name.
func (s *single) holder(name string) lock.SessionID {
	l := s.shard.Replica().Table().Show(name)
	if len(l.Holders) == 0 {
		return lock.SessionID{}
	}
	return l.Holders[0].Session
}

var sessionA, sessionB = lock.SessionID{Member: 2, Number: 1}, lock.SessionID{Member: 2, Number: 2}

func opens(id lock.SessionID) replica.Op {
	return replica.Op{Kind: replica.Open, Session: id, TTL: time.Hour}
}

func acquires(id lock.SessionID, request uint64, name string) replica.Op {
	return replica.Op{Kind: replica.Acquire, Session: id, Request: request, Name: name, Wait: lock.Never}
}

// lateBreak sends an operator's break again when another client holds the name, and returns what that client has lost
// by it.
func lateBreak(s *single) (harm string) {
	breaks := from2(3, replica.Op{Kind: replica.Break, Name: "x"})
	s.hear(from2(1, opens(sessionA)), from2(2, acquires(sessionA, 1, "x")), breaks)
	s.hear(from2(4, replica.Op{Kind: replica.Release, Session: sessionA, Request: 1, Name: "x"}), from2(5, opens(sessionB)), from2(6, acquires(sessionB, 1, "x")))
	if by := s.holder("x"); by != sessionB {
		s.Fatalf("%v holds the name that was broken", by)
	}
	if decisions := s.hear(breaks); len(decisions) > 0 {
		return fmt.Sprintf("%+v", decisions)
	}
	return ""
}

// TestHolesBite checks that each hole that sim/published attributes to this package fails without its rule, and that
// nothing does with it.
func TestHolesBite(t *testing.T) {
	defer mutation.Switch("")
	for rule, play := range map[string]func(*single) string{"an operation acts once": lateBreak} {
		mutation.Switch("")
		if harm := play(newSingle(t)); harm != "" {
			t.Errorf("with the rule %q in place: %s", rule, harm)
		}
		mutation.Switch(rule)
		if harm := play(newSingle(t)); harm == "" {
			t.Errorf("without the rule %q nothing goes wrong", rule)
		}
	}
}
