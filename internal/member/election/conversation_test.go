package election_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestConversations plays each testdata/*.txt: what a candidate hears, and what it
// concludes. Members are a, b, c, …; their ids are 1, 2, 3, …, their addresses a:1, …
// A member with a ? is a guest.
//
//	rules a b c [preempt] [any]                 the founders
//	view v2@7 a b c? [installed] [open] [base v1@5:a,b,c]…
//	survey b [v2]                               b asks, and knows a view
//	answer c [v2] [well] [halted by=a] [leaving]
//	judge
//	ballot b @8 [v2] [attendance] [merge] [forced=b,c]
//	promise c [v2] [tenure=2:1] [leaving] [empty]
//	refuse d
//	count
//	newest v1 v2 …                              which is the newest, and what is known of it
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := &conversation{views: map[string]*election.View{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var said strings.Builder
			for line := range strings.Lines(d.Input) {
				if fields := strings.Fields(line); len(fields) > 0 {
					c.say(t, fields, &said)
				}
			}
			return said.String()
		})
	})
}

type conversation struct {
	rules  election.Rules
	views  map[string]*election.View
	survey *election.Survey
	ballot *election.Ballot
	now    protocol.Time
}

func (c *conversation) say(t *testing.T, fields []string, said *strings.Builder) {
	t.Helper()
	args := fields[1:]
	switch fields[0] {
	case "rules":
		c.setRules(args)
	case "view":
		c.views[strings.Split(args[0], "@")[0]] = readView(t, args)
	case "survey":
		c.survey = &election.Survey{Number: 1, Own: c.answer(t, args)}
		for _, address := range c.rules.Founders {
			if address != args[0]+":1" {
				c.survey.Polled = append(c.survey.Polled, address)
			}
		}
	case "answer":
		c.survey.Take(c.answer(t, args))
	case "judge":
		fmt.Fprintf(said, "%s complete=%v\n", judged(c.survey.Judge(c.rules), c.survey.Silent()), c.survey.Complete())
	case "ballot":
		c.ballot = c.call(t, args)
	case "promise":
		c.now += time.Millisecond
		c.ballot.Take(c.promise(t, args), c.now)
	case "refuse":
		c.ballot.Refuse(idOf(args[0]))
	case "count":
		said.WriteString(counted(c.ballot, c.ballot.Count(c.ballot.Epoch.Candidate, c.rules)))
	case "newest":
		var views []*election.View
		for _, name := range args {
			views = append(views, c.views[name])
		}
		fmt.Fprintln(said, described(election.NewestOf(views...)))
	default:
		t.Fatalf("unknown word %q", fields[0])
	}
}

func (c *conversation) setRules(args []string) {
	c.rules = election.Rules{}
	for _, arg := range args {
		switch arg {
		case "preempt":
			c.rules.Preempt = true
		case "any":
			c.rules.Available = true
		default:
			c.rules.Founders = append(c.rules.Founders, arg+":1")
		}
	}
}

func idOf(name string) protocol.ID { return protocol.ID(name[0]-'a') + 1 }

func memberOf(name string) election.Member {
	plain := strings.TrimSuffix(name, "?")
	return election.Member{Member: protocol.Member{
		ID: idOf(plain), Name: plain, Address: plain + ":1", Tenure: protocol.Tenure{Incarnation: 1}, Founder: plain == name,
	}}
}

// readView reads v2@7 a b c? [installed] [open] [base v1@5:a,b]….
func readView(t *testing.T, args []string) *election.View {
	t.Helper()
	v := &election.View{Cluster: 1}
	v.Number, v.Epoch = head(t, args[0])
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "installed":
			v.Installed = true
		case "open":
			v.Installed, v.Open = true, true
		case "base":
			i++
			name, voters, _ := strings.Cut(args[i], ":")
			var e election.Electorate
			e.Number, e.Epoch = head(t, name)
			for _, voter := range strings.Split(voters, ",") {
				e.Voters = append(e.Voters, idOf(voter))
			}
			v.Base = append(v.Base, e)
		default:
			v.Members = append(v.Members, memberOf(args[i]))
		}
	}
	return v
}

// head reads v2@7: the candidate is of no interest, but for being the same.
func head(t *testing.T, token string) (uint64, protocol.Epoch) {
	t.Helper()
	number, counter, ok := strings.Cut(strings.TrimPrefix(token, "v"), "@")
	n, err := strconv.ParseUint(number, 10, 64)
	e, err2 := strconv.ParseUint(counter, 10, 64)
	if !ok || err != nil || err2 != nil {
		t.Fatalf("%q is no view", token)
	}
	return n, protocol.Epoch{Counter: e, Candidate: 1}
}

func (c *conversation) answer(t *testing.T, args []string) election.StatusAnswer {
	t.Helper()
	a := election.StatusAnswer{Number: 1, Self: memberOf(args[0])}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "well":
			a.Well = true
		case "halted":
			a.Status = election.Halted
		case "by":
			a.Candidate = idOf(value)
		case "leaving":
			a.Leaving = true
		default:
			a.View = c.view(t, arg)
		}
	}
	return a
}

func (c *conversation) view(t *testing.T, name string) *election.View {
	t.Helper()
	v := c.views[name]
	if v == nil {
		t.Fatalf("unknown word %q", name)
	}
	return v
}

func (c *conversation) call(t *testing.T, args []string) *election.Ballot {
	t.Helper()
	counter, err := strconv.ParseUint(strings.TrimPrefix(args[1], "@"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	b := &election.Ballot{Epoch: protocol.Epoch{Counter: counter, Candidate: idOf(args[0])}}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "attendance":
			b.Attendance = true
		case "merge":
			b.Merge = true
		case "forced":
			for _, name := range strings.Split(value, ",") {
				b.Forced = append(b.Forced, idOf(name))
			}
		default:
			b.View = c.view(t, arg)
		}
	}
	for _, address := range c.rules.Founders {
		if address != args[0]+":1" {
			b.Polled = append(b.Polled, address)
		}
	}
	return b
}

func (c *conversation) promise(t *testing.T, args []string) election.Promise {
	t.Helper()
	p := election.Promise{Epoch: c.ballot.Epoch, Self: memberOf(args[0])}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "tenure":
			if _, err := fmt.Sscanf(value, "%d:%d", &p.Self.Tenure.Incarnation, &p.Self.Tenure.Lapses); err != nil {
				t.Fatal(err)
			}
		case "leaving":
			p.Leaving = true
		case "empty":
			p.Empty = true
		default:
			p.Accepted = c.view(t, arg)
		}
	}
	return p
}

func judged(v election.Verdict, silent []string) string {
	text := [...]string{"stay", "yield", "elect"}[v.Decision]
	if v.Decision != election.Wait && v.Attendance {
		text += " by attendance"
	}
	if v.Seniors > 0 {
		text += fmt.Sprintf(" seniors=%d", v.Seniors)
	}
	if v.Well != nil {
		text += " well=" + v.Well.Self.Name
	}
	if len(silent) > 0 {
		text += fmt.Sprintf(" silent=%v", silent)
	}
	return text + " newest=" + described(v.Newest)
}

func counted(b *election.Ballot, s *election.Succession) string {
	if s == nil {
		return fmt.Sprintf("too few, complete=%v\n", b.Complete())
	}
	text := fmt.Sprintf("%s after %v", described(s.View), s.Predecessor)
	if s.Missing {
		text += ", some are missing"
	}
	if s.Merged {
		text += ", joins sides"
	}
	if s.Attendance {
		return text + ", needs everybody\n"
	}
	text += ", needs"
	for _, e := range append(s.Needs, s.View.Electorate()) {
		text += " " + electorate(e)
	}
	return text + "\n"
}

func described(v *election.View) string {
	text := v.String()
	if v == nil {
		return text
	}
	for _, e := range v.Base {
		text += " on " + electorate(e)
	}
	return text
}

func electorate(e election.Electorate) string {
	text := fmt.Sprintf("v%d@%d:", e.Number, e.Epoch.Counter)
	for _, id := range e.Voters {
		text += string(rune('a' + id - 1))
	}
	return text
}
