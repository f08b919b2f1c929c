package host

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
)

// TestNotesOfSpacesAreLogged: each note that concerns operators is a line of the log with what it is about, and one that says
// that a space grants nothing is kept as its fault.
func TestNotesOfSpacesAreLogged(t *testing.T) {
	trouble := errors.New("the store is gone")
	for want, note := range map[string]protocol.Logged{
		`level=WARN msg="a lock was broken by an operator" name=orders token=7 reason=stuck`:                     protocol.Broke{Name: "orders", Token: 7, Reason: "stuck"},
		`level=WARN msg="a suspension was ended by an operator" name="` + lock.SpaceLock + `" token=0 reason=ok`: protocol.Broke{Name: lock.SpaceLock, Reason: "ok"},
		`level=INFO msg="another member locks most: it is asked to become the grantor" member=m2 its_locks=20 own_locks=3 in=10s saves=40 costs=6`: grantor.Placing{
			To: 2, Theirs: 20, Own: 3, Window: 10 * time.Second, Saves: 40, Costs: 6,
		},
		`level=INFO msg="the member that locks most has refused to become the grantor, or was not heard in time" member=m2`:      grantor.Staying{To: 2},
		`level=WARN msg="the claim of \"orders\" cannot be renewed: the store is gone"`:                                          claim.Unrenewed{Name: "orders", Err: trouble},
		`level=WARN msg="an operator broke the lock \"orders\" in the store"`:                                                    claim.Broke{Name: "orders"},
		`level=WARN msg="3 claims of \"orders\" are left in the store: the store is gone"`:                                       claim.Left{Name: "orders", Claims: 3, Err: trouble},
		`level=ERROR msg="nothing can be locked in a space of protocol claim" group=g error="the store is gone"`:                 claim.Refused{Group: "g", Err: trouble},
		`level=ERROR msg="this member's part in a space of protocol consensus has ended" error="the store is gone"`:              consensus.Failed{Err: trouble},
		`level=INFO msg="another member is to lead a shard: it is handed over" space=jobs shard=2 member=m3`:                     consensus.Spread{Space: "jobs", Shard: 2, To: "m3"},
		`the others go on without its vote" space=jobs shard=1 member=m3 silent=1h0m0s votes_instead=m4`:                         consensus.Retired{Space: "jobs", Shard: 1, Member: "m3", By: "m4", Silent: time.Hour},
		`the others cannot go on without its vote: there are too few" space=jobs shard=1 member=m3 silent=1h0m0s`:                consensus.VoteKept{Space: "jobs", Shard: 1, Member: "m3", Silent: time.Hour, Why: "there are too few"},
		`raise it on all members" space=jobs shard=0 round_trip=400ms silent=1.6s usual=1s lease=3s`:                             consensus.Slow{Space: "jobs", Trip: 400 * time.Millisecond, Election: 1600 * time.Millisecond, Configured: time.Second, Lease: 3 * time.Second},
		`level=WARN msg="a member leads a shard and has no place in the view: this one asks it to hand over" space=jobs shard=0`: consensus.Relieved{Space: "jobs", From: "m3"},
	} {
		var log bytes.Buffer
		n := &Member{
			logger: slog.New(slog.NewTextHandler(&log, nil)), faults: map[string]error{}, changed: make(chan struct{}),
			view: &protocol.View{Members: []protocol.Member{{ID: 2, Name: "m2"}}},
		}
		n.noteSpace(note)
		if line := log.String(); !strings.Contains(line, want) || strings.Count(line, "\n") != 1 {
			t.Errorf("%T is logged as\n%swant\n%s", note, line, want)
		}
		if _, refused := note.(claim.Refused); refused != errors.Is(n.faults["g"], trouble) {
			t.Errorf("%T: the faults are %v", note, n.faults)
		}
	}
}
