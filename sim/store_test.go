package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/simtest"
	"github.com/holdfast-locks/holdfast/storage"
)

// inquirer is a space that passes calls to the store as requests, and keeps the answers.
type inquirer struct {
	bystander
	answers []protocol.Message
	at      []protocol.Time
}

func (p *inquirer) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *storage.Mutate:
		out.Send(protocol.Storage, *fact)
	case *storage.Slice:
		out.Send(protocol.Storage, *fact)
	case storage.Mutated:
		p.answers, p.at = append(p.answers, fact), append(p.at, now)
	case storage.Sliced:
		p.answers, p.at = append(p.answers, fact), append(p.at, now)
	default:
		p.bystander.Step(now, ev, out)
	}
}

// probed is a protocol of inquirers, which are listed as they start.
func probed(probes *[]*inquirer) Protocol {
	d := simtest.Describe("probed", func(*protocol.Setup) protocol.Machine {
		p := &inquirer{}
		*probes = append(*probes, p)
		return p
	})
	d.Stores = true
	p := Of(d)
	p.Locks = false
	return p
}

// staged is a world of one inquirer and a store, with these lines of a script.
func staged(t *testing.T, lines ...string) (*world, *[]*inquirer) {
	t.Helper()
	var choices []Choice
	for _, line := range lines {
		c, err := parseChoice(line)
		if err != nil {
			t.Fatal(err)
		}
		choices = append(choices, c)
	}
	probes := &[]*inquirer{}
	c := Config{Protocol: probed(probes), Members: 1}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, nil, newCounts(true))
	w.tape, w.weather, w.clients = newReplay(choices), calm(), nil
	w.members[0].start()
	w.run(time.Second)
	return w, probes
}

// inquire makes the inquirer send a request to the store.
func inquire(w *world, fact any) {
	m := w.members[0]
	m.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: protocol.CallID{Sink: 99, Op: 1}, Fact: fact})
}

func shown(w *world) string { return w.store.table.columns(storage.Slice{Key: "k"}, w.now) }

// TestWhatAnErrorLeaves checks that a refused request leaves nothing, and that one with an unknown outcome leaves
// nothing, everything, or everything later; a script can select each.
func TestWhatAnErrorLeaves(t *testing.T) {
	for _, c := range []struct {
		lines       []string
		slow        bool
		err         error
		answered    time.Duration
		soon, later string
	}{
		{nil, false, nil, 2 * time.Millisecond, "a=1", "a=1"},
		{[]string{"reaches 7ms", "answers 8ms"}, false, nil, 15 * time.Millisecond, "a=1", "a=1"},
		{[]string{"late 8s", "tardy 2s"}, false, nil, 2 * time.Millisecond, "a=1", "a=1"},
		{[]string{"late 8s"}, true, nil, 8*time.Second + 2*time.Millisecond, "", "a=1"},
		{[]string{"tardy 8s"}, true, nil, 8*time.Second + 2*time.Millisecond, "a=1", "a=1"},
		{[]string{"fails yes"}, false, storage.ErrRefused, 2 * time.Millisecond, "", ""},
		{[]string{"fails yes", "how never"}, false, storage.ErrUnknown, 2 * time.Millisecond, "", ""},
		{[]string{"fails yes", "how done"}, false, storage.ErrUnknown, 2 * time.Millisecond, "a=1", "a=1"},
		{[]string{"fails yes", "how later", "after 8s"}, false, storage.ErrUnknown, 2 * time.Millisecond, "", "a=1"},
	} {
		var lines []string
		for _, line := range c.lines {
			lines = append(lines, "a→store Mutate#1 "+line)
		}
		w, probes := staged(t, lines...)
		if c.slow {
			w.store.slow = w.now + 1
		}
		began := w.now
		sentAt := w.members[0].now()
		inquire(w, put(1, "a=1"))
		w.run(began + time.Second)
		soon := shown(w)
		w.run(began + 20*time.Second)
		p := (*probes)[0]
		if len(p.answers) != 1 {
			t.Fatalf("%q: answered %d times", c.lines, len(p.answers))
		}
		err := p.answers[0].(storage.Mutated).Err
		if took := p.at[0] - sentAt; !errors.Is(err, c.err) || took != c.answered {
			t.Errorf("%q: %v after %v; want %v after %v", c.lines, err, took, c.err, c.answered)
		}
		if soon != c.soon || shown(w) != c.later {
			t.Errorf("%q: %q after 1s, %q at the end; want %q, %q", c.lines, soon, shown(w), c.soon, c.later)
		}
		if hits := w.count.faults; hits[StoreSlow] != once(c.slow) || hits[StoreFail] != once(c.err != nil) {
			t.Errorf("%q: %d times slow, %d failures", c.lines, hits[StoreSlow], hits[StoreFail])
		}
	}
}

func once(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestReadsFailToo checks that failed reads have no effect, and that a script with an impossible failure of a read gets
// an error.
func TestReadsFailToo(t *testing.T) {
	w, probes := staged(t, "a→store Slice#2 fails yes", "a→store Slice#3 fails yes", "a→store Slice#3 how never", "a→store Slice#4 fails yes", "a→store Slice#4 how done")
	inquire(w, put(1, "a=1"))
	w.run(w.now + time.Second)
	for id := range uint64(4) {
		inquire(w, &storage.Slice{ID: id, Key: "k"})
		w.run(w.now + time.Second)
	}
	var got []string
	for _, answer := range (*probes)[0].answers[1:] {
		sliced := answer.(storage.Sliced)
		got = append(got, fmt.Sprint(sliced.ID, len(sliced.Entries), errors.Is(sliced.Err, storage.ErrRefused), errors.Is(sliced.Err, storage.ErrUnknown)))
	}
	if want := []string{"0 1 false false", "1 0 true false", "2 0 false true", "3 0 true false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if wrong := w.tape.wrong[4]; wrong != "one of refused, never is allowed" {
		t.Errorf("a read that is done nevertheless: %q", wrong)
	}
}

// TestWhatWasSentLands checks that a request takes effect though its sender has crashed, and that its next life does
// not get the answer.
func TestWhatWasSentLands(t *testing.T) {
	w, probes := staged(t, "a→store Mutate#1 late 3s")
	m := w.members[0]
	w.store.slow = w.now + 1
	inquire(w, put(1, "a=1"))
	w.run(w.now + time.Second)
	m.crash(m.life)
	m.start()
	w.run(w.now + time.Second)
	if shown(w) != "" {
		t.Error("it has landed early")
	}
	w.run(w.now + 2*time.Second)
	if shown(w) != "a=1" || len(*probes) != 2 || len((*probes)[0].answers)+len((*probes)[1].answers) != 0 {
		t.Errorf("%q is there; %d lives", shown(w), len(*probes))
	}
}

// TestThePausedHearLater checks that a paused member gets its answers when it wakes.
func TestThePausedHearLater(t *testing.T) {
	w, probes := staged(t)
	m := w.members[0]
	inquire(w, put(1, "a=1"))
	m.pause(5 * time.Second)
	w.run(w.now + 4*time.Second)
	p := (*probes)[0]
	if len(p.answers) != 0 || shown(w) != "a=1" {
		t.Errorf("%d answers, %q is there", len(p.answers), shown(w))
	}
	w.run(w.now + 2*time.Second)
	if len(p.answers) != 1 {
		t.Errorf("%d answers after it woke", len(p.answers))
	}
}

// TestWhatNoStoreTakes checks that the answer to a wrong request has the allowed values.
func TestWhatNoStoreTakes(t *testing.T) {
	w, probes := staged(t)
	inquire(w, &storage.Mutate{Key: "k"})
	inquire(w, &storage.Slice{})
	w.run(w.now + time.Second)
	answers := (*probes)[0].answers
	if len(answers) != 2 {
		t.Fatalf("%d answers", len(answers))
	}
	for _, answer := range answers {
		if !strings.Contains(answer.String(), "allowed") && !strings.Contains(answer.String(), "name at least one column") {
			t.Error(answer)
		}
	}
}

// TestTTLs checks that ttls are whole seconds, and may end early.
func TestTTLs(t *testing.T) {
	w, _ := staged(t, "a→store Mutate#2 early 900ms")
	for _, key := range []string{"k", "early"} {
		m := put(1, "a=1")
		m.Key, m.TTL = key, 1500*time.Millisecond
		inquire(w, m)
	}
	w.run(w.now + time.Second + 200*time.Millisecond)
	early := w.store.table.columns(storage.Slice{Key: "early"}, w.now)
	late := shown(w)
	w.run(w.now + 900*time.Millisecond)
	if early != "" || late != "a=1" || shown(w) != "" {
		t.Errorf("of a ttl of 1.5s %q is there after 1.2s, if it ends early, and %q if not; after 2.1s %q", early, late, shown(w))
	}
}

// TestNoStoreUndeclared checks that a protocol that uses a store must declare it, since its profile would be wrong
// otherwise.
func TestNoStoreUndeclared(t *testing.T) {
	for _, c := range []struct {
		what any
		says string
	}{
		{storage.Slice{Key: "k"}, "a asks a store (slice #0 \"k\"), and protocol odd says of none; its Protocol needs Stores"},
		{storage.Saved{}, "a asks a store (saved #0), and protocol odd says of none; its Protocol needs Stores"},
	} {
		result := odd(t, c.what, false)
		if result.Outcome != Crashed || !strings.Contains(result.Violation.Detail, c.says) {
			t.Errorf("%v %v; want %q", result.Outcome, result.Violation, c.says)
		}
	}
	if result := odd(t, storage.Saved{}, true); result.Outcome != Crashed || !strings.Contains(result.Violation.Detail, "a sends storage.Saved to its storage, which takes ") {
		t.Errorf("%v %v", result.Outcome, result.Violation)
	}
}

// odd runs a protocol that sends a message to its storage when it starts.
func odd(t *testing.T, what any, stores bool) Result {
	t.Helper()
	d := simtest.Describe("odd", func(*protocol.Setup) protocol.Machine { return &sender{message: what.(protocol.Message)} })
	d.Stores = stores
	p := Of(d)
	p.Locks = false
	result, err := Run(Config{Protocol: p, Members: 1, Duration: time.Second}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// sender sends a message to its storage when it starts.
type sender struct {
	bystander
	message protocol.Message
}

func (s *sender) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Start {
		out.Send(protocol.Storage, s.message)
	}
}
