package local

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// queryTo returns the query to one peer.
func queryTo(t *testing.T, out protocol.Effects, peer protocol.ID) Query {
	t.Helper()
	for _, sent := range out.Sends {
		if query, is := sent.Message.(Query); is && sent.To == peer {
			return query
		}
	}
	t.Fatalf("member %d is asked nothing: %v", peer, out.Sends)
	return Query{}
}

// other is a hold of a client of member 2, which reports that it began a second ago.
func other(token holdfast.Token) lock.Lock {
	grant := lock.Grant{Session: lock.SessionID{Member: 2, Number: 1}, Token: token, Since: -time.Second, Until: protocol.Never}
	return lock.Lock{Name: "n", Holders: []lock.Grant{grant}, Token: token}
}

// TestShowAsksAll checks that the answers of all members about their own clients are combined, with the peers for which
// the requests that wait here wait.
func TestShowAsksAll(t *testing.T) {
	m := newMember(t, 3)
	m.lock(1, nil)
	m.request(1).awaits = []protocol.ID{2, 3}
	out := m.call(&protocol.Show{Name: "n"})
	query := queryTo(t, out, 2)
	if query.Kind != admin.Show || query.Name != "n" || queryTo(t, out, 3).Number != query.Number {
		t.Fatalf("asked %+v", query)
	}
	tag := m.standing.Tag()
	m.receive(2, Answer{tag, admin.Answer{Number: query.Number, Locks: []lock.Lock{other(8)}}})
	shown := results[*lock.Lock](m.receive(3, Answer{tag, admin.Answer{Number: query.Number}}))
	if len(shown) != 1 || len(shown[0].Holders) != 1 || shown[0].Holders[0].Since != m.now-time.Second {
		t.Fatalf("shown %+v", shown)
	}
	if w := shown[0].Waiters; len(w) != 1 || !slices.Equal(w[0].For, []uint64{2, 3}) {
		t.Errorf("waiters %+v", w)
	}
}

// TestPeersAreAnswered checks that answers cover only this member's clients, with relative times.
func TestPeersAreAnswered(t *testing.T) {
	m := newMember(t, 2)
	m.lock(1, nil)
	m.permit(1, 7)
	m.lock(2, nil)
	m.request(2).awaits = []protocol.ID{2}
	m.pass(3 * time.Second)
	tag := m.standing.Tag()
	answer := func(asked admin.Query) Answer {
		t.Helper()
		asked.Number = 5
		query := Query{tag, asked}
		out := m.receive(2, query)
		if len(out.Sends) != 1 || out.Sends[0].To != 2 {
			t.Fatalf("%v: sent %v", query, out.Sends)
		}
		return out.Sends[0].Message.(Answer)
	}
	if a := answer(admin.Query{Kind: admin.Show, Name: "n"}); len(a.Locks) != 1 || a.Locks[0].Holders[0].Since != -3*time.Second || a.Number != 5 || a.Tag != tag {
		t.Errorf("shown %+v", a)
	}
	if a := answer(admin.Query{Kind: admin.Scan, Limit: 9}); len(a.Locks) != 1 || a.Locks[0].Name != "n" || len(a.Locks[0].Holders) != 1 || a.Next != "" {
		t.Errorf("listed %+v", a)
	}
	want := protocol.Condition{Until: protocol.Never, Locks: 1, Waiters: 1, Sessions: 1, Awaited: []protocol.Awaited{{Member: 1, Reply: 2, Requests: 1}}}
	if a := answer(admin.Query{Kind: admin.Inspect}); !reflect.DeepEqual(a.Condition, want) {
		t.Errorf("counted %+v, want %+v", a.Condition, want)
	}
	if a := answer(admin.Query{Kind: admin.Break, Name: "n", Token: 6}); len(a.Grants) != 0 {
		t.Errorf("broken under another token: %+v", a.Grants)
	}
	if a := answer(admin.Query{Kind: admin.Break, Name: "n", Token: 7, Reason: "stuck"}); len(a.Grants) != 1 {
		t.Errorf("broken %+v", a.Grants)
	}
}

// TestMalformedQueries checks that malformed queries are noted, and not answered.
func TestMalformedQueries(t *testing.T) {
	m := newMember(t, 2)
	for name, query := range map[string]admin.Query{
		"no kind":         {},
		"an unknown kind": {Kind: admin.LastKind + 1},
		"a negative skip": {Kind: admin.Show, Skip: -1},
	} {
		out := m.receive(2, Query{m.standing.Tag(), query})
		if len(out.Sends)+len(out.Replies) != 0 || len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0].String(), "ignored ") {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestAnswersAreChecked checks that an operator gets one answer to its question regardless of the peers' answers:
// copies and parts that were not requested are skipped.
func TestAnswersAreChecked(t *testing.T) {
	m := newMember(t, 3)
	m.lock(1, func(q *lock.Request) { q.Mode, q.Units, q.Capacity = holdfast.ModeSlots, 2, 3 })
	m.permit(1, 7)
	m.call(&protocol.Show{Name: "n"})
	tag := m.standing.Tag()
	stolen := lock.Grant{Session: lock.SessionID{Member: 2, Number: 1}, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2}}, Token: 9}
	for _, answer := range []admin.Answer{
		{Number: 1, Skip: 7},
		{Number: 1, Skip: -1, More: -1},
		{Number: 2},
		{Number: 1, Locks: []lock.Lock{{Name: "Q"}, {Name: "n", Shape: holdfast.Shape{Capacity: 3}, Holders: []lock.Grant{stolen}}}, More: -3},
		{Number: 1},
	} {
		if out := m.receive(2, Answer{tag, answer}); len(out.Sends)+len(out.Replies) != 0 {
			t.Errorf("%+v: sent %v, replied %v", answer, out.Sends, out.Replies)
		}
	}
	shown := results[*lock.Lock](m.receive(3, Answer{tag, admin.Answer{Number: 1}}))
	if len(shown) != 1 || shown[0].Name != "n" || len(shown[0].Holders) != 1 || shown[0].Units > 3 {
		t.Errorf("shown %+v", shown)
	}
	if out := m.receive(3, Answer{tag, admin.Answer{Number: 1}}); len(out.Replies) != 0 || !m.survey.Empty() {
		t.Errorf("a copy is answered %v", out.Replies)
	}
}

// TestPartsAreRequested checks that an answer with more to come is followed by a query for it.
func TestPartsAreRequested(t *testing.T) {
	m := newMember(t, 2)
	query := queryTo(t, m.call(&protocol.Show{Name: "n"}), 2)
	again := queryTo(t, m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number, Locks: []lock.Lock{other(8)}, More: 1}}), 2)
	if again.Skip != 1 || again.Number != query.Number {
		t.Fatalf("asked %+v", again)
	}
	if out := m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number}}); len(out.Replies) != 0 {
		t.Error("a copy of the first part ends it")
	}
	if shown := results[*lock.Lock](m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number, Skip: 1}})); len(shown) != 1 {
		t.Errorf("shown %+v", shown)
	}
}

// TestManyWaitersAreShownInParts checks that one answer has at most 256 waiters, and that none appears twice.
func TestManyWaitersAreShownInParts(t *testing.T) {
	m := newMember(t, 2)
	for id := range uint64(maxListed + 2) {
		m.lock(id+1, nil)
	}
	query := Query{m.standing.Tag(), admin.Query{Number: 1, Kind: admin.Show, Name: "n"}}
	first := m.receive(2, query).Sends[0].Message.(Answer)
	query.Skip = first.More
	rest := m.receive(2, query).Sends[0].Message.(Answer)
	if len(first.Locks[0].Waiters) != maxListed || first.More != maxListed || len(rest.Locks[0].Waiters) != 2 || rest.More != 0 {
		t.Errorf("%d and %d waiters, more from %d and %d", len(first.Locks[0].Waiters), len(rest.Locks[0].Waiters), first.More, rest.More)
	}
	if out := m.call(&protocol.Show{Name: "n"}); queryTo(t, out, 2).Skip != 0 {
		t.Errorf("asked %v", out.Sends)
	}
}

// named is a lock of another member's client.
func named(name string, token holdfast.Token) lock.Lock {
	l := other(token)
	l.Name = name
	return l
}

// TestListingsAskAllAtOnce checks that a page has the answers of all members, in the order of the names, as far as all
// have answered, and that a name at two members is listed once.
func TestListingsAskAllAtOnce(t *testing.T) {
	m := newMember(t, 3)
	m.lock(1, nil)
	m.permit(1, 7)
	out := m.call(&protocol.Scan{Limit: 10, Prefix: ""})
	about := queryTo(t, out, 2)
	if about.Kind != admin.Scan || about.Name != "" || about.Limit != 10 || len(out.Sends) != 2 {
		t.Fatalf("asked %+v of %d members", about, len(out.Sends))
	}
	// Member 2 has more behind "q"; member 3 has answered all.
	second := Answer{about.Tag, admin.Answer{Number: about.Number, Locks: []lock.Lock{other(6), named("o", 8), named("q", 9)}, Next: "q"}}
	if out := m.receive(2, second); len(out.Replies) != 0 {
		t.Fatalf("replied %v before all have answered", out.Replies)
	}
	third := Answer{about.Tag, admin.Answer{Number: about.Number, Locks: []lock.Lock{named("a", 3), named("p", 4), named("z", 5)}}}
	page := results[*protocol.Scanned](m.receive(3, third))
	if len(page) != 1 || namesOf(page[0]) != "a n o p q" || page[0].Next != "q" {
		t.Fatalf("listed %+v", page)
	}
	about = queryTo(t, m.call(&protocol.Scan{Limit: 10, After: "q"}), 2)
	if about.Name != "q" {
		t.Fatalf("asked %+v", about)
	}
	m.receive(2, Answer{about.Tag, admin.Answer{Number: about.Number, Locks: []lock.Lock{named("r", 9)}}})
	page = results[*protocol.Scanned](m.receive(3, Answer{about.Tag, admin.Answer{Number: about.Number, Locks: []lock.Lock{named("z", 5)}}}))
	if len(page) != 1 || namesOf(page[0]) != "r z" || page[0].Next != "" {
		t.Errorf("listed %+v", page)
	}
}

func namesOf(page *protocol.Scanned) string {
	var names []string
	for _, l := range page.Locks {
		names = append(names, l.Name)
	}
	return strings.Join(names, " ")
}

// TestPagesEnd checks that a page has no more names than requested, regardless of the members' answers, and that an
// answer to another question, or one that continues where it began, changes nothing.
func TestPagesEnd(t *testing.T) {
	m := newMember(t, 2)
	about := queryTo(t, m.call(&protocol.Scan{Limit: 2, After: "c", Prefix: "x"}), 2)
	listed := []lock.Lock{named("a", 1), named("x1", 2), named("x2", 3), named("x3", 4), named("y", 5), {Name: "x0"}}
	page := results[*protocol.Scanned](m.receive(2, Answer{about.Tag, admin.Answer{Number: about.Number, Locks: listed, Next: "b"}}))
	if len(page) != 1 || namesOf(page[0]) != "x1 x2" || page[0].Next != "x2" {
		t.Errorf("listed %+v", page)
	}
}

// TestCrowdedNamesAreListedWhole checks that a name with more waiters than fit one answer is queried separately.
func TestCrowdedNamesAreListedWhole(t *testing.T) {
	m := newMember(t, 2)
	for id := range uint64(maxListed + 2) {
		m.lock(id+1, nil)
	}
	query := Query{m.standing.Tag(), admin.Query{Number: 1, Kind: admin.Scan, Limit: 10}}
	first := m.receive(2, query).Sends[0].Message.(Answer)
	if len(first.Locks) != 1 || first.More != maxListed || first.Next != "" {
		t.Fatalf("answered %d names, more from %d, next %q", len(first.Locks), first.More, first.Next)
	}
	about := queryTo(t, m.call(&protocol.Scan{Limit: 10}), 2)
	again := queryTo(t, m.receive(2, Answer{about.Tag, admin.Answer{Number: about.Number, Locks: []lock.Lock{named("n", 8)}, More: 1, Next: "n"}}), 2)
	if again.Kind != admin.Show || again.Name != "n" || again.Skip != 1 {
		t.Fatalf("asked %+v", again)
	}
	page := results[*protocol.Scanned](m.receive(2, Answer{about.Tag, admin.Answer{Number: about.Number, Skip: 1}}))
	if len(page) != 1 || namesOf(page[0]) != "n" || len(page[0].Locks[0].Waiters) != maxListed+2 || page[0].Next != "n" {
		t.Errorf("listed %d pages, next %q", len(page), page[0].Next)
	}
}

// TestBreaksAreDoneOnce checks that breaks are executed once, though every view asks again, and answered with the
// broken locks of each member.
func TestBreaksAreDoneOnce(t *testing.T) {
	m := newMember(t, 3)
	grant := lock.Grant{Session: lock.SessionID{Member: 2, Number: 1}, Token: 7}
	query := queryTo(t, m.call(&protocol.Break{Name: "n", Token: 7, Reason: "stuck"}), 2)
	if query.Kind != admin.Break || query.Token != 7 || query.Reason != "stuck" {
		t.Fatalf("asked %+v", query)
	}
	m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number, Grants: []lock.Grant{grant}}})
	again := queryTo(t, m.view(2, 2), 2)
	if again.View != 2 {
		t.Fatalf("asked again %+v", again)
	}
	if out := m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number}}); len(out.Replies) != 0 {
		t.Fatalf("an answer under the view before ends it: %+v", out.Replies)
	}
	broken := results[*protocol.Broken](m.receive(2, Answer{again.Tag, admin.Answer{Number: again.Number, Grants: []lock.Grant{grant}}}))
	if len(broken) != 1 || len(broken[0].Grants) != 1 || broken[0].Err != nil {
		t.Errorf("broken %+v", broken)
	}
	query = queryTo(t, m.call(&protocol.Break{Name: "n", Token: 9}), 2)
	broken = results[*protocol.Broken](m.receive(2, Answer{query.Tag, admin.Answer{Number: query.Number}}))
	if len(broken) != 1 || !errors.Is(broken[0].Err, holdfast.ErrNotHeld) {
		t.Errorf("broken %+v", broken)
	}
}

// TestSilentMembersAreGivenUp checks that silent members are given up after another query, and named if requested.
func TestSilentMembersAreGivenUp(t *testing.T) {
	m := newMember(t, 2)
	m.call(&protocol.Inspect{})
	m.call(&protocol.Show{Name: "n"})
	if at := m.survey.Wake(); at != m.now+time.Second {
		t.Errorf("it wakes at %v", at)
	}
	if out := m.pass(time.Second); len(out.Sends) != 2 || len(out.Replies) != 0 {
		t.Errorf("asked again %+v", out)
	}
	about := results[*protocol.Condition](m.pass(3 * time.Second))
	if len(about) != 1 || about[0].State != protocol.Recovering || about[0].Why != "b does not answer" {
		t.Errorf("answered %+v", about)
	}
	got := results[*protocol.Unanswered](m.pass(16 * time.Second))
	if len(got) != 1 || !errors.Is(got[0].Err, holdfast.ErrUnavailable) || !m.survey.Empty() {
		t.Errorf("answered %+v", got)
	}
	m.call(&protocol.Break{Name: "n"})
	m.standing.Leave()
	ended := results[*protocol.Broken](m.step(func(out *protocol.Effects) { m.survey.End(m.now, out) }))
	if len(ended) != 1 || !errors.Is(ended[0].Err, holdfast.ErrUnavailable) {
		t.Errorf("answered %+v", ended)
	}
	if got := results[*protocol.Unanswered](m.call(&protocol.Show{Name: "n"})); len(got) != 1 {
		t.Errorf("who is in no view tells %+v", got)
	}
}

// TestOperatorsAreBounded checks the bound on calls that wait for a silent member.
func TestOperatorsAreBounded(t *testing.T) {
	m := newMember(t, 2)
	for range 3 {
		if out := m.call(&protocol.Show{Name: "a"}); len(out.Replies) != 0 {
			t.Fatalf("answered at once: %+v", out.Replies)
		}
	}
	got := results[*protocol.Unanswered](m.call(&protocol.Show{Name: "a"}))
	var limit *holdfast.LimitError
	if len(got) != 1 || !errors.As(got[0].Err, &limit) || limit.Limit != "operators" || limit.Value != 3 {
		t.Errorf("the fourth gets %+v", got)
	}
	if alone := newMember(t, 1); len(alone.call(&protocol.Show{Name: "a"}).Replies) != 1 {
		t.Error("who is alone waits for others")
	}
}

// TestNamesInGraceAreShown checks that names in their grace are listed with those in the table, in the order of their
// names, in whole pages, and counted once.
func TestNamesInGraceAreShown(t *testing.T) {
	m := newMember(t, 1)
	m.lock(1, func(q *lock.Request) { q.Name, q.Mode, q.Units, q.Capacity = "d", holdfast.ModeSlots, 1, 2 })
	m.permit(1, 7)
	of := func(name string, token holdfast.Token, mode holdfast.Mode) Grace {
		return Grace{Name: name, Grant: lock.Grant{Token: token, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}}, Until: m.now + time.Minute, Holds: 1, Grace: true}}
	}
	m.kept = []Grace{of("e", 4, 0), of("d", 3, holdfast.ModeSlots), of("b", 2, 0), of("a", 1, 0), of("x", 9, 0)}
	show := func(name string) string {
		return tokensOf(*m.call(&protocol.Show{Name: name}).Replies[0].Result.(*lock.Lock))
	}
	for name, want := range map[string]string{"a": "a 1g", "d": "d 3g 7", "c": "c", "x": "x 9g"} {
		if got := show(name); got != want {
			t.Errorf("shown is %q, want %q", got, want)
		}
	}
	broken := func(name string, token holdfast.Token) error {
		return m.call(&protocol.Break{Name: name, Token: token}).Replies[0].Result.(*protocol.Broken).Err
	}
	var by *lock.HeldBy
	if err := broken("e", 0); !errors.As(err, &by) || !by.Grace || by.Left != time.Minute {
		t.Errorf("a name in its grace is not broken because of %v", err)
	}
	for name, token := range map[string]holdfast.Token{"e": 5, "c": 0} {
		if err := broken(name, token); !errors.Is(err, holdfast.ErrNotHeld) || errors.As(err, &by) {
			t.Errorf("%s of token %d is not broken because of %v", name, token, err)
		}
	}
	for limit, want := range map[int][]string{
		1: {"a 1g", "b 2g", "d 3g 7", "e 4g", "x 9g"}, 2: {"a 1g, b 2g", "d 3g 7, e 4g", "x 9g"}, 9: {"a 1g, b 2g, d 3g 7, e 4g, x 9g"},
	} {
		var pages []string
		for after := ""; ; {
			page := m.call(&protocol.Scan{After: after, Limit: limit}).Replies[0].Result.(*protocol.Scanned)
			var names []string
			for _, l := range page.Locks {
				names = append(names, tokensOf(l))
			}
			if pages = append(pages, strings.Join(names, ", ")); page.Next == "" {
				break
			}
			after = page.Next
		}
		if !slices.Equal(pages, want) {
			t.Errorf("pages of %d are %q, want %q", limit, pages, want)
		}
	}
	if page := m.call(&protocol.Scan{Prefix: "d", Limit: 9}).Replies[0].Result.(*protocol.Scanned); len(page.Locks) != 1 {
		t.Errorf("names with the prefix are %v", page.Locks)
	}
	if counts := m.clients.Counts(m.now); counts.Locks != 5 {
		t.Errorf("%d names are taken, want 5", counts.Locks)
	}
	m.kept = nil
	for i := range 2 * maxListed {
		m.kept = append(m.kept, of(fmt.Sprintf("n%03d", i), 1, 0))
	}
	answer := admin.Read(m.now, m.survey.members, &admin.Query{Kind: admin.Scan, Limit: maxListed}, maxListed, nil)
	if n := len(answer.Locks); n != maxListed || answer.Next != answer.Locks[n-1].Name {
		t.Errorf("%d names are listed up to %q, want %d", n, answer.Next, maxListed)
	}
}

// tokensOf is a name and the tokens of its holders, with a g for those in their grace.
func tokensOf(l lock.Lock) string {
	text := l.Name
	for _, g := range l.Holders {
		text += fmt.Sprintf(" %d", g.Token)
		if g.Grace {
			text += "g"
		}
	}
	return text
}
