package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// journal keeps the logs of one member next to its cell, on the same disk, if its protocol has logs (Protocol.Logs). It
// acts like package internal/disk/journal with a folder: requests that arrive during a sync wait, and go into the next
// group, with one sync for all; groups follow one another. After a crash an unanswered request may be there or not, but
// none without all those before it. When the disk fails, the journal fails, and the process with it; the next process
// starts with the data on disk.
//
// A request that a log cannot take is a mistake of the machine, and the journal panics.
type journal struct {
	member *process
	logs   []*ledger // in the order of their numbers
	queue  []errand  // requests for the next group
	group  []errand  // requests in progress
	failed error     // why it rejects all requests of this life
}

// errand is an unanswered request, and the port of the machine that made it.
type errand struct {
	port    protocol.Port
	request protocol.Message
}

// Rows of coverage for journals.
var (
	logTogether   = mark{"journal", "one sync for several requests"}
	logSlow       = mark{"journal", "a sync takes long"}
	logFailed     = mark{"journal", "the disk fails"}
	logFull       = mark{"journal", "the disk is full"}
	logClosed     = mark{"journal", "the disk is full at a start"}
	logLost       = mark{"journal", "a crash loses requests"} // that were not answered
	logDone       = mark{"journal", "a crash leaves requests that were not answered"}
	logUnfinished = mark{"journal", "a crash loses an unfinished snapshot"}
	logFound      = mark{"journal", "a start with logs"}
)

// journalFails divides the failure rate of groups, compared with that of writes of a cell: a cell is written now and
// then, a log all the time.
const journalFails = 100

var errNoLogs = errors.New("this member keeps no logs: it has no folder for data")

// submit takes a request from the member's machine.
func (j *journal) submit(e errand) {
	m, w := j.member, j.member.world
	w.count.sent(e.port, e.request)
	if w.tracing {
		w.tape.current(m.name, "sync")
		w.detail("%s asks its journal: %v", m, e.request)
	}
	j.check(&e)
	fetch, reads := e.request.(storage.Fetch)
	switch {
	case !m.kept:
		j.reply(w.now, e.port, storage.AnswerTo(e.request, errNoLogs))
	case j.failed != nil:
		j.reply(w.now, e.port, storage.AnswerTo(e.request, j.failed))
	case reads:
		w.tape.begin(m.name, "fetch")
		j.reply(w.now+j.takes(true), e.port, fetch)
	default:
		if j.queue = append(j.queue, e); len(j.group) == 0 {
			j.begin()
		}
	}
}

// check panics at a request that no journal takes, and at a number that two open requests share: the machine could not
// tell their answers apart.
func (j *journal) check(e *errand) {
	var err error
	switch r := e.request.(type) {
	case storage.Append:
		err = r.Check()
	case storage.Chunk:
		err = r.Check()
	case storage.Install:
		err = r.Check()
	}
	same := func(o errand) bool { return o.port == e.port && idOf(o.request) == idOf(e.request) }
	if _, reads := e.request.(storage.Fetch); !reads && (slices.ContainsFunc(j.group, same) || slices.ContainsFunc(j.queue, same)) {
		err = fmt.Errorf("request %d of port %d is under way already; give each a number of its own: %w", idOf(e.request), e.port, storage.ErrInvalid)
	}
	if err != nil {
		panic(fmt.Sprintf("sim: %s asks its journal (%v): %v", j.member, e.request, err))
	}
}

// begin starts the next group, with all waiting requests, and draws its duration.
func (j *journal) begin() {
	m, w := j.member, j.member.world
	j.group, j.queue = j.queue, nil
	w.tape.begin(m.name, "sync")
	syncs := slices.ContainsFunc(j.group, func(e errand) bool {
		_, chunk := e.request.(storage.Chunk)
		return !chunk
	})
	if syncs && len(j.group) > 1 {
		w.count.hits[logTogether]++
	}
	w.at(w.now+j.takes(syncs), task{kind: taskSynced, to: m.place, life: m.life})
}

// takes draws the disk's time for a group or a read: next to nothing for chunks alone, which are not synced.
func (j *journal) takes(waits bool) time.Duration {
	w := j.member.world
	most := w.weather.disk
	if !waits {
		most = time.Millisecond
	}
	takes := w.length("takes", min(most, time.Millisecond), func() time.Duration { return w.rand.between(50*time.Microsecond, most) })
	if waits && j.member.disk.slow > w.now {
		w.hit(DiskSlow)
		w.count.hits[logSlow]++
		takes += w.between("slow", 100*time.Millisecond, w.settings.lease)
	}
	return takes
}

// synced ends the group in progress: all of it is on disk, and is answered.
func (j *journal) synced(t *task) {
	m, w := j.member, j.member.world
	if len(j.group) == 0 || !m.takes(t) {
		return
	}
	w.tape.current(m.name, "sync")
	own := w.scope()
	if err := j.fails(true); err != nil {
		j.fail(err)
		return
	}
	done := j.group
	j.group = nil
	j.do(done)
	w.nemesis.pounce(m)
	if len(j.queue) > 0 {
		j.begin()
	}
	w.goOn(own)
	for i := range done {
		j.deliver(done[i].port, storage.AnswerTo(done[i].request, nil))
	}
}

// fails returns the disk's error, if it has any. A full disk can be read.
func (j *journal) fails(writes bool) error {
	m, w := j.member, j.member.world
	switch {
	case writes && m.disk.full > w.now:
		w.hit(DiskFull)
		w.count.hits[logFull]++
		return errFull
	case w.odds("fails", w.weather.diskFail/journalFails):
		w.hit(DiskFail)
		w.count.hits[logFailed]++
		return errDisk
	}
	return nil
}

// fail ends the journal, and soon the process. Nothing more reaches the folder, which stays as after a crash, and all
// requests are answered with the error. The member is started again.
func (j *journal) fail(err error) {
	m, w := j.member, j.member.world
	w.befall(faultOf(err), 0, []string{m.name}, "the journal of %s fails: %v", m, err)
	group, waiting := j.group, j.queue
	j.group, j.queue = nil, nil
	if len(group) > 0 {
		j.do(group[:len(group)-w.number("lost", len(group)+1)])
	}
	j.failed = fmt.Errorf("the journal takes nothing more since this went wrong: %w: %w", err, storage.ErrRefused)
	life := m.life
	w.within(m.name, "broken", int(life))
	w.do(w.now+w.below("ends", 50*time.Millisecond), func() {
		if !m.up || m.life != life {
			return
		}
		m.crash(life)
		w.within(m.name, "broken", int(life))
		w.do(w.now+w.between("back", time.Second, 3*time.Second), m.start)
	})
	unknown := fmt.Errorf("the journal has failed: %w: %w", err, storage.ErrUnknown)
	for i := range group {
		j.deliver(group[i].port, storage.AnswerTo(group[i].request, unknown))
	}
	for i := range waiting {
		j.deliver(waiting[i].port, storage.AnswerTo(waiting[i].request, j.failed))
	}
}

// faultOf is the fault behind a disk's error.
func faultOf(err error) Fault {
	if errors.Is(err, errFull) {
		return DiskFull
	}
	return DiskFail
}

// do executes requests in order.
func (j *journal) do(all []errand) {
	for i := range all {
		_, log := numbersOf(all[i].request)
		if err := j.log(log).do(all[i].request); err != nil {
			panic(fmt.Sprintf("sim: %s asks its journal (%v): %v", j.member, all[i].request, err))
		}
	}
}

// log returns the log of a number, and makes it if necessary.
func (j *journal) log(number uint64) *ledger {
	at, found := slices.BinarySearchFunc(j.logs, number, func(l *ledger, n uint64) int { return cmp.Compare(l.log, n) })
	if !found {
		j.logs = slices.Insert(j.logs, at, &ledger{log: number})
	}
	return j.logs[at]
}

// reply answers later, in a separate step: with an answer, or with the data read then.
func (j *journal) reply(when instant, port protocol.Port, fact any) {
	m, w := j.member, j.member.world
	w.at(when, task{kind: taskFetched, to: m.place, life: m.life, port: uint16(port), fact: fact, id: uint64(w.scope().act)})
}

// fetched delivers a reply.
func (j *journal) fetched(t *task) {
	m, w := j.member, j.member.world
	if !m.takes(t) {
		return
	}
	answer := t.fact
	if f, reads := answer.(storage.Fetch); reads {
		w.within(m.name, "fetch", int(t.id))
		answer = j.fetch(&f)
	}
	j.deliver(protocol.Port(t.port), answer)
}

// fetch reads a chunk. A disk that cannot be read ends the journal.
func (j *journal) fetch(f *storage.Fetch) storage.Fetched {
	if j.failed == nil {
		if err := j.fails(false); err != nil {
			j.fail(err)
		}
	}
	if j.failed != nil {
		return storage.Fetched{ID: f.ID, Err: j.failed}
	}
	data, err := j.log(f.Log).fetch(f)
	if err != nil && !errors.Is(err, storage.ErrGone) {
		panic(fmt.Sprintf("sim: %s asks its journal (%v): %v", j.member, f, err))
	}
	return storage.Fetched{ID: f.ID, Data: data, Err: err}
}

// deliver hands an answer to the member's machine.
func (j *journal) deliver(port protocol.Port, answer any) {
	m, w := j.member, j.member.world
	if w.tracing {
		w.detail("%s hears of its journal: %v", m, answer)
	}
	m.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: port, Fact: answer})
}

// crash decides what is left of the unanswered requests: a prefix.
func (j *journal) crash() {
	m, w := j.member, j.member.world
	group, pending := len(j.group), slices.Concat(j.group, j.queue)
	j.group, j.queue = nil, nil
	if len(pending) > 0 {
		w.within(m.name, "death", int(m.life))
		lost := len(pending)
		if m.disk.full <= w.now {
			lost = w.number("lost", len(pending)+1)
		}
		done := len(pending) - lost
		j.do(pending[:done])
		if done > 0 {
			w.count.hits[logDone]++
		}
		if lost > 0 {
			w.count.hits[logLost]++
			w.trace("%s loses %d of %d requests of its journal", m, lost, len(pending))
		}
		j.blame(done < group)
	}
	for _, l := range j.logs {
		if l.forget() {
			w.count.hits[logUnfinished]++
		}
	}
}

// blame counts the disk's fault in a crash that lost part of the group being written: all of it, or the second half of
// a request, which the journal's format detects as incomplete.
func (j *journal) blame(lost bool) {
	m, w := j.member, j.member.world
	switch {
	case !lost:
	case w.settings.faults.Has(DiskTorn) && w.oneIn("torn-log", 3):
		w.hit(DiskTorn)
		w.reporter.happened(DiskTorn, 0, m.name, "half of what the journal of "+m.name+" was writing is left")
	case w.settings.faults.Has(DiskLost):
		w.hit(DiskLost)
		w.reporter.happened(DiskLost, 0, m.name, "what the journal of "+m.name+" was writing is lost")
	}
}

// finish executes all requests: a process with an orderly end closes its journal.
func (j *journal) finish() {
	pending := slices.Concat(j.group, j.queue)
	j.group, j.queue = nil, nil
	if j.member.disk.full <= j.member.world.now {
		j.do(pending)
	}
	for _, l := range j.logs {
		l.forget()
	}
}

// forget loses the folder.
func (j *journal) forget() { j.logs, j.queue, j.group = nil, nil, nil }

// opens reports whether the journal can be opened, which needs room on the disk. If not, the member is started again
// once there is room.
func (j *journal) opens() bool {
	m, w := j.member, j.member.world
	if !w.protocol.Logs || !m.kept || m.disk.full <= w.now {
		j.failed = nil
		return true
	}
	w.hit(DiskFull)
	w.count.hits[logClosed]++
	w.befall(DiskFull, 0, []string{m.name}, "%s does not start: there is no room for its journal", m)
	if m.disk.full < protocol.Never {
		w.do(m.disk.full, m.start)
	}
	return false
}

// kept returns the contents of the logs when a life begins.
func (j *journal) kept() (all []storage.Kept) {
	for _, l := range j.logs {
		if l.known() {
			all = append(all, l.kept())
		}
	}
	if len(all) > 0 {
		j.member.world.count.hits[logFound]++
	}
	return all
}

// idOf is the number of a request.
func idOf(request any) uint64 {
	id, _ := numbersOf(request)
	return id
}

// numbersOf returns the number of a request and that of its log.
func numbersOf(request any) (id, log uint64) {
	switch r := request.(type) {
	case storage.Append:
		return r.ID, r.Log
	case storage.Chunk:
		return r.ID, r.Log
	case storage.Install:
		return r.ID, r.Log
	case storage.Fetch:
		return r.ID, r.Log
	}
	panic(fmt.Sprintf("sim: a journal is asked for a %T", request))
}

// hasLogs reports whether every log of the space has begun at some member of the core. A log begins when all founders
// are in one view for the first time.
func (c *core) hasLogs(w *world) bool {
	begun := map[uint64]bool{}
	for i, m := range w.members {
		if c.in[i] && m.kept {
			for _, l := range m.journal.logs {
				begun[l.log] = true
			}
		}
	}
	return len(begun) >= max(1, w.settings.shards)
}
