package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInUse says that another process has the folder, or another journal of this one.
var ErrInUse = errors.New("another process uses it, or another journal of this process; end that one, or use another folder")

// ErrNone says that a folder has no journal, where one was expected.
var ErrNone = errors.New("there is no journal in this folder")

// IdentityError says that a folder is another's.
type IdentityError struct {
	Folder      string
	Has, Wanted []byte
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("the journal in folder %q is that of %q, and %q was to open it; give each member a folder of its own, or start the one that this is of", e.Folder, e.Has, e.Wanted)
}

// FormatError says that another version has made the folder.
type FormatError struct {
	Folder      string
	Has, Wanted string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the journal in folder %q has the format %q, and this version reads %q; use the version that made it", e.Folder, e.Has, e.Wanted)
}

// CorruptError says that a folder does not have what was written there.
type CorruptError struct {
	Folder string
	Part   string // what is wrong: "record", "snapshot", "identity" …
	Log    uint64 // which log's, for a part of one
	Index  uint64 // which record, for a record; which chunk, for a chunk
	Err    error  // what is wrong about it
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

// forMachines is a line of what the database says of damage that has a value and no words.
const forMachines = "<corruption detail carrier>"

// sentence is the text of an error in one line, once: the database describes damage in several, and often twice.
func sentence(err error) string {
	var said []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != forMachines && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.Join(said, ": ")
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// The parts that are found to be wrong.
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
