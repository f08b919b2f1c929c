package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// disk is the storage of one machine, the counterpart of the protocol.Storage of its member. It acts like package
// internal/disk/cell with a file that is written next to the old one, synced, and renamed over it: after a crash the
// bytes are the old ones or the new ones, and which of them is unknown until the write was answered.
type disk struct {
	member *process
	synced []byte // nil before the first write
	queue  []write
	full   instant // until when nothing can be written
	slow   instant // until when every write takes long
	stale  bool    // the latest write was answered with an error: the next life may know less than this one
}

// write is an unanswered write.
type write struct {
	storage.Save
	port protocol.Port
}

// errFull is the error of a full disk.
var errFull = errors.New("no space left on device")

// save takes a write. One is in progress at a time.
func (d *disk) save(s storage.Save, port protocol.Port) {
	if w := d.member.world; w.tracing {
		w.tape.current(d.member.name, "write")
		w.detail("%s writes %v", d.member, s)
	}
	d.queue = append(d.queue, write{s, port})
	if len(d.queue) == 1 {
		d.begin()
	}
}

// begin draws how long the first write in the queue takes.
func (d *disk) begin() {
	m, w := d.member, d.member.world
	w.tape.begin(m.name, "write")
	takes := w.length("takes", time.Millisecond, func() time.Duration { return w.rand.between(200*time.Microsecond, w.weather.disk) })
	if d.slow > w.now {
		w.hit(DiskSlow)
		takes += w.between("slow", 100*time.Millisecond, w.settings.lease)
	}
	w.at(w.now+takes, task{kind: taskSaved, to: m.place, life: m.life, id: d.queue[0].ID})
}

// saved ends the write in progress.
func (d *disk) saved(t *task) {
	m, w := d.member, d.member.world
	if len(d.queue) == 0 || !m.takes(t) {
		return
	}
	done := d.queue[0]
	d.queue = slices.Delete(d.queue, 0, 1)
	answer := storage.Saved{ID: done.ID}
	w.tape.current(m.name, "write")
	d.stale = d.full > w.now
	switch {
	case d.full > w.now:
		w.hit(DiskFull)
		w.reporter.happened(DiskFull, 0, m.name, m.name+" cannot write: its disk is full")
		answer.Err = errFull
	case w.odds("fails", w.weather.diskFail):
		w.hit(DiskFail)
		w.reporter.happened(DiskFail, 0, m.name, "a write of "+m.name+" fails")
		answer.Err = errDisk
		if w.oneIn("done", 2) {
			d.synced = done.Data // it failed after it was done
		}
	default:
		d.synced = done.Data
	}
	if len(d.queue) > 0 {
		d.begin()
	}
	if w.tracing {
		w.detail("%s %v", m, answer)
	}
	w.nemesis.pounce(m)
	m.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: done.port, Fact: answer})
}

// crash decides what is left of the unanswered writes: nothing, the bytes of the one in progress, or half of a file
// that no process reads.
func (d *disk) crash() {
	w := d.member.world
	pending := d.queue
	d.queue = nil
	if len(pending) == 0 || d.full > w.now {
		return
	}
	w.within(d.member.name, "death", int(d.member.life))
	switch {
	case w.settings.faults.Has(DiskTorn) && w.oneIn("torn", 3):
		w.hit(DiskTorn)
		w.reporter.happened(DiskTorn, 0, d.member.name, "half of a write of "+d.member.name+" is left")
		d.tear(pending[0].Data)
	case w.settings.faults.Has(DiskLost) && w.oneIn("unsynced", 2):
		w.reporter.happened(DiskLost, 0, d.member.name, "a write of "+d.member.name+" is lost")
		w.hit(DiskLost) // what was not synced is not there
	default:
		d.synced = pending[0].Data
	}
}

// tear leaves half of a write behind. That half is next to the cell and never replaced it; tear checks that the cell's
// format would recognize it as incomplete.
func (d *disk) tear(data []byte) {
	w := d.member.world
	w.judge.torn(data[:w.number("half", len(data))], len(data))
}

// torn checks that a part of so many bytes of a cell is not read as a cell (P10).
func (j *judge) torn(half []byte, size int) {
	if _, err := membership.DecodeCell(half); err == nil {
		j.violate("P10", "half of a cell, %d of %d bytes, is taken for a whole one", len(half), size)
	}
}

// finish completes the writes in progress: a process with an orderly end waits for its writer.
func (d *disk) finish() {
	if len(d.queue) > 0 && d.full <= d.member.world.now {
		d.synced = d.queue[len(d.queue)-1].Data
	}
	d.queue = nil
}

// forget loses the cell.
func (d *disk) forget() { d.synced, d.queue = nil, nil }
