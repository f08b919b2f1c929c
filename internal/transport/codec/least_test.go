package codec

import (
	"math"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// TestLeast: an element of a list has at least as many bytes as the decoder counts
// on; with a larger number it would refuse lists that are right, with a smaller one it
// would make room for more than can come.
func TestLeast(t *testing.T) {
	for name, tt := range map[string]struct {
		least int
		code  func(*coder)
	}{
		"member":          {leastMember, func(c *coder) { c.member(&election.Member{}) }},
		"electorate":      {leastElectorate, func(c *coder) { c.electorate(&election.Electorate{}) }},
		"id":              {leastID, func(c *coder) { fixed(c, new(protocol.ID)) }},
		"ended":           {leastEnded, func(c *coder) { c.ended(&authority.Ended{}) }},
		"lock entry":      {leastLockEntry, func(c *coder) { c.lockEntry(&lock.Entry{}) }},
		"grant":           {leastGrant, func(c *coder) { c.grant(&lock.Grant{}) }},
		"wait":            {leastWait, func(c *coder) { c.waiter(&lock.Wait{}) }},
		"lock":            {leastLock, func(c *coder) { c.lock(&lock.Lock{}) }},
		"handover":        {leastHandover, func(c *coder) { c.handover(&protocol.Handover{}) }},
		"nominee":         {leastNominee, func(c *coder) { c.nominee(&protocol.Candidate{}) }},
		"awaited":         {leastAwaited, func(c *coder) { c.await(&protocol.Awaited{}) }},
		"place of a peer": {leastPlace, func(c *coder) { c.localPlace(&local.Place{}) }},
		"candidate":       {leastCandidate, func(c *coder) { c.candidate(&bakery.Candidate{}) }},
		"choosing":        {leastChoosing, func(c *coder) { c.choosing(&bakery.Choosing{}) }},
		"part":            {leastTicketUnits, func(c *coder) { c.ticketUnits(&bakery.TicketUnits{}) }},
		"state":           {leastState, func(c *coder) { c.state(&bakery.NameState{}) }},
		"numbered":        {leastNumbered, func(c *coder) { c.numbered(&bakery.Numbered{}) }},
		"claimed":         {leastClaimed, func(c *coder) { c.claimed(&bakery.Claimed{}) }},
		"decided":         {leastDecided, func(c *coder) { c.decision(&authority.Decided{}) }},
		"entry":           {leastEntry, func(c *coder) { c.entry(&group.Entry{}) }},
		"session":         {leastSession, func(c *coder) { c.session(&lock.SessionID{}) }},
	} {
		c := coder{writing: true}
		tt.code(&c)
		if len(c.b) != tt.least {
			t.Errorf("an empty %s has %d bytes, not %d", name, len(c.b), tt.least)
		}
	}
	least := math.MaxInt // of operations, which are written by their kind
	for k := replica.Open; k <= replica.LetIn; k++ {
		c := coder{writing: true}
		if !c.operation(&replica.Op{Kind: k}) {
			t.Fatal(c.err)
		}
		least = min(least, len(c.b))
	}
	if least != replica.LeastOp {
		t.Errorf("the shortest operation has %d bytes, not %d", least, replica.LeastOp)
	}
}
