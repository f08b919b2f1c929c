package storage

import (
	"errors"
	"fmt"
)

// Limits of a request to a journal, which also limit every queue of such requests.
const (
	// MaxPart is the maximum size of a record, and of a chunk's data: 1 MiB.
	MaxPart = 1 << 20
	// MaxAppend is the maximum size of an Append or Install with all its contents: 8 MiB.
	MaxAppend = 8 << 20
	// MaxState is the maximum size of a log's state, which is written with each Append: 64 KiB.
	MaxState = 64 << 10
	// MaxChunks is the maximum number of chunks in a snapshot, which is then 1 TiB.
	MaxChunks = 1 << 20
)

// ErrGone answers a Fetch of a snapshot that the log does not have, or no longer has: a newer one has replaced it, and
// the log begins after that one. It is an ErrInvalid.
var ErrGone = fmt.Errorf("the log does not have this snapshot any more: %w", ErrInvalid)

// Append removes all records of a log with an index of First or more, writes Records from First on, and replaces the
// log's state, all atomically. Appended is the answer.
type Append struct {
	ID  uint64 // of this request, repeated in Appended
	Log uint64 // the number of the log in the journal
	// First is the index of the first of Records: at least the first one after the snapshot, at most the one after the
	// log's last. Zero leaves the records unchanged, and then Records is empty.
	First   uint64
	Records [][]byte
	State   []byte // replaces the log's state; nil leaves it unchanged
}

// Appended answers an Append.
type Appended struct {
	ID  uint64
	Err error // nil: it is synced
}

// Chunk writes a part of a snapshot that is not installed yet. Chunked is the answer.
type Chunk struct {
	ID  uint64 // of this request, repeated in Chunked
	Log uint64
	// Snapshot numbers the log's snapshots: higher than the installed one. If the number differs from that of the
	// previous Chunk, the journal discards the parts of that snapshot.
	Snapshot uint64
	// Number is the chunk's index: one more than the previous one, starting at 0, or an earlier one, which it replaces.
	Number uint64
	Data   []byte
}

// Chunked answers a Chunk. The chunk is not synced: a crash discards a snapshot that is not installed, and the machine
// restarts its writing.
type Chunked struct {
	ID  uint64
	Err error
}

// Install makes the written chunks of Snapshot the log's snapshot, removes records that it replaces, and replaces the
// log's state, all atomically. Other snapshots are removed. Installed is the answer.
type Install struct {
	ID       uint64 // of this request, repeated in Installed
	Log      uint64
	Snapshot uint64
	Chunks   uint64 // the number of chunks: all that were written
	Meta     []byte // metadata, kept with the snapshot
	State    []byte // replaces the log's state; nil leaves it unchanged
	// Drop is the last index to remove: the log then begins after it. At least the index before the log's first, at
	// most its last; with Anew, any.
	Drop uint64
	// Anew removes all records, including those after Drop.
	Anew bool
}

// Installed answers an Install.
type Installed struct {
	ID  uint64
	Err error // nil: it is synced
}

// Fetch reads a chunk of the log's snapshot. Fetched is the answer.
type Fetch struct {
	ID       uint64 // of this request, repeated in Fetched
	Log      uint64
	Snapshot uint64
	Number   uint64
}

// Fetched answers a Fetch.
type Fetched struct {
	ID   uint64
	Data []byte // nil with an error
	Err  error  // an ErrGone if the log does not have Snapshot
}

// IsOfLog reports whether a message to the storage is for the journal.
func IsOfLog(message any) bool {
	switch message.(type) {
	case Append, Chunk, Install, Fetch:
		return true
	}
	return false
}

// AnswerTo returns the answer to a request to a journal that only reports success or failure. It panics for any other
// value.
func AnswerTo(request any, err error) any {
	switch r := request.(type) {
	case Append:
		return Appended{ID: r.ID, Err: err}
	case Chunk:
		return Chunked{ID: r.ID, Err: err}
	case Install:
		return Installed{ID: r.ID, Err: err}
	case Fetch:
		return Fetched{ID: r.ID, Err: err}
	}
	panic(fmt.Sprintf("storage: a journal is asked for a %T", request))
}

// Size returns the size of its contents, in bytes.
func (a *Append) Size() int {
	size := len(a.State)
	for _, record := range a.Records {
		size += len(record)
	}
	return size
}

// Check returns nil if a journal accepts the request, regardless of the contents of its log. The error wraps
// ErrInvalid, and names what is wrong and what is allowed.
func (a *Append) Check() error {
	for i, record := range a.Records {
		if len(record) > MaxPart {
			return fmt.Errorf("record %d of log %d has %d bytes; up to %d are allowed: %w", a.First+uint64(i), a.Log, len(record), MaxPart, ErrInvalid)
		}
	}
	switch size := a.Size(); {
	case a.First == 0 && len(a.Records) > 0:
		return fmt.Errorf("%d records of log %d from index 0 on; indices begin at 1: %w", len(a.Records), a.Log, ErrInvalid)
	case a.First == 0 && a.State == nil:
		return fmt.Errorf("an append to log %d with neither records nor a state; one of both is to be there: %w", a.Log, ErrInvalid)
	case a.First+uint64(len(a.Records)) < a.First:
		return fmt.Errorf("%d records of log %d from index %d on; there are no such indices: %w", len(a.Records), a.Log, a.First, ErrInvalid)
	case size > MaxAppend:
		return fmt.Errorf("an append to log %d of %d bytes; up to %d are allowed, so send the rest in another: %w", a.Log, size, MaxAppend, ErrInvalid)
	}
	return checkState(a.Log, a.State)
}

// Check returns nil if a journal accepts the request, regardless of the contents of its log. The error wraps
// ErrInvalid, and names what is wrong and what is allowed.
func (c *Chunk) Check() error {
	switch {
	case c.Snapshot == 0 || c.Snapshot+1 == 0:
		return fmt.Errorf("a chunk of snapshot %d of log %d; snapshots are numbered from 1 on, and the last number is none: %w", c.Snapshot, c.Log, ErrInvalid)
	case c.Number >= MaxChunks:
		return fmt.Errorf("chunk %d of a snapshot of log %d; there are up to %d, from 0 on: %w", c.Number, c.Log, MaxChunks, ErrInvalid)
	case len(c.Data) > MaxPart:
		return fmt.Errorf("a chunk of log %d has %d bytes; up to %d are allowed: %w", c.Log, len(c.Data), MaxPart, ErrInvalid)
	}
	return nil
}

// Check returns nil if a journal accepts the request, regardless of the contents of its log. The error wraps
// ErrInvalid, and names what is wrong and what is allowed.
func (i *Install) Check() error {
	switch {
	case i.Snapshot == 0 || i.Snapshot+1 == 0:
		return fmt.Errorf("an install of snapshot %d of log %d; snapshots are numbered from 1 on, and the last number is none: %w", i.Snapshot, i.Log, ErrInvalid)
	case i.Chunks > MaxChunks:
		return fmt.Errorf("an install of %d chunks of log %d; up to %d are allowed: %w", i.Chunks, i.Log, MaxChunks, ErrInvalid)
	case len(i.Meta) > MaxPart:
		return fmt.Errorf("what is to be known of a snapshot of log %d has %d bytes; up to %d are allowed: %w", i.Log, len(i.Meta), MaxPart, ErrInvalid)
	case i.Drop+1 == 0:
		return fmt.Errorf("a log %d that begins behind the last index there is; less is allowed: %w", i.Log, ErrInvalid)
	}
	return checkState(i.Log, i.State)
}

func checkState(log uint64, state []byte) error {
	if len(state) > MaxState {
		return fmt.Errorf("a state of log %d has %d bytes; up to %d are allowed: %w", log, len(state), MaxState, ErrInvalid)
	}
	return nil
}

func (a Append) String() string {
	text := fmt.Sprintf("append #%d log %d", a.ID, a.Log)
	switch {
	case a.First > 0 && len(a.Records) == 0:
		text += fmt.Sprintf(" removes from %d on", a.First)
	case len(a.Records) > 0:
		text += fmt.Sprintf(" %d from %d on", len(a.Records), a.First)
	}
	if a.State != nil {
		text += fmt.Sprintf(" state %d bytes", len(a.State))
	}
	return text
}

func (c Chunk) String() string {
	return fmt.Sprintf("chunk #%d log %d snapshot %d chunk %d %d bytes", c.ID, c.Log, c.Snapshot, c.Number, len(c.Data))
}

func (i Install) String() string {
	text := fmt.Sprintf("install #%d log %d snapshot %d of %d chunks drops to %d", i.ID, i.Log, i.Snapshot, i.Chunks, i.Drop)
	if i.Anew {
		text += " and all behind"
	}
	if i.State != nil {
		text += fmt.Sprintf(" state %d bytes", len(i.State))
	}
	return text
}

func (f Fetch) String() string {
	return fmt.Sprintf("fetch #%d log %d snapshot %d chunk %d", f.ID, f.Log, f.Snapshot, f.Number)
}

func (a Appended) String() string  { return outcome("append", "appended", a.ID, a.Err) }
func (c Chunked) String() string   { return outcome("chunk", "chunked", c.ID, c.Err) }
func (i Installed) String() string { return outcome("install", "installed", i.ID, i.Err) }

func (f Fetched) String() string {
	if f.Err != nil {
		return outcome("fetch", "", f.ID, f.Err)
	}
	return fmt.Sprintf("fetched #%d %d bytes", f.ID, len(f.Data))
}

func outcome(operation, done string, id uint64, err error) string {
	switch {
	case err == nil:
		return fmt.Sprintf("%s #%d", done, id)
	case errors.Is(err, ErrGone):
		return fmt.Sprintf("%s #%d: gone", operation, id)
	}
	return fmt.Sprintf("%s #%d: %v", operation, id, err)
}
