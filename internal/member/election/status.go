package election

import "github.com/holdfast-locks/holdfast/protocol"

// Status is the state of a member in the terms of the course notes.
type Status uint8

// The states of a member.
const (
	Down           Status = iota // just started, or in no member's view
	Halted                       // ELECTION: halted by a candidate, or itself a candidate
	Reorganization               // the coordinator is known, but its view is not installed
	Normal
)

var statusNames = [...]string{"down", "election", "reorganization", "normal"}

// String returns the name that every format uses.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Variables are the variables of the course notes, for callers that display them.
type Variables struct {
	Status      Status
	Candidate   protocol.ID   // the member whose election was accepted last
	Coordinator protocol.ID   // 0 if none is known
	Active      []protocol.ID // at a candidate or coordinator: the members asked to follow
	Answers     []protocol.ID // those of them that have answered in the current phase
}
