package session_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestTiedBeforeMemory: a session that lasting spaces have is granted nothing in memory before they have recorded that
// it is tied to this member. A later beat is no answer to that. A request that does not wait is refused a moment later.
func TestTiedBeforeMemory(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.vault.mute = true
	d.lock(1, shelfPort, s.ID, 2, "b")
	d.call(1, shelfPort, &lock.Request{Session: s.ID, ID: 3, Name: "c", Try: true, Arrived: d.now})
	asked := d.vault.waiting
	d.vault.waiting, d.vault.mute = nil, false
	if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || r.Err != nil {
		t.Errorf("its client is heard meanwhile, and got %+v", r)
	}
	d.at(d.now + time.Second/2)
	if got := d.decided(1, 2); len(got) > 0 || d.shelf.held(s.ID) != 0 || d.vault.enrolled[s.ID].Tied {
		t.Fatalf("before the space has answered: %v, and it holds %d", got, d.shelf.held(s.ID))
	}
	if got := d.decided(1, 3); !slices.Equal(got, []lock.Kind{lock.Refused}) {
		t.Errorf("without a wait it got %v", got)
	}
	if len(asked) != 1 || !asked[0].Fact.(*protocol.Beat).Tied {
		t.Fatalf("the space was asked %v", asked)
	}
	d.in(vaultPort, func(v *vault, out *protocol.Effects) { v.answer(&asked[0], out) })
	if got := d.decided(1, 2); !slices.Equal(got, []lock.Kind{lock.Granted}) || !d.vault.enrolled[s.ID].Tied {
		t.Errorf("when it has: %v", got)
	}
	d.vault.said()
	d.lock(1, shelfPort, s.ID, 4, "d")
	if said := d.vault.said(); said != "" || !slices.Equal(d.decided(1, 4), []lock.Kind{lock.Granted}) {
		t.Errorf("the space was asked again: %q", said)
	}
}

// TestTiedElsewhere: a session that is tied to another member gets nothing in memory here, and the next request asks again.
func TestTiedElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.vault.err = holdfast.ErrConflict
	d.lock(1, shelfPort, s.ID, 2, "b")
	if err := d.refusal(1, 2); !errors.Is(err, holdfast.ErrConflict) || d.shelf.held(s.ID) != 0 {
		t.Errorf("refused: %v", err)
	}
	d.vault.err = nil
	d.lock(1, shelfPort, s.ID, 3, "b")
	if got := d.decided(1, 3); !slices.Equal(got, []lock.Kind{lock.Granted}) {
		t.Errorf("got %v", got)
	}
}

// TestTiedSessionsAreNotAdopted: another member adopts a session that uses lasting spaces alone, and not one that has
// used memory, before its first request in a lasting space or after it. Without each of the two rules it renews a
// client that believes in what it has lost.
func TestTiedSessionsAreNotAdopted(t *testing.T) {
	defer mutation.Switch("")
	for _, rule := range []string{"", "a tied session ends with its member", "a session is tied before it uses memory"} {
		mutation.Switch(rule)
		for name, c := range map[string]struct {
			ports []protocol.Port
			want  error
		}{
			"lasting spaces alone": {[]protocol.Port{vaultPort, secondPort}, nil},
			"memory first":         {[]protocol.Port{shelfPort, vaultPort}, session.ErrUnknown},
			"memory last":          {[]protocol.Port{vaultPort, shelfPort}, session.ErrUnknown},
		} {
			d := newLasting(t, 7)
			s := d.open(1, session.Stream, 0)
			for i, port := range c.ports {
				if d.lock(1, port, s.ID, uint64(i+1), "a"); !slices.Equal(d.decided(1, uint64(i+1)), []lock.Kind{lock.Granted}) {
					t.Fatalf("%s: not granted", name)
				}
			}
			other := newLasting(t, 8)
			other.vault, other.second = d.vault, d.second
			other.begin(session.Config{Member: 8, Lasting: []protocol.Port{vaultPort, secondPort}}, other.shelf, other.vault, other.second)
			resume := &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{1, 2}, Last: 2}
			r := answered[*session.Renewed](other, other.call(1, protocol.Below, resume))
			found := r != nil && c.want != nil && r.Err == nil
			switch wanted := rule == "a tied session ends with its member" && c.want != nil || rule == "a session is tied before it uses memory" && name == "memory last"; {
			case found != wanted:
				t.Errorf("with rule %q switched off, %s: answered %+v", rule, name, r)
			case !found && (r == nil || !errors.Is(r.Err, c.want)):
				t.Errorf("%s: answered %+v, want %v", name, r, c.want)
			}
		}
	}
}

// TestEndSparesOtherMembers: the end of a session at a member that it is not tied to ends nothing in memory: it may
// have that through the member to which it has moved.
func TestEndSparesOtherMembers(t *testing.T) {
	d := newLasting(t, 7)
	s, tied := d.open(1, session.Stream, 0), d.open(2, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.lock(2, shelfPort, tied.ID, 1, "b")
	d.shelf.table.Acquire(d.now, &lock.Request{Session: s.ID, ID: 2, Name: "elsewhere", WaitEnd: lock.Never}, &[]lock.Decision{})
	d.at(d.now + 5*time.Second)
	if d.expired(1) == nil || d.expired(2) == nil || d.shelf.held(s.ID) != 1 || d.shelf.held(tied.ID) != 0 {
		t.Errorf("the shelf has %d and %d", d.shelf.held(s.ID), d.shelf.held(tied.ID))
	}
}

// TestDefaultOfLastingSpaces: a session whose client asks for no ttl has that of lasting spaces while it uses those
// alone, and the member's where it may have something in memory.
func TestDefaultOfLastingSpaces(t *testing.T) {
	const least, most = 2 * time.Second, 10 * time.Second
	d := newLastingWith(t, 7, session.Config{LastingTTL: most})
	renewed := func(s *session.Opened, ttl time.Duration) time.Duration {
		r := answered[*session.Renewed](d, d.renew(s, ttl))
		if r == nil || r.Err != nil {
			t.Fatalf("answered %+v", r)
		}
		return r.TTL
	}
	s := d.open(1, session.Stream, 0)
	if !s.Longer || d.open(3, session.Stream, time.Second).Longer || newLasting(t, 8).open(1, session.Stream, 0).Longer {
		t.Error("whether it gets more is not known when it opens")
	}
	if first := renewed(s, 0); s.TTL > least || first > least {
		t.Errorf("before it uses a space it has %v, then %v", s.TTL, first)
	}
	d.lock(1, vaultPort, s.ID, 1, "a")
	if ttl := renewed(s, 0); ttl != most || d.vault.enrolled[s.ID].TTL != most {
		t.Errorf("in a lasting space it has %v", ttl)
	}
	d.lock(1, shelfPort, s.ID, 2, "b")
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if ttl := renewed(s, 0); ttl > least || d.shelf.held(s.ID) != 1 {
		t.Errorf("with something in memory it has %v, and holds %d", ttl, d.shelf.held(s.ID))
	}
	d.call(1, shelfPort, &protocol.Release{Session: s.ID, Name: "b", Request: 2})
	if ttl := renewed(s, 0); ttl != most {
		t.Errorf("when it has released that it has %v", ttl)
	}
	if ttl := renewed(s, time.Second); ttl != time.Second || renewed(s, 0) != time.Second {
		t.Errorf("its client asks for 1 s, and it has %v", ttl)
	}
	named := d.open(2, session.Stream, time.Second)
	d.lock(2, vaultPort, named.ID, 1, "n")
	if ttl := renewed(named, 0); ttl != time.Second {
		t.Errorf("its client has asked for 1 s, and it has %v", ttl)
	}
}
