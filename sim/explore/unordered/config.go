package unordered

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore"
)

// Config describes an exploration.
type Config struct {
	// Protocol is the protocol of the members: one in which peers ask one another. Required; see sim.Find.
	Protocol sim.Protocol
	// Members is the number of members: 1 to 5. Zero means 3.
	Members int
	// Users is the number of users of the single name, each at a member: the first at the first, and so on. 1 to 8.
	// Zero means one for each member.
	Users int
	// Calls is how often each user locks it, one time after the other: 1 to 8. Zero means once.
	Calls int
	// Requests is the maximum number of locks of all users together. Zero leaves the limit to Calls.
	Requests int
	// Published makes members of protocol bakery send the steps of a lock one by one.
	Published bool
	// Crashes is how many members may crash, in protocol bakery: 0 or 1.
	Crashes int
	// Options are the options of the space, and the users' demand.
	explore.Options
}

// Check fills in defaults. The error names the wrong value and the allowed ones.
func (c *Config) Check() error {
	c.Members, c.Calls = cmp.Or(c.Members, 3), cmp.Or(c.Calls, 1)
	c.Users = cmp.Or(c.Users, c.Members)
	c.Requests = cmp.Or(c.Requests, c.Users*c.Calls)
	switch {
	case !ask(&c.Protocol):
		return fmt.Errorf("unordered: in protocol %q no peers ask one another; %s are allowed", c.Protocol.Name, those(ask))
	case !inTurn(&c.Protocol) && (c.Crashes != 0 || c.Published):
		return fmt.Errorf("unordered: Crashes is %d, and Published is %t; only in protocol %s is that allowed", c.Crashes, c.Published, those(inTurn))
	case c.Crashes < 0 || c.Crashes > 1:
		return fmt.Errorf("unordered: Crashes is %d; 0 and 1 are allowed", c.Crashes)
	case inTurn(&c.Protocol) && (c.Retain || c.Defer):
		return fmt.Errorf("unordered: Retain and Defer are options of a protocol in which any message may overtake any")
	case c.Members < 1 || c.Members > 5:
		return fmt.Errorf("unordered: Members is %d; 1 to 5 is allowed", c.Members)
	case c.Users < 1 || c.Users > 8 || c.Calls < 1 || c.Calls > 8:
		return fmt.Errorf("unordered: Users is %d, and Calls %d; 1 to 8 of each are allowed", c.Users, c.Calls)
	case c.Requests < 1 || c.Requests > c.Users*c.Calls:
		return fmt.Errorf("unordered: Requests is %d; 1 to %d are allowed, as often as %d users may lock the name", c.Requests, c.Users*c.Calls, c.Users)
	case c.Capacity < 0 || c.Capacity > 8 || c.Units < 0 || c.Units == 1 || c.Units > 8 || c.Capacity != 0 && c.Units != 0:
		return fmt.Errorf("unordered: Capacity is %d, and Units %d; 0 to 8 is allowed, 1 unit is not, and not both", c.Capacity, c.Units)
	}
	return nil
}

// ask reports whether peers ask one another, without a store.
func ask(p *sim.Protocol) bool { return p.Peers && !p.Stores }

// inTurn reports whether their links keep messages in order.
func inTurn(p *sim.Protocol) bool { return p.Links != nil }

// those names the protocols that meet a condition.
func those(are func(*sim.Protocol) bool) string {
	var names []string
	for _, p := range sim.Protocols() {
		if are(&p) {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, " and ")
}

// String describes the exploration in the words of the command line.
func (c *Config) String() string {
	text := fmt.Sprintf("protocol=%s unordered members=%d users=%d calls=%d asks=%d%v", c.Protocol.Name, c.Members, c.Users, c.Calls, c.Requests, &c.Options)
	if c.Published {
		text += " published"
	}
	if c.Crashes > 0 {
		text += fmt.Sprintf(" crashes=%d", c.Crashes)
	}
	return text
}

// Limits bound the cost of an exploration.
type Limits struct {
	// States is the maximum number of visited states. Zero means no limit. At the limit the exploration stops, and the
	// report says so.
	States int
	// Progress, if not nil, is called from time to time with the state of the search.
	Progress func(Report)
}

// Report is the result of an exploration.
type Report struct {
	Config      Config
	States      int
	Transitions int
	Depth       int    // of the longest run
	Stopped     string // why it ended early; otherwise ""
	Found       *Found // nil if no promise is broken
	Elapsed     time.Duration
}

// Found is a counter-example.
type Found struct {
	Promise string   // P1, P2, P4, P6, or note
	Detail  string   // the observation, in a sentence
	Path    []string // the events, from the beginning
}

// Complete reports whether every reachable state was visited, and none breaks a promise.
func (r *Report) Complete() bool { return r.Stopped == "" && r.Found == nil }

// Speed is the number of states visited per second.
func (r *Report) Speed() float64 { return float64(r.States) / max(r.Elapsed.Seconds(), 1e-9) }

// Odds bounds the probability that two states shared a digest, so that one was missed.
func (r *Report) Odds() float64 {
	n := float64(r.States)
	return n * n / math.Exp2(129)
}
