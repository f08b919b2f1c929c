package election

import "github.com/holdfast-locks/holdfast/protocol"

// Status is the state of a member as the course notes name it.
type Status uint8

// The states of a member.
const (
	Down           Status = iota // just started, or in no member's view
	Halted                       // ELECTION: halted by a candidate, or one itself
	Reorganization               // the coordinator is known, its view is not installed
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

// Variables are the course notes' own, for callers that show them.
type Variables struct {
	Status      Status
	Candidate   protocol.ID   // whose election was accepted last
	Coordinator protocol.ID   // 0 where none is known
	Active      []protocol.ID // the candidate's or coordinator's: those that are asked to follow
	Answers     []protocol.ID // of them, those that have answered in the present phase
}
