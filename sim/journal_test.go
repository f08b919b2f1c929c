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

// pen is a space that passes calls to its journal as requests, and keeps the answers.
type pen struct {
	bystander
	found   []storage.Kept
	answers []string
	at      []protocol.Time
	errs    []error
}

func (p *pen) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case []protocol.Message:
		for _, request := range fact {
			out.Send(protocol.Storage, request)
		}
		return
	case storage.Appended:
		p.errs = append(p.errs, fact.Err)
	case storage.Chunked:
		p.errs = append(p.errs, fact.Err)
	case storage.Installed:
		p.errs = append(p.errs, fact.Err)
	case storage.Fetched:
		p.errs = append(p.errs, fact.Err)
	default:
		p.bystander.Step(now, ev, out)
		return
	}
	p.answers, p.at = append(p.answers, fmt.Sprint(ev.Fact)), append(p.at, now)
}

// sessions is a world of one member with a journal, with these lines of a script, and the machines of its lives.
type sessions struct {
	*world
	pens []*pen
}

func newSessions(t *testing.T, lines ...string) *sessions {
	t.Helper()
	var choices []Choice
	for _, line := range lines {
		c, err := parseChoice(line)
		if err != nil {
			t.Fatal(err)
		}
		choices = append(choices, c)
	}
	d := &sessions{}
	pens := simtest.Describe("pens", func(s *protocol.Setup) protocol.Machine {
		d.pens = append(d.pens, &pen{found: s.Logs})
		return d.pens[len(d.pens)-1]
	})
	pens.Logs = true
	c := Config{Members: 1, Protocol: Of(pens)}
	c.Protocol.Locks = false
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	d.world = newWorld(&c, 1, nil, newCounts(true))
	d.tape, d.weather, d.clients = newReplay(choices), calm(), nil
	d.settings.faults = Within
	d.members[0].start()
	d.run(time.Second)
	return d
}

// submit makes the machine send requests to its journal at once.
func (d *sessions) submit(requests ...protocol.Message) {
	d.members[0].step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: protocol.CallID{Sink: 99, Op: 1}, Fact: requests})
}

// pass lets time pass.
func (d *sessions) pass(t time.Duration) { d.run(d.now + t) }

// again crashes the member, and returns what its next life finds.
func (d *sessions) again() []storage.Kept {
	d.members[0].crash(d.members[0].life)
	d.members[0].start()
	d.pass(time.Second)
	return d.last().found
}

func (d *sessions) last() *pen { return d.pens[len(d.pens)-1] }

// line appends one record, which is its number.
func line(id, log uint64) storage.Append {
	return storage.Append{ID: id, Log: log, First: id, Records: [][]byte{fmt.Append(nil, id)}}
}

// text describes the contents of logs in a line.
func text(all []storage.Kept) string {
	var fields []string
	for _, k := range all {
		fields = append(fields, fmt.Sprintf("log %d from %d on: %s", k.Log, k.First, k.Records))
		if k.State != nil {
			fields = append(fields, fmt.Sprintf("state %s", k.State))
		}
		if k.Snapshot != 0 {
			fields = append(fields, fmt.Sprintf("snapshot %d %s: %s", k.Snapshot, k.Meta, k.Chunks))
		}
	}
	return strings.Join(fields, ", ")
}

// TestWhatWaitsForASyncGoesTogether checks that requests of all logs that wait for a sync go together, after the group
// in progress.
func TestWhatWaitsForASyncGoesTogether(t *testing.T) {
	d := newSessions(t, "a sync#1 takes 7ms", "a sync#2 takes 3ms")
	began := d.members[0].now()
	d.submit(line(1, 5))
	d.submit(line(2, 5), storage.Append{ID: 3, Log: 4, First: 1, Records: [][]byte{[]byte("1")}})
	d.pass(time.Second)
	p := d.last()
	if got := strings.Join(p.answers, ", "); got != "appended #1, appended #2, appended #3" {
		t.Errorf("answered %s", got)
	}
	for i, after := range []time.Duration{7 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond} {
		if p.at[i]-began != after {
			t.Errorf("%s after %v, want %v", p.answers[i], p.at[i]-began, after)
		}
	}
	if d.count.hits[logTogether] != 1 {
		t.Errorf("%d syncs were for several requests", d.count.hits[logTogether])
	}
	if got := text(d.again()); got != "log 4 from 1 on: [1], log 5 from 1 on: [1 2]" {
		t.Errorf("found %q", got)
	}
}

// TestACrashLeavesTheFirst checks that a crash leaves a prefix of the unanswered requests.
func TestACrashLeavesTheFirst(t *testing.T) {
	for lost, want := range []string{"[1 2 3 4]", "[1 2 3]", "[1 2]", "[1]"} {
		d := newSessions(t, fmt.Sprintf("a death#1 lost %d", lost))
		d.submit(line(1, 5))
		d.pass(time.Second)
		d.submit(line(2, 5))
		d.submit(line(3, 5), line(4, 5))
		if got := text(d.again()); got != "log 5 from 1 on: "+want {
			t.Errorf("%d are lost: found %q, want %s", lost, got, want)
		}
		if len(d.pens[0].answers) != 1 || len(d.last().answers) != 0 {
			t.Errorf("answered %q, and %q in the next life", d.pens[0].answers, d.last().answers)
		}
		if d.count.hits[logLost] != once(lost > 0) || d.count.hits[logDone] != once(lost < 3) || d.count.faults[DiskLost] != once(lost == 3) {
			t.Errorf("%d are lost: counted %v, and %d times the fault", lost, d.count.of("journal"), d.count.faults[DiskLost])
		}
	}
	d := newSessions(t, "a death#1 lost 1", "a death#1 torn-log yes")
	d.submit(line(1, 5))
	if got := text(d.again()); got != "" || d.count.faults[DiskTorn] != 1 {
		t.Errorf("found %q of what was torn %d times", got, d.count.faults[DiskTorn])
	}
}

// TestSnapshotsOfALog checks that snapshots are there once they are installed, whole, and not before.
func TestSnapshotsOfALog(t *testing.T) {
	d := newSessions(t)
	chunk := func(id, snapshot, number uint64) storage.Chunk {
		return storage.Chunk{ID: id, Log: 5, Snapshot: snapshot, Number: number, Data: fmt.Appendf(nil, "%d.%d", snapshot, number)}
	}
	d.submit(line(1, 5), line(2, 5), line(3, 5), chunk(4, 1, 0), chunk(5, 1, 1),
		storage.Install{ID: 6, Log: 5, Snapshot: 1, Chunks: 2, Meta: []byte("m"), State: []byte("s"), Drop: 2}, chunk(7, 3, 0))
	d.pass(time.Second)
	d.submit(storage.Fetch{ID: 8, Log: 5, Snapshot: 1, Number: 1}, storage.Fetch{ID: 9, Log: 5, Snapshot: 3})
	d.pass(time.Second)
	want := []string{"appended #1", "appended #2", "appended #3", "chunked #4", "chunked #5", "installed #6", "chunked #7", "fetched #8 3 bytes", "fetch #9: gone"}
	if got := d.last().answers; !slices.Equal(got, want) {
		t.Errorf("answered %q, want %q", got, want)
	}
	if got := text(d.again()); got != "log 5 from 3 on: [3], state s, snapshot 1 m: [1.0 1.1]" {
		t.Errorf("found %q", got)
	}
	if d.count.hits[logUnfinished] != 1 {
		t.Errorf("%d unfinished snapshots were lost", d.count.hits[logUnfinished])
	}
	d.submit(storage.Install{ID: 1, Log: 5, Snapshot: 4, Drop: 90, Anew: true})
	d.pass(time.Second)
	if got := text(d.again()); got != "log 5 from 91 on: [], state s, snapshot 4 : []" {
		t.Errorf("found %q where the log began anew", got)
	}
	d.members[0].crash(d.members[0].life)
	d.members[0].forget()
	if got := text(d.again()); got != "" {
		t.Errorf("found %q in a folder that was lost", got)
	}
}

// TestADiskThatFails checks that a failed disk ends the journal and the process: the outcome of requests in progress is
// unknown, waiting ones are refused, and the next life has everything that was answered.
func TestADiskThatFails(t *testing.T) {
	for _, c := range []struct {
		lines []string
		full  bool
		found string
	}{
		{[]string{"a sync#2 fails yes"}, false, "[1 2]"},
		{[]string{"a sync#2 fails yes", "a sync#2 lost 1"}, false, "[1]"},
		{nil, true, "[1 2]"},
	} {
		d := newSessions(t, append(c.lines, "a broken#1 ends 40ms")...)
		m := d.members[0]
		d.submit(line(1, 5))
		d.pass(time.Second)
		if c.full {
			m.disk.full = d.now + 4*time.Second
		}
		d.submit(line(2, 5))
		d.submit(line(3, 5))
		d.pass(20 * time.Millisecond)
		d.submit(line(4, 5), storage.Fetch{ID: 5, Log: 5, Snapshot: 1})
		d.pass(10 * time.Millisecond)
		p := d.last()
		if len(p.errs) != 5 || p.errs[0] != nil || !errors.Is(p.errs[1], storage.ErrUnknown) {
			t.Fatalf("%q: answered %q", c.lines, p.answers)
		}
		for _, err := range p.errs[2:] {
			if !errors.Is(err, storage.ErrRefused) {
				t.Errorf("%q: what came later is answered with %v", c.lines, err)
			}
		}
		d.pass(2 * time.Second)
		if c.full == m.up {
			t.Errorf("%q: up 2 s later: %t, while the disk is full: %t", c.lines, m.up, c.full)
		}
		d.pass(3 * time.Second)
		if !m.up || len(d.pens) != 2 {
			t.Fatalf("%q: %d lives, up: %t", c.lines, len(d.pens), m.up)
		}
		if got := text(d.last().found); got != "log 5 from 1 on: "+c.found {
			t.Errorf("%q: found %q, want %s", c.lines, got, c.found)
		}
		d.submit(line(uint64(len(d.last().found[0].Records))+1, 5))
		if d.pass(time.Second); len(d.last().errs) != 1 || d.last().errs[0] != nil {
			t.Errorf("%q: the next life is answered %q", c.lines, d.last().answers)
		}
		if hits := d.count.hits; hits[logFailed] != once(!c.full) || hits[logFull] != once(c.full) || hits[logClosed] != once(c.full) {
			t.Errorf("%q: counted %v", c.lines, hits)
		}
	}
}

// TestAFetchThatFails checks that a failed fetch ends the journal as well.
func TestAFetchThatFails(t *testing.T) {
	d := newSessions(t, "a fetch#1 fails yes")
	d.submit(storage.Install{ID: 1, Log: 5, Snapshot: 1})
	d.pass(time.Second)
	d.submit(storage.Fetch{ID: 2, Log: 5, Snapshot: 1}, line(1, 5))
	d.pass(5 * time.Second)
	if p := d.pens[0]; len(p.errs) != 3 || p.errs[1] == nil && p.errs[2] == nil || len(d.pens) != 2 {
		t.Errorf("answered %q in the first of %d lives", p.answers, len(d.pens))
	}
}

// TestWhoEndsInGoodOrder checks that a process with an orderly end waits for its requests, and that a paused member
// gets the answers later.
func TestWhoEndsInGoodOrder(t *testing.T) {
	d := newSessions(t, "a sync#1 takes 10ms", "a sync#2 takes 10s")
	m := d.members[0]
	d.submit(line(1, 5))
	m.pause(5 * time.Second)
	d.pass(4 * time.Second)
	if p := d.last(); len(p.answers) != 0 {
		t.Errorf("answered %q while it is paused", p.answers)
	}
	d.pass(2 * time.Second)
	if p := d.last(); len(p.answers) != 1 {
		t.Errorf("answered %q after it woke", p.answers)
	}
	d.submit(line(2, 5), line(3, 5))
	m.depart(m.life)
	m.start()
	if got := text(d.last().found); got != "log 5 from 1 on: [1 2 3]" {
		t.Errorf("found %q", got)
	}
}

// TestASlowDiskIsSlowForJournals checks that a slow disk delays its journal.
func TestASlowDiskIsSlowForJournals(t *testing.T) {
	d := newSessions(t, "a sync#1 slow 2s")
	d.members[0].disk.slow = d.now + 1
	d.submit(line(1, 5))
	d.pass(time.Second)
	early := len(d.last().answers)
	d.pass(2 * time.Second)
	if early != 0 || len(d.last().answers) != 1 || d.count.hits[logSlow] != 1 || d.count.faults[DiskSlow] != 1 {
		t.Errorf("%d answers after 1 s, %d after 3 s; counted %d", early, len(d.last().answers), d.count.hits[logSlow])
	}
}

// TestMembersWithoutAFolder checks that members without a folder keep no logs, and that their requests fail with that
// error.
func TestMembersWithoutAFolder(t *testing.T) {
	d := newSessions(t)
	d.members[0].kept = false
	d.again()
	d.submit(line(1, 5), storage.Fetch{ID: 2, Log: 5, Snapshot: 1})
	d.pass(time.Second)
	if got := strings.Join(d.last().answers, ", "); got != "append #1: "+errNoLogs.Error()+", fetch #2: "+errNoLogs.Error() {
		t.Errorf("answered %q", got)
	}
}

// TestWhatNoLogTakes checks that a request that no log takes is a mistake of the machine, which ends the run with a
// description.
func TestWhatNoLogTakes(t *testing.T) {
	for _, c := range []struct {
		requests []protocol.Message
		says     string
	}{
		{[]protocol.Message{line(2, 5)}, "so 1 to 1 is allowed"},
		{[]protocol.Message{storage.Append{ID: 1, Log: 5}}, "one of both is to be there"},
		{[]protocol.Message{line(1, 5), line(1, 5)}, "request 1 of port 1 is under way already"},
		{[]protocol.Message{storage.Chunk{ID: 1, Log: 5, Snapshot: 1, Number: 1}}, "comes before chunk 0"},
		{[]protocol.Message{storage.Chunk{ID: 1, Log: 5}}, "snapshots are numbered from 1 on"},
		{[]protocol.Message{storage.Install{ID: 1, Log: 5, Snapshot: 1, Chunks: 1}}, "has 1 chunks, and 0 were written"},
		{[]protocol.Message{storage.Install{ID: 1, Log: 5, Snapshot: 1, Drop: 1}}, "so 0 to 0 is allowed"},
		{[]protocol.Message{storage.Install{ID: 1, Log: 5, Snapshot: 1}, storage.Install{ID: 2, Log: 5, Snapshot: 1}}, "a higher number is allowed"},
		{[]protocol.Message{storage.Install{ID: 1, Log: 5, Snapshot: 1}, storage.Fetch{ID: 2, Log: 5, Snapshot: 1}}, "which has 0, from 0 on"},
	} {
		d := newSessions(t, "a sync#1 takes 500us")
		if says := panics(func() {
			d.submit(c.requests...)
			d.pass(time.Second)
		}); !strings.Contains(says, "sim: a asks its journal (") || !strings.Contains(says, c.says) {
			t.Errorf("%v: %q; want %q in it", c.requests, says, c.says)
		}
	}
	if result := odd(t, line(1, 5), false); result.Outcome != Crashed || !strings.Contains(result.Violation.Detail, "protocol odd says of no logs; its Protocol needs Logs") {
		t.Errorf("%v %v", result.Outcome, result.Violation)
	}
}

// panics returns the value with which f panics.
func panics(f func()) (says string) {
	defer func() {
		if broken := recover(); broken != nil {
			says = fmt.Sprint(broken)
		}
	}()
	f()
	return ""
}
