package sim

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/session"
	"github.com/holdfast-locks/holdfast/storage"
)

// Universe lists what a run can hit.
type Universe struct {
	// Below and Above are the messages between the members' memberships, and between
	// their spaces.
	Below, Above []protocol.Message
}

// reached is what a machine can be stepped with, beside messages.
var reached = []struct {
	machine string
	kind    protocol.Kind
	facts   []any
}{
	{"desk", protocol.Start, []any{nil}},
	{"desk", protocol.Tick, []any{nil}},
	{"desk", protocol.Call, []any{
		&session.Open{}, &session.Resume{}, &session.Detach{}, &session.Renew{}, &session.Check{}, &session.End{},
		&session.Drain{}, &session.Hurry{}, &membership.Leave{},
	}},
	{"membership", protocol.Start, []any{nil}},
	{"membership", protocol.Tick, []any{nil}},
	{"membership", protocol.Receive, []any{storage.Saved{}, protocol.Hint{}}},
	{"membership", protocol.Call, []any{&membership.Leave{}, &membership.Force{}, &membership.Who{}}},
	{"membership", protocol.Raised, []any{&protocol.NeedHorizon{}, &protocol.Confirmed{}}},
	{"space", protocol.Start, []any{nil}},
	{"space", protocol.Raised, []any{&protocol.View{}, &protocol.Halted{}, &protocol.Lapsed{}, &protocol.Horizon{}}},
}

// reachedByLocks is what only a space that grants is stepped with.
var reachedByLocks = []any{
	&lock.Request{}, &protocol.Release{}, &protocol.Cancel{}, &protocol.Extend{}, &protocol.EndSession{},
	&protocol.CountHolds{}, &protocol.ListRequests{}, &protocol.Break{}, &protocol.Inspect{},
	&protocol.Revoke{}, &protocol.Show{}, &protocol.Scan{},
}

// losses are the ways in which a user loses a lock, but for duplicates.
var losses = []holdfast.Loss{holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged, holdfast.Broken, holdfast.MemberLost}

var kindNames = [...]string{"", "start", "tick", "receive", "call", "raised"}

func (h handler) String() string {
	if h.fact == nil {
		return h.machine + " " + kindNames[h.kind]
	}
	return fmt.Sprintf("%s %s %v", h.machine, kindNames[h.kind], h.fact)
}

// handlers lists the handlers that a run of the protocol can hit.
func (p *Protocol) handlers() (all []handler) {
	add := func(machine string, kind protocol.Kind, facts ...any) {
		for _, fact := range facts {
			all = append(all, handler{machine, kind, reflect.TypeOf(fact)})
		}
	}
	for _, r := range reached {
		add(r.machine, r.kind, r.facts...)
	}
	for _, m := range p.Universe.Below {
		add("membership", protocol.Receive, m)
	}
	for _, m := range p.Universe.Above {
		add("space", protocol.Receive, m)
	}
	if p.Locks {
		add("space", protocol.Tick, nil)
		add("space", protocol.Call, reachedByLocks...)
	}
	return all
}

// WriteCoverage prints each message, fault and handler with how often it was hit, and
// names at the end those that never were. It reports whether there is none.
func (s *Summary) WriteCoverage(out io.Writer, c *Config) (complete bool, err error) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var never []string
	row := func(sort, name string, n int) {
		_, err := fmt.Fprintf(t, "%s\t%s\t%d\n", sort, name, n)
		_ = err // told by Flush
		if n == 0 {
			never = append(never, sort+" "+name)
		}
	}
	fmt.Fprintln(t, "what\tname\thits")
	for _, f := range (c.Faults & (c.Protocol.Faults | Beyond)).All() {
		row("fault", f.String(), s.counts.faults[f])
	}
	row("run", "with guests", s.counts.guests)
	if c.Protocol.Locks {
		for _, why := range losses {
			row("loss", string(why), s.counts.losses[why])
		}
		if c.Faults.Has(Any) {
			row("loss", string(holdfast.Duplicate), s.counts.losses[holdfast.Duplicate])
		}
	}
	for _, m := range c.Protocol.Universe.Below {
		row("message", fmt.Sprintf("%T", m), s.counts.messages[message{true, reflect.TypeOf(m)}])
	}
	for _, m := range c.Protocol.Universe.Above {
		row("message", fmt.Sprintf("%T", m), s.counts.messages[message{false, reflect.TypeOf(m)}])
	}
	for _, h := range c.Protocol.handlers() {
		row("handler", h.String(), s.counts.handlers[h])
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write coverage: %w", err)
	}
	slices.Sort(never)
	line := "every one was hit"
	if len(never) > 0 {
		line = fmt.Sprintf("%d never hit: %s", len(never), strings.Join(never, "; "))
	}
	_, err = fmt.Fprintln(out, line)
	return len(never) == 0, err
}
