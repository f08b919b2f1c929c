package history

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes a log: each of its methods is one observation of a user.
type script struct {
	*Log
	at   time.Duration
	last map[string]*Acquisition
}

func newScript() *script { return &script{Log: NewLog("n"), last: map[string]*Acquisition{}} }

// request makes a user ask for the lock, and ok grants it.
func (s *script) request(who string, change ...func(*Request)) *script {
	request := Request{Who: who}
	for _, c := range change {
		c(&request)
	}
	s.at += time.Second
	s.last[who] = s.Request(s.at, request)
	return s
}

// ok reports to a user that it has the lock; a user that has it already still believes it.
func (s *script) ok(who string, token holdfast.Token) *script {
	s.at += time.Second
	s.Grant(s.last[who], s.at, token)
	for _, a := range s.all {
		if a.Outcome == Granted && a.ended == forever {
			s.See(a)
		}
	}
	return s
}

func (s *script) no(who string) *script    { s.Refuse(s.last[who], s.at); return s }
func (s *script) end(who string) *script   { s.End(s.last[who], s.at, "unlock"); return s }
func (s *script) taken(who string) *script { s.Take(s.last[who], s.at); return s }

// lock is a request and its answer; unlock is the end of the belief and the report that the lock was taken back.
func (s *script) lock(who string, token holdfast.Token, change ...func(*Request)) *script {
	return s.request(who, change...).ok(who, token)
}
func (s *script) unlock(who string) *script { return s.end(who).taken(who) }

func try(w *Request)    { w.Try = true }
func shared(w *Request) { w.Mode = holdfast.ModeShared }
func as(owner string) func(*Request) {
	return func(w *Request) { w.Owner = owner }
}
func slots(units, capacity int) func(*Request) {
	return func(w *Request) { w.Mode, w.Units, w.Capacity = holdfast.ModeSlots, units, capacity }
}

// testCase is a history, and the promise that it breaks: "" for none.
type testCase struct {
	promise string
	run     func(*script)
}

func check(t *testing.T, m Model, histories map[string]testCase) {
	t.Helper()
	for name, h := range histories {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			h.run(s)
			want := Linearizable
			if h.promise != "" {
				want = Violated
			}
			if got := s.Check(m, 0); got != want {
				t.Fatalf("it is %v, want %v\n%v", got, want, s.Log)
			}
			if want == Violated {
				if got := s.Blame(m, 0); got != h.promise {
					t.Errorf("it breaks %s, want %s\n%v", got, h.promise, s.Log)
				}
			}
		})
	}
}

// ofAMutex are histories that every model without reentry judges alike.
var ofAMutex = map[string]testCase{
	"one after the other": {"", func(s *script) { s.lock("a", 1).unlock("a").lock("b", 2).unlock("b") }},
	"overlap":             {"P1", func(s *script) { s.lock("a", 1).lock("b", 2) }},
	"overlap with one who ends later": {"P1", func(s *script) {
		s.lock("a", 1).lock("b", 2).unlock("a").unlock("b")
	}},
	"granted while the other is still asking": {"", func(s *script) {
		s.request("a").request("b").ok("b", 1).unlock("b").ok("a", 2)
	}},
	"a release that no session has made": {"P1", func(s *script) {
		s.lock("a", 1).unlock("a").lock("b", 2).lock("c", 3)
	}},
	"ended by the clock, taken back when no client knows": {"", func(s *script) { s.lock("a", 1).end("a").lock("b", 2) }},
	"ended too late": {"P1", func(s *script) {
		s.lock("a", 1).request("b").ok("b", 2).end("a")
	}},
	"granted to a client that has given up": {"", func(s *script) { s.request("a").lock("b", 1).unlock("b").lock("c", 2) }},
	"refused because it is held":            {"", func(s *script) { s.lock("a", 1).request("b", try).no("b") }},
	"refused though it is free":             {"P4", func(s *script) { s.request("b", try).no("b") }},
	"refused when it was taken back long ago": {"P4", func(s *script) {
		s.lock("a", 1).unlock("a").request("b", try).no("b").lock("c", 2)
	}},
	"refused while it is taken back":     {"", func(s *script) { s.lock("a", 1).end("a").request("b", try).no("b").taken("a") }},
	"refused after waiting says nothing": {"", func(s *script) { s.request("b").no("b") }},
	"refused when another has given up for good": {"P4", func(s *script) {
		s.request("a").taken("a").request("b", try).no("b")
	}},
	"refused while another asks":               {"", func(s *script) { s.request("a").request("b", try).no("b").ok("a", 1) }},
	"refused because of one that is not heard": {"", func(s *script) { s.request("a").request("b", try).no("b") }},
	"refused before any user asks but later":   {"P4", func(s *script) { s.request("b", try).no("b").request("a").ok("a", 1) }},
}

func TestMutex(t *testing.T) {
	check(t, Mutex(), ofAMutex)
	check(t, Mutex(), map[string]testCase{
		"tokens mean nothing":     {"", func(s *script) { s.lock("a", 9).unlock("a").lock("b", 9) }},
		"an owner cannot come in": {"P1", func(s *script) { s.lock("a", 1, as("o")).lock("b", 1, as("o")) }},
		"sharing means nothing":   {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

// ofAFence are histories about tokens.
var ofAFence = map[string]testCase{
	"tokens rise":       {"", func(s *script) { s.lock("a", 1).unlock("a").lock("b", 7).unlock("b").lock("a", 8) }},
	"a token goes back": {"P2", func(s *script) { s.lock("a", 9).unlock("a").lock("b", 8) }},
	"a token comes again": {"P2", func(s *script) {
		s.lock("a", 9).unlock("a").lock("b", 9)
	}},
	"a token goes back much later": {"P2", func(s *script) {
		s.lock("a", 5).unlock("a").lock("b", 9).unlock("b").lock("c", 10).unlock("c").lock("d", 6)
	}},
	"tokens tell who was first": {"", func(s *script) {
		s.request("a").request("b").ok("b", 2).end("b").ok("a", 3)
	}},
}

func TestFencedMutex(t *testing.T) {
	check(t, FencedMutex(), ofAMutex)
	check(t, FencedMutex(), ofAFence)
	check(t, FencedMutex(), map[string]testCase{
		"an owner cannot come in": {"P1", func(s *script) { s.lock("a", 1, as("o")).lock("b", 1, as("o")) }},
	})
}

// ofAnOwner are histories of named owners.
var ofAnOwner = map[string]testCase{
	"entered twice, left twice": {"", func(s *script) {
		s.lock("a", 1, as("o")).lock("b", 1, as("o")).unlock("a").unlock("b").lock("c", 2)
	}},
	"left once": {"P1", func(s *script) {
		s.lock("a", 1, as("o")).lock("b", 1, as("o")).unlock("a").lock("c", 2)
	}},
	"entered by another":       {"P1", func(s *script) { s.lock("a", 1, as("o")).lock("b", 1, as("p")) }},
	"entered without an owner": {"P1", func(s *script) { s.lock("a", 1, as("o")).lock("b", 1) }},
	"entered under another token": {"P2", func(s *script) {
		s.lock("a", 1, as("o")).lock("b", 2, as("o"))
	}},
	"entered again under the token of what is over": {"P2", func(s *script) {
		s.lock("a", 1, as("o")).unlock("a").lock("b", 1, as("o"))
	}},
	"entered before it was taken back": {"", func(s *script) {
		s.lock("a", 1, as("o")).request("b", as("o")).end("a").ok("b", 1).taken("a").unlock("b").lock("c", 2)
	}},
	"kept alive by an entry that no client has heard of": {"", func(s *script) {
		s.lock("a", 1, as("o")).request("b", as("o")).unlock("a").lock("c", 1, as("o"))
	}},
}

func TestReentrantFencedMutex(t *testing.T) {
	for _, histories := range []map[string]testCase{ofAMutex, ofAFence, ofAnOwner} {
		check(t, ReentrantFencedMutex(), histories)
	}
	check(t, ReentrantFencedMutex(), map[string]testCase{
		"sharing means nothing": {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

func TestSharedExclusive(t *testing.T) {
	for _, histories := range []map[string]testCase{ofAMutex, ofAFence, ofAnOwner} {
		check(t, SharedExclusive(), histories)
	}
	check(t, SharedExclusive(), map[string]testCase{
		"readers among readers": {"", func(s *script) {
			s.lock("a", 1, shared).lock("b", 2, shared).unlock("a").unlock("b").lock("c", 3)
		}},
		"a writer while a reader holds":        {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2) }},
		"a reader while a writer holds":        {"P1", func(s *script) { s.lock("a", 1).lock("b", 2, shared) }},
		"a writer when one of two has left":    {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2, shared).unlock("b").lock("c", 3) }},
		"two readers under one token":          {"P2", func(s *script) { s.lock("a", 1, shared).lock("b", 1, shared) }},
		"readers hear in any order":            {"", func(s *script) { s.request("a", shared).request("b", shared).ok("a", 2).ok("b", 1) }},
		"a reader who asks later has a lower":  {"P2", func(s *script) { s.lock("a", 2, shared).lock("b", 1, shared) }},
		"an owner enters as a writer":          {"P1", func(s *script) { s.lock("a", 1, shared, as("o")).lock("b", 1, as("o")) }},
		"an owner who shares enters":           {"", func(s *script) { s.lock("a", 1, shared, as("o")).lock("b", 1, shared, as("o")) }},
		"a reader is refused among readers":    {"", func(s *script) { s.lock("a", 1, shared).request("b", shared, try).no("b") }},
		"slots are nothing that readers share": {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2, slots(1, 2)) }},
	})
}

func TestPermits(t *testing.T) {
	for _, histories := range []map[string]testCase{ofAMutex, ofAFence, ofAnOwner} {
		check(t, Permits(), histories)
	}
	check(t, Permits(), map[string]testCase{
		"as many as there are": {"", func(s *script) {
			s.lock("a", 1, slots(2, 3)).lock("b", 2, slots(1, 3)).unlock("a").lock("c", 3, slots(2, 3))
		}},
		"one too many":          {"P1", func(s *script) { s.lock("a", 1, slots(2, 3)).lock("b", 2, slots(2, 3)) }},
		"one too many of three": {"P1", func(s *script) { s.lock("a", 1, slots(1, 2)).lock("b", 2, slots(1, 2)).lock("c", 3, slots(1, 2)) }},
		"another capacity":      {"P1", func(s *script) { s.lock("a", 1, slots(1, 3)).lock("b", 2, slots(1, 4)) }},
		"another capacity when all have left": {"", func(s *script) {
			s.lock("a", 1, slots(1, 3)).unlock("a").lock("b", 2, slots(1, 4))
		}},
		"exclusive while units are held": {"P1", func(s *script) { s.lock("a", 1, slots(1, 3)).lock("b", 2) }},
		"units come back once": {"P1", func(s *script) {
			s.lock("a", 1, slots(2, 2), as("o")).lock("b", 1, slots(2, 2), as("o")).unlock("a").lock("c", 2, slots(1, 2))
		}},
		"an owner's units count once": {"", func(s *script) {
			s.lock("a", 1, slots(2, 3), as("o")).lock("b", 1, slots(2, 3), as("o")).lock("c", 2, slots(1, 3))
		}},
		"sharing means nothing": {"P1", func(s *script) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

// TestWhatIsNotDecided checks that an undecided log is reported, and that each check agrees.
func TestWhatIsNotDecided(t *testing.T) {
	s := newScript()
	s.lock("a", 1).lock("b", 2)
	for range 3 {
		if got := s.Check(FencedMutex(), 2); got != Unknown {
			t.Errorf("after two steps it is %v", got)
		}
	}
	if got := s.Check(FencedMutex(), 100); got != Violated {
		t.Errorf("after a hundred steps it is %v", got)
	}
}

// TestAHistoryCanBeRead checks the text of a history, a line for each acquisition, and its page.
func TestAHistoryCanBeRead(t *testing.T) {
	s := newScript()
	s.lock("client0.1", 7, as("job")).unlock("client0.1").request("client1.0", try).no("client1.0").lock("client2.0", 6, slots(1, 3)).request("x")
	text := s.Log.String()
	for _, want := range []string{
		`history of "n"`, "#0 client0.1 exclusive as job, asked 1s, granted 2s under token 7, ended 2s (unlock), taken back 2s",
		"#1 client1.0 exclusive at once, asked 3s, refused 3s", "#2 client2.0 slots 1/3, asked 4s, granted 5s under token 6\n", "#3 x exclusive, asked 6s, open",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	var page bytes.Buffer
	result, err := s.WriteHTML(&page, Permits(), 0)
	if err != nil || result != Violated {
		t.Fatal(result, err)
	}
	if !strings.Contains(page.String(), "#0 client0.1 ends: unlock") || !strings.Contains(page.String(), "<html") {
		t.Error("the page does not show the history")
	}
}
