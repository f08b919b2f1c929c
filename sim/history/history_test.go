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

// story writes a log: each word of it is one thing that a user sees.
type story struct {
	*Log
	at   time.Duration
	last map[string]*Acquisition
}

func newStory() *story { return &story{Log: NewLog("n"), last: map[string]*Acquisition{}} }

// ask lets a user ask for the lock, and ok lets it be told of it.
func (s *story) ask(who string, change ...func(*Request)) *story {
	request := Request{Who: who}
	for _, c := range change {
		c(&request)
	}
	s.at += time.Second
	s.last[who] = s.Ask(s.at, request)
	return s
}

// ok tells a user that it has the lock; a user that has it already still takes itself for a holder.
func (s *story) ok(who string, token holdfast.Token) *story {
	s.at += time.Second
	s.Grant(s.last[who], s.at, token)
	for _, a := range s.all {
		if a.Outcome == Granted && a.ended == forever {
			s.See(a)
		}
	}
	return s
}

func (s *story) no(who string) *story    { s.Refuse(s.last[who], s.at); return s }
func (s *story) end(who string) *story   { s.End(s.last[who], s.at, "unlock"); return s }
func (s *story) taken(who string) *story { s.Take(s.last[who], s.at); return s }

// lock is asking and being told; unlock is stopping and hearing that it was taken back.
func (s *story) lock(who string, token holdfast.Token, change ...func(*Request)) *story {
	return s.ask(who, change...).ok(who, token)
}
func (s *story) unlock(who string) *story { return s.end(who).taken(who) }

func try(w *Request)    { w.Try = true }
func shared(w *Request) { w.Mode = holdfast.ModeShared }
func as(owner string) func(*Request) {
	return func(w *Request) { w.Owner = owner }
}
func slots(units, capacity int) func(*Request) {
	return func(w *Request) { w.Mode, w.Units, w.Capacity = holdfast.ModeSlots, units, capacity }
}

// told is a history, and the promise that it breaks: "" for one without fault.
type told struct {
	promise string
	tell    func(*story)
}

func check(t *testing.T, m Model, histories map[string]told) {
	t.Helper()
	for name, h := range histories {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			h.tell(s)
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

// ofAMutex are histories that every model without owners' entries judges alike.
var ofAMutex = map[string]told{
	"one after the other": {"", func(s *story) { s.lock("a", 1).unlock("a").lock("b", 2).unlock("b") }},
	"overlap":             {"P1", func(s *story) { s.lock("a", 1).lock("b", 2) }},
	"overlap with one who ends later": {"P1", func(s *story) {
		s.lock("a", 1).lock("b", 2).unlock("a").unlock("b")
	}},
	"told while the other is still asking": {"", func(s *story) {
		s.ask("a").ask("b").ok("b", 1).unlock("b").ok("a", 2)
	}},
	"a release that nobody has made": {"P1", func(s *story) {
		s.lock("a", 1).unlock("a").lock("b", 2).lock("c", 3)
	}},
	"ended by the clock, taken back when nobody knows": {"", func(s *story) { s.lock("a", 1).end("a").lock("b", 2) }},
	"ended too late": {"P1", func(s *story) {
		s.lock("a", 1).ask("b").ok("b", 2).end("a")
	}},
	"granted to whoever has given up": {"", func(s *story) { s.ask("a").lock("b", 1).unlock("b").lock("c", 2) }},
	"refused because it is held":      {"", func(s *story) { s.lock("a", 1).ask("b", try).no("b") }},
	"refused though it is free":       {"P4", func(s *story) { s.ask("b", try).no("b") }},
	"refused when it was taken back long ago": {"P4", func(s *story) {
		s.lock("a", 1).unlock("a").ask("b", try).no("b").lock("c", 2)
	}},
	"refused while it is taken back":     {"", func(s *story) { s.lock("a", 1).end("a").ask("b", try).no("b").taken("a") }},
	"refused after waiting says nothing": {"", func(s *story) { s.ask("b").no("b") }},
	"refused when another has given up for good": {"P4", func(s *story) {
		s.ask("a").taken("a").ask("b", try).no("b")
	}},
	"refused beside one who asks":                {"", func(s *story) { s.ask("a").ask("b", try).no("b").ok("a", 1) }},
	"refused because of one whom nobody hears":   {"", func(s *story) { s.ask("a").ask("b", try).no("b") }},
	"refused before anybody has asked but later": {"P4", func(s *story) { s.ask("b", try).no("b").ask("a").ok("a", 1) }},
}

func TestMutex(t *testing.T) {
	check(t, Mutex(), ofAMutex)
	check(t, Mutex(), map[string]told{
		"tokens mean nothing":     {"", func(s *story) { s.lock("a", 9).unlock("a").lock("b", 9) }},
		"an owner cannot come in": {"P1", func(s *story) { s.lock("a", 1, as("o")).lock("b", 1, as("o")) }},
		"sharing means nothing":   {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

// ofAFence are histories about tokens.
var ofAFence = map[string]told{
	"tokens rise":       {"", func(s *story) { s.lock("a", 1).unlock("a").lock("b", 7).unlock("b").lock("a", 8) }},
	"a token goes back": {"P2", func(s *story) { s.lock("a", 9).unlock("a").lock("b", 8) }},
	"a token comes again": {"P2", func(s *story) {
		s.lock("a", 9).unlock("a").lock("b", 9)
	}},
	"a token goes back much later": {"P2", func(s *story) {
		s.lock("a", 5).unlock("a").lock("b", 9).unlock("b").lock("c", 10).unlock("c").lock("d", 6)
	}},
	"tokens tell who was first": {"", func(s *story) {
		s.ask("a").ask("b").ok("b", 2).end("b").ok("a", 3)
	}},
}

func TestFencedMutex(t *testing.T) {
	check(t, FencedMutex(), ofAMutex)
	check(t, FencedMutex(), ofAFence)
	check(t, FencedMutex(), map[string]told{
		"an owner cannot come in": {"P1", func(s *story) { s.lock("a", 1, as("o")).lock("b", 1, as("o")) }},
	})
}

// ofAnOwner are histories of named owners.
var ofAnOwner = map[string]told{
	"entered twice, left twice": {"", func(s *story) {
		s.lock("a", 1, as("o")).lock("b", 1, as("o")).unlock("a").unlock("b").lock("c", 2)
	}},
	"left once": {"P1", func(s *story) {
		s.lock("a", 1, as("o")).lock("b", 1, as("o")).unlock("a").lock("c", 2)
	}},
	"entered by another": {"P1", func(s *story) { s.lock("a", 1, as("o")).lock("b", 1, as("p")) }},
	"entered by nobody":  {"P1", func(s *story) { s.lock("a", 1, as("o")).lock("b", 1) }},
	"entered under another token": {"P2", func(s *story) {
		s.lock("a", 1, as("o")).lock("b", 2, as("o"))
	}},
	"entered again under the token of what is over": {"P2", func(s *story) {
		s.lock("a", 1, as("o")).unlock("a").lock("b", 1, as("o"))
	}},
	"entered before it was taken back": {"", func(s *story) {
		s.lock("a", 1, as("o")).ask("b", as("o")).end("a").ok("b", 1).taken("a").unlock("b").lock("c", 2)
	}},
	"kept alive by an entry that nobody has heard of": {"", func(s *story) {
		s.lock("a", 1, as("o")).ask("b", as("o")).unlock("a").lock("c", 1, as("o"))
	}},
}

func TestReentrantFencedMutex(t *testing.T) {
	for _, histories := range []map[string]told{ofAMutex, ofAFence, ofAnOwner} {
		check(t, ReentrantFencedMutex(), histories)
	}
	check(t, ReentrantFencedMutex(), map[string]told{
		"sharing means nothing": {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

func TestSharedExclusive(t *testing.T) {
	for _, histories := range []map[string]told{ofAMutex, ofAFence, ofAnOwner} {
		check(t, SharedExclusive(), histories)
	}
	check(t, SharedExclusive(), map[string]told{
		"readers beside readers": {"", func(s *story) {
			s.lock("a", 1, shared).lock("b", 2, shared).unlock("a").unlock("b").lock("c", 3)
		}},
		"a writer beside a reader":             {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2) }},
		"a reader beside a writer":             {"P1", func(s *story) { s.lock("a", 1).lock("b", 2, shared) }},
		"a writer when one of two has left":    {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2, shared).unlock("b").lock("c", 3) }},
		"two readers under one token":          {"P2", func(s *story) { s.lock("a", 1, shared).lock("b", 1, shared) }},
		"readers hear in any order":            {"", func(s *story) { s.ask("a", shared).ask("b", shared).ok("a", 2).ok("b", 1) }},
		"a reader who asks later has a lower":  {"P2", func(s *story) { s.lock("a", 2, shared).lock("b", 1, shared) }},
		"an owner enters as a writer":          {"P1", func(s *story) { s.lock("a", 1, shared, as("o")).lock("b", 1, as("o")) }},
		"an owner who shares enters":           {"", func(s *story) { s.lock("a", 1, shared, as("o")).lock("b", 1, shared, as("o")) }},
		"a reader is refused beside a reader":  {"", func(s *story) { s.lock("a", 1, shared).ask("b", shared, try).no("b") }},
		"slots are nothing that readers share": {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2, slots(1, 2)) }},
	})
}

func TestPermits(t *testing.T) {
	for _, histories := range []map[string]told{ofAMutex, ofAFence, ofAnOwner} {
		check(t, Permits(), histories)
	}
	check(t, Permits(), map[string]told{
		"as many as there are": {"", func(s *story) {
			s.lock("a", 1, slots(2, 3)).lock("b", 2, slots(1, 3)).unlock("a").lock("c", 3, slots(2, 3))
		}},
		"one too many":          {"P1", func(s *story) { s.lock("a", 1, slots(2, 3)).lock("b", 2, slots(2, 3)) }},
		"one too many of three": {"P1", func(s *story) { s.lock("a", 1, slots(1, 2)).lock("b", 2, slots(1, 2)).lock("c", 3, slots(1, 2)) }},
		"another capacity":      {"P1", func(s *story) { s.lock("a", 1, slots(1, 3)).lock("b", 2, slots(1, 4)) }},
		"another capacity when all have left": {"", func(s *story) {
			s.lock("a", 1, slots(1, 3)).unlock("a").lock("b", 2, slots(1, 4))
		}},
		"alone beside units": {"P1", func(s *story) { s.lock("a", 1, slots(1, 3)).lock("b", 2) }},
		"units come back once": {"P1", func(s *story) {
			s.lock("a", 1, slots(2, 2), as("o")).lock("b", 1, slots(2, 2), as("o")).unlock("a").lock("c", 2, slots(1, 2))
		}},
		"an owner's units count once": {"", func(s *story) {
			s.lock("a", 1, slots(2, 3), as("o")).lock("b", 1, slots(2, 3), as("o")).lock("c", 2, slots(1, 3))
		}},
		"sharing means nothing": {"P1", func(s *story) { s.lock("a", 1, shared).lock("b", 2, shared) }},
	})
}

// TestWhatIsNotDecided is told, and judged alike each time.
func TestWhatIsNotDecided(t *testing.T) {
	s := newStory()
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

// TestAHistoryCanBeRead: a line for each acquisition, and a page on which it can be seen.
func TestAHistoryCanBeRead(t *testing.T) {
	s := newStory()
	s.lock("client0.1", 7, as("job")).unlock("client0.1").ask("client1.0", try).no("client1.0").lock("client2.0", 6, slots(1, 3)).ask("x")
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
