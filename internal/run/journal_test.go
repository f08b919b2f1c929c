package run_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// shelf is a journal with room for some requests, which it answers when its test says so.
type shelf struct {
	mu      sync.Mutex
	room    int
	taken   []any
	answers []func()
	refused int
}

func (s *shelf) Submit(request any, answer func(any)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) == s.room {
		s.refused++
		return fmt.Errorf("the shelf is full: %w", storage.ErrRefused)
	}
	s.taken = append(s.taken, request)
	s.answers = append(s.answers, func() { answer(storage.Appended{ID: request.(storage.Append).ID}) })
	return nil
}

// answer answers so many of what was asked first.
func (s *shelf) answer(count int) {
	s.mu.Lock()
	answers := s.answers[:count]
	s.answers = slices.Clone(s.answers[count:])
	s.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}

// keeper is a machine that asks the journal for what it is called with, and tells each answer.
func keeper(answers chan<- string) *scripted {
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		switch {
		case ev.Kind == protocol.Call:
			for _, request := range ev.Fact.([]protocol.Message) {
				out.Sends = append(out.Sends, protocol.Envelope{To: protocol.Storage, Port: ev.Port, Message: request})
			}
		case ev.Kind == protocol.Receive:
			answers <- fmt.Sprintf("port %d: %v", ev.Port, ev.Fact)
		}
	}
	return m
}

func appends(log uint64, ids ...uint64) (requests []protocol.Message) {
	for _, id := range ids {
		requests = append(requests, storage.Append{ID: id, Log: log, First: id, Records: [][]byte{{byte(id)}}})
	}
	return requests
}

func expect(t *testing.T, answers <-chan string, want ...string) {
	t.Helper()
	for _, next := range want {
		if got := <-answers; got != next {
			t.Fatalf("got %q, want %q", got, next)
		}
	}
}

// TestJournalRequests: what machines ask of the journal comes to it in order, and the answers to
// the machine that has asked. Requests for which it has no room wait, and nothing overtakes them.
func TestJournalRequests(t *testing.T) {
	answers := make(chan string, 16)
	s := &shelf{room: 2}
	d := start(t, run.Config{Machine: keeper(answers), Journal: s})
	submit := func(port protocol.Port, requests []protocol.Message) {
		d.Step(protocol.Event{Kind: protocol.Call, Port: port, Fact: requests})
	}
	submit(1, appends(7, 1, 2, 3))
	submit(2, appends(8, 1))
	if s.refused == 0 || len(s.taken) != 2 {
		t.Fatalf("refused %d times, took %v: the shelf was not full", s.refused, s.taken)
	}
	s.answer(1)
	expect(t, answers, "port 1: appended #1")
	s.answer(2)
	expect(t, answers, "port 1: appended #2", "port 1: appended #3")
	s.answer(1)
	expect(t, answers, "port 2: appended #1")
	var order []string
	for _, request := range s.taken {
		order = append(order, fmt.Sprintf("%d/%d", request.(storage.Append).Log, request.(storage.Append).ID))
	}
	if want := []string{"7/1", "7/2", "7/3", "8/1"}; !slices.Equal(order, want) {
		t.Errorf("asked for %v, want %v", order, want)
	}
}

// TestJournalThatTakesNothing: a request that is refused while nothing is under way is answered
// so, and so is each where there is no journal.
func TestJournalThatTakesNothing(t *testing.T) {
	for name, c := range map[string]run.Config{"full": {Journal: &shelf{}}, "none": {}} {
		answers := make(chan string, 16)
		c.Machine = keeper(answers)
		d := start(t, c)
		d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: []protocol.Message{
			storage.Append{ID: 1, Log: 1, State: []byte("s")}, storage.Chunk{ID: 2, Log: 1, Snapshot: 1},
			storage.Install{ID: 3, Log: 1, Snapshot: 1}, storage.Fetch{ID: 4, Log: 1, Snapshot: 1},
		}})
		why := map[string]string{
			"full": "the shelf is full: the store has refused it, for now", "none": "this member keeps no logs: it has no folder for data",
		}[name]
		expect(t, answers, "port 1: append #1: "+why, "port 1: chunk #2: "+why, "port 1: install #3: "+why, "port 1: fetch #4: "+why)
	}
}

// TestJournalAnswersNoMachine: after Close nothing is stepped, regardless of what is answered.
func TestJournalAnswersNoMachine(t *testing.T) {
	answers := make(chan string, 16)
	s := &shelf{room: 1}
	d := start(t, run.Config{Machine: keeper(answers), Journal: s})
	d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: appends(7, 1, 2)})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s.answer(1)
	if len(answers) > 0 || len(s.taken) != 1 {
		t.Errorf("after Close %d answers were stepped, and %d requests asked", len(answers), len(s.taken))
	}
}

// TestJournalOfAFolder: what was answered is in the folder.
func TestJournalOfAFolder(t *testing.T) {
	folder := t.TempDir()
	j, err := journal.Open(folder, journal.Options{Identity: []byte("us")})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 1024)
	d := start(t, run.Config{Machine: keeper(answers), Journal: j})
	const count = 200
	for id := range uint64(count) {
		d.Step(protocol.Event{Kind: protocol.Call, Port: protocol.Port(1 + id%2), Fact: appends(1+id%2, id/2+1)})
	}
	for range count {
		<-answers
	}
	d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: []protocol.Message{
		storage.Chunk{ID: 1, Log: 1, Snapshot: 1, Data: []byte("state")},
		storage.Install{ID: 2, Log: 1, Snapshot: 1, Chunks: 1, Meta: []byte("mark"), Drop: 90},
	}})
	expect(t, answers, "port 1: chunked #1", "port 1: installed #2")
	if err := errors.Join(d.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	if j, err = journal.Open(folder, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	for log, want := range map[uint64]storage.Kept{
		1: {Log: 1, First: 91, Snapshot: 1, Meta: []byte("mark"), Chunks: [][]byte{[]byte("state")}}, 2: {Log: 2, First: 1},
	} {
		for index := want.First; index <= count/2; index++ {
			want.Records = append(want.Records, []byte{byte(index)})
		}
		kept, known, err := j.Kept(log)
		if err != nil || !known || !reflect.DeepEqual(kept, want) {
			t.Errorf("log %d has %+v, %v, %v; want %+v", log, kept, known, err, want)
		}
	}
	if _, known, err := j.Kept(3); known || err != nil {
		t.Errorf("a log that was never written: known %v, %v", known, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestJournalAnswersTogether: answers that come while a batch is stepped are stepped in one, each to
// its caller, in the order in which they come: a journal may answer one log before another.
func TestJournalAnswersTogether(t *testing.T) {
	answers := make(chan string, 16)
	s, peers := &shelf{room: 8}, &post{}
	m := keeper(answers)
	inner, first, goOn := m.do, make(chan struct{}), make(chan struct{})
	m.do = func(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
		inner(now, ev, out)
		if ev.Kind != protocol.Receive {
			return
		}
		appended := ev.Fact.(storage.Appended)
		out.Send(7, protocol.Message(appended))
		if appended.ID == 1 && ev.Port == 1 {
			close(first)
			<-goOn
		}
	}
	d := start(t, run.Config{Machine: m, Journal: s, Peers: peers})
	d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: appends(7, 1, 2, 3)}, protocol.Event{Kind: protocol.Call, Port: 2, Fact: appends(8, 4, 5)})
	s.answer(1)
	<-first
	s.mu.Lock()
	s.answers = []func(){s.answers[2], s.answers[0], s.answers[3], s.answers[1]} // 4 2 5 3
	s.mu.Unlock()
	s.answer(4)
	close(goOn)
	expect(t, answers, "port 1: appended #1", "port 2: appended #4", "port 1: appended #2", "port 2: appended #5", "port 1: appended #3")
	if err := d.Close(); err != nil { // what was delivered has been sent then
		t.Fatal(err)
	}
	want := [][]string{{"7/0 appended #1"}, {"7/0 appended #4", "7/0 appended #2", "7/0 appended #5", "7/0 appended #3"}}
	if got := peers.take(); !reflect.DeepEqual(got, want) {
		t.Errorf("batches %q, want %q", got, want)
	}
}

// failing is a journal with room for some requests, until it fails: it answers those, and takes no more.
type failing struct {
	mu      sync.Mutex
	room    int
	answers []func()
}

func (f *failing) Submit(request any, answer func(any)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.answers) == f.room {
		return fmt.Errorf("it takes nothing more: %w", storage.ErrRefused)
	}
	f.answers = append(f.answers, func() { answer(storage.Appended{ID: request.(storage.Append).ID, Err: errors.New("the disk is gone")}) })
	return nil
}

func (f *failing) fail() {
	f.mu.Lock()
	answers := f.answers
	f.room, f.answers = 0, nil
	f.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}

// TestJournalFails: what was under way is answered with its error, and so is what waited for room.
func TestJournalFails(t *testing.T) {
	answers := make(chan string, 16)
	s := &failing{room: 2}
	d := start(t, run.Config{Machine: keeper(answers), Journal: s})
	d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: appends(7, 1, 2, 3, 4)})
	s.fail()
	expect(t, answers, "port 1: append #1: the disk is gone", "port 1: append #2: the disk is gone",
		"port 1: append #3: it takes nothing more: the store has refused it, for now", "port 1: append #4: it takes nothing more: the store has refused it, for now")
	d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: appends(7, 5)})
	expect(t, answers, "port 1: append #5: it takes nothing more: the store has refused it, for now")
}
