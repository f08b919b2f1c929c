package membership

import "github.com/holdfast-locks/holdfast/protocol"

// What the member itself may be asked: an Event of kind Call at Port
// protocol.Below has a pointer to one of these as its Fact.
type (
	// Leave asks for the last word before the process ends: the answer, *Left, comes
	// when the cell says what is promised to clients now. With nothing promised, the
	// next start need not wait; so the desk ends the sessions that hold nothing first.
	Leave struct{}
	// Left answers Leave. Err is why the cell could not be written: then the next
	// start will wait for more than it must.
	Left struct{ Err error }

	// Who asks what the member knows of itself. The answer is a *Self.
	Who struct{}
	// Self answers Who. View is nil before the first.
	Self struct {
		Cell    Cell
		View    *protocol.View
		Horizon protocol.Horizon
	}

	// Unfit is raised when the member cannot take part: its cell could not be written
	// at the start. It must be ended.
	Unfit struct{ Err error }
)
