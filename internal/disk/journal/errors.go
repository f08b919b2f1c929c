package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInUse reports that another process, or another journal of this one, has the folder.
var ErrInUse = errors.New("another process uses it, or another journal of this process; end that one, or use another folder")

// ErrNone reports that a folder has no journal, although one was expected.
var ErrNone = errors.New("there is no journal in this folder")

// IdentityError reports that a folder has another owner.
type IdentityError struct {
	Folder      string
	Has, Wanted []byte
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("the journal in folder %q is that of %q, and %q was to open it; give each member a folder of its own, or start the one that this is of", e.Folder, e.Has, e.Wanted)
}

// FormatError reports that another version has made the folder.
type FormatError struct {
	Folder      string
	Has, Wanted string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the journal in folder %q has the format %q, and this version reads %q; use the version that made it", e.Folder, e.Has, e.Wanted)
}

// CorruptError reports that a folder does not contain what was written there.
type CorruptError struct {
	Folder string
	Part   string // the faulty part: "record", "snapshot", "identity" …
	Log    uint64 // number of the log, for a part of one
	Index  uint64 // of the record or chunk
	Err    error  // the fault
}

func (e *CorruptError) Error() string {
	part := e.Part
	switch e.Part {
	case partRecord, partChunk:
		part = fmt.Sprintf("%s %d of log %d", e.Part, e.Index, e.Log)
	case partHead, partSnapshot:
		part = fmt.Sprintf("the %s of log %d", e.Part, e.Log)
	}
	return fmt.Sprintf("the journal in folder %q is damaged: %s: %s; replace this member by a new one, or put the folder back as it was when the member stopped: an older copy lacks what it has promised since", e.Folder, part, sentence(e.Err))
}

// forMachines is a line of the database's error text that is not meant for people.
const forMachines = "<corruption detail carrier>"

// sentence returns an error's text in one line, without repetition: the database describes damage in several, and often
// twice.
func sentence(err error) string {
	var said []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != forMachines && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.Join(said, ": ")
}

// Unwrap returns the fault.
func (e *CorruptError) Unwrap() error { return e.Err }

// The parts that may be faulty.
const (
	partRecord   = "record"
	partChunk    = "chunk"
	partHead     = "head"
	partSnapshot = "snapshot"
	partRoot     = "the root"
	partDatabase = "the database"
	partIdentity = "the identity"
	partFloor    = "the floor"
	partReached  = "the file reached"
)
