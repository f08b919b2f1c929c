package journal

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// groupBytes is the maximum size of a batch, so that no request waits much longer than for that: less than half of a
// memtable, so that the database writes it directly.
const groupBytes = 2 << 20

// write executes requests, group by group, until the end.
func (j *Journal) write() {
	defer j.writer.Done()
	for {
		group, broken := j.writes.take(groupBytes)
		if len(group) == 0 {
			break
		}
		// The requesting machine has messages to send at the same moment, and a sync keeps a CPU from all other work
		// for a while. What the others receive takes longer than this disk.
		runtime.Gosched()
		var answers []error
		if broken {
			answers = j.refuse(group, storage.ErrRefused)
		} else {
			answers = j.commit(group)
		}
		j.writes.done(group)
		for i := range group {
			group[i].answer(storage.AnswerTo(group[i].request, answers[i]))
		}
		if j.flushed.CompareAndSwap(true, false) {
			j.raiseFloor()
		}
	}
	if err := j.disk.broken(); err != nil {
		j.reader.Wait()
		if also := j.closeDatabase(); also != nil {
			err = errors.Join(err, also)
		}
		if j.logger != nil {
			j.logger.Error("the journal has failed and takes no more writes; check the disk, then start the member again", "folder", j.folder, "err", err)
		}
		close(j.failed)
	}
}

// refuse returns the answer for each of group, since the journal is broken.
func (j *Journal) refuse(group []pending, kind error) []error {
	err := fmt.Errorf("%w: %w", j.because(j.disk.broken()), kind)
	return slices.Repeat([]error{err}, len(group))
}

// commit writes a group as one batch, and returns the result of each.
func (j *Journal) commit(group []pending) []error {
	b := &batch{Batch: j.db.NewBatch()}
	answers := make([]error, len(group))
	touched := map[uint64]*ledger{}
	for i := range group {
		l := j.ledgerOf(group[i].request)
		answers[i] = l.do(b, group[i].request)
		switch {
		case answers[i] == nil:
			touched[l.log] = l
			j.logs[l.log] = l
		case !errors.Is(answers[i], storage.ErrInvalid):
			j.disk.fail(answers[i])
		}
	}
	var err error
	if len(touched) > 0 && j.disk.broken() == nil {
		err = j.apply(b, touched)
	}
	if err := errors.Join(err, b.Close()); err != nil {
		j.disk.fail(err)
	}
	// The database does not know the disk's errors. See disk.
	if j.disk.broken() == nil {
		return answers
	}
	for i, err := range j.refuse(group, storage.ErrUnknown) {
		if !errors.Is(answers[i], storage.ErrInvalid) {
			answers[i] = err
		}
	}
	return answers
}

// apply adds the heads and the root to a batch, and writes it.
func (j *Journal) apply(b *batch, touched map[uint64]*ledger) error {
	for _, log := range slices.Sorted(maps.Keys(touched)) {
		by, err := touched[log].seal(b)
		if err != nil {
			return err
		}
		j.root.heads += by
	}
	j.root.batches, j.root.synced = j.root.batches+1, j.synced
	if _, err := b.set(0, j.root.encode(), rootKind); err != nil {
		return fmt.Errorf("write the root: %w", err)
	}
	option := pebble.NoSync
	if b.sync {
		option = pebble.Sync
	}
	if err := j.db.Apply(b.Batch, option); err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	if b.sync {
		return j.note()
	}
	return nil
}

// note records next to the database what it has synced, before the answers.
func (j *Journal) note() error {
	j.synced = j.root.batches
	if _, err := j.reached.WriteAt(encodeReached(j.synced), 0); err != nil {
		return fmt.Errorf("note how many batches are synced: %w", err)
	}
	if newest := j.disk.newest.Load(); newest.size > j.disk.floor.size {
		j.disk.floor.size = newest.size
		j.raiseFloor()
	}
	return nil
}

// raiseFloor records the journal's position for the next open. The disk keeps the error of a failed write.
func (j *Journal) raiseFloor() {
	j.disk.floor.batches = j.synced
	if err := j.disk.raise(j.disk.floorAt); err != nil {
		j.disk.fail(err)
	}
}

// ledgerOf returns the ledger of a request's log. A new one is kept once something was written.
func (j *Journal) ledgerOf(request any) *ledger {
	var log uint64
	switch r := request.(type) {
	case storage.Append:
		log = r.Log
	case storage.Chunk:
		log = r.Log
	case storage.Install:
		log = r.Log
	}
	if l := j.logs[log]; l != nil {
		return l
	}
	return &ledger{log: log, sums: []uint32{0}}
}

// do adds a request to the batch.
func (l *ledger) do(b *batch, request any) error {
	switch r := request.(type) {
	case storage.Append:
		return l.append(b, &r)
	case storage.Chunk:
		return l.chunk(b, &r)
	case storage.Install:
		return l.install(b, &r)
	}
	panic(fmt.Sprintf("a %T was taken to be written", request))
}
