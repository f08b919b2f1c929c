package election_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestConversations plays each testdata/*.txt: what a candidate hears, and what it
// concludes. Members are a, b, c, …; their ids are 1, 2, 3, …, their addresses a:1, …
// A member with a ? is a guest.
//
//	rules a b c [preempt] [any]                 the founders
//	view v2@7 a b c? [installed] [open] [base=v1@5:a,b,c]…
//	survey b [v2]                               b asks, and knows a view
//	answer c [v2] [well] [halted by=a] [leaving]
//	judge
//	ballot b @8 [v2] [attendance] [merge] [forced=b,c]
//	promise c [v2] [tenure=2:1] [leaving] [empty]
//	refuse d
//	count
//	newest v1 v2 …                              which is the newest, and what is known of it
func TestConversations(t *testing.T) {
	golden.Play(t, func(*testing.T) func(*golden.Line) string {
		return (&conversation{views: map[string]*election.View{}}).play
	})
}

type conversation struct {
	rules  election.Rules
	views  map[string]*election.View
	survey *election.Survey
	ballot *election.Ballot
	now    protocol.Time
}

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	switch l.Verb {
	case "rules":
		c.rules = election.Rules{Preempt: l.Flag("preempt"), Available: l.Flag("any")}
		for _, name := range l.Words() {
			c.rules.Founders = append(c.rules.Founders, name+":1")
		}
	case "view":
		word := l.Next()
		name, _, _ := strings.Cut(word, "@")
		c.views[name] = readView(l, word)
	case "survey":
		own := c.answer(l)
		c.survey = &election.Survey{Number: 1, Own: own, Polled: c.others(own.Self.ID)}
	case "answer":
		c.survey.Take(c.answer(l))
	case "judge":
		return fmt.Sprintf("%s complete=%v\n", judged(c.survey.Judge(c.rules), c.survey.Silent()), c.survey.Complete())
	case "ballot":
		c.ballot = c.call(l)
	case "promise":
		c.now += time.Millisecond
		c.ballot.Take(c.promise(l), c.now)
	case "refuse":
		c.ballot.Refuse(idOf(l.Next()))
	case "count":
		return counted(c.ballot, c.ballot.Count(c.ballot.Epoch.Candidate, c.rules))
	case "newest":
		var views []*election.View
		for _, name := range l.Words() {
			views = append(views, c.views[name])
		}
		return described(election.NewestOf(views...)) + "\n"
	default:
		l.Unknown()
	}
	return ""
}

// others are the addresses of the founders but for one.
func (c *conversation) others(but protocol.ID) (addresses []string) {
	for _, address := range c.rules.Founders {
		if idOf(address) != but {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

func idOf(name string) protocol.ID { return protocol.ID(name[0]-'a') + 1 }

func memberOf(name string) election.Member {
	plain := strings.TrimSuffix(name, "?")
	return election.Member{Member: protocol.Member{
		ID: idOf(plain), Name: plain, Address: plain + ":1", Tenure: protocol.Tenure{Incarnation: 1}, Founder: plain == name,
	}}
}

// readView reads what follows v2@7: a b c? [installed] [open] [base=v1@5:a,b]….
func readView(l *golden.Line, word string) *election.View {
	l.Helper()
	v := &election.View{Cluster: 1}
	v.Number, v.Epoch = head(l, word)
	v.Open = l.Flag("open")
	v.Installed = l.Flag("installed") || v.Open
	for base := l.Value("base"); base != ""; base = l.Value("base") {
		name, voters, _ := strings.Cut(base, ":")
		var e election.Electorate
		e.Number, e.Epoch = head(l, name)
		for _, voter := range strings.Split(voters, ",") {
			e.Voters = append(e.Voters, idOf(voter))
		}
		v.Base = append(v.Base, e)
	}
	for _, name := range l.Words() {
		v.Members = append(v.Members, memberOf(name))
	}
	return v
}

// head reads v2@7: the candidate is of no interest, but for being the same.
func head(l *golden.Line, word string) (uint64, protocol.Epoch) {
	l.Helper()
	number, counter, _ := strings.Cut(strings.TrimPrefix(word, "v"), "@")
	return l.ToNumber(number), protocol.Epoch{Counter: l.ToNumber(counter), Candidate: 1}
}

func (c *conversation) answer(l *golden.Line) election.StatusAnswer {
	l.Helper()
	a := election.StatusAnswer{Number: 1, Self: memberOf(l.Next()), Well: l.Flag("well"), Leaving: l.Flag("leaving")}
	if l.Flag("halted") {
		a.Status = election.Halted
	}
	if by := l.Value("by"); by != "" {
		a.Candidate = idOf(by)
	}
	a.View = c.view(l)
	return a
}

// view reads which view is known, if one is.
func (c *conversation) view(l *golden.Line) *election.View {
	l.Helper()
	if !l.More() {
		return nil
	}
	name := l.Next()
	if c.views[name] == nil {
		l.Wrong("there is no view %q", name)
	}
	return c.views[name]
}

func (c *conversation) call(l *golden.Line) *election.Ballot {
	l.Helper()
	candidate := idOf(l.Next())
	b := &election.Ballot{
		Epoch:      protocol.Epoch{Counter: l.ToNumber(strings.TrimPrefix(l.Next(), "@")), Candidate: candidate},
		Attendance: l.Flag("attendance"), Merge: l.Flag("merge"), Polled: c.others(candidate),
	}
	for _, name := range l.List("forced") {
		b.Forced = append(b.Forced, idOf(name))
	}
	b.View = c.view(l)
	return b
}

func (c *conversation) promise(l *golden.Line) election.Promise {
	l.Helper()
	p := election.Promise{Epoch: c.ballot.Epoch, Self: memberOf(l.Next()), Leaving: l.Flag("leaving"), Empty: l.Flag("empty")}
	if tenure := l.Value("tenure"); tenure != "" {
		if _, err := fmt.Sscanf(tenure, "%d:%d", &p.Self.Tenure.Incarnation, &p.Self.Tenure.Lapses); err != nil {
			l.Wrong("%v", err)
		}
	}
	p.Accepted = c.view(l)
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
		return text + ", needs all founders\n"
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
