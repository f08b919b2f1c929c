package timeline

import "time"

// Kind says what has happened, and so which fields of a Event mean something.
type Kind uint8

// The kinds. Who is the lane that an event happens to, At its time; each kind says which
// other fields count.
const (
	// Lane introduces a process that lives, dies and comes back: Client says which sort.
	Lane Kind = iota + 1
	// Started says that the process runs from here on. Text, if any, says as what.
	Started
	// Stopped says that it does not: Why is "crash", or how it ended in good order.
	Stopped
	// Paused says that it does nothing, though its clock runs; Until is when it is to wake.
	Paused
	// Woke ends Paused.
	Woke

	// Sent is a message from Who to To: its number ID, Short and Text, and whether it is
	// Routine. Name is the lock it is about, if it is about one, and Token its grant's.
	Sent
	// Copied is a message that the network delivers once more: ID is the copy's own
	// number, Of that of the message.
	Copied
	// Delivered says that message ID has reached To (Who is To as well). Late says that it
	// took longer than a message takes to which nothing happens.
	Delivered
	// Lost says that message ID will not arrive; Why says what became of it.
	Lost

	// Viewed says that a member has another view of who is there: Short names it, Text
	// tells all of it.
	Viewed
	// Leased says that a member has a lease from here on, Lapsed that it has none.
	Leased
	Lapsed
	// Reigned says that a member may grant from here on, Abdicated that it may not.
	Reigned
	Abdicated

	// Granted says that a user in the lane Who takes himself for the holder of Name from
	// here on: the number ID, Mode, Token, and By, the user's own name.
	Granted
	// Ended says that the holder of grant ID does so no more, and Why: "unlocked" where he
	// wished so, "expired" where his own clock has ended it. At is when that was true.
	Ended
	// Held says of a grant that goes on when the timeline ends until when its holder
	// believes in it, if nothing more comes to him: Until.
	Held

	// Fault is something that was done to Who, or to all of Lanes: Short names it as the
	// formats do, Text tells it, Until is when it ends, or 0.
	Fault
	// Remark is a turn of the run that is no fault of any process: Text. If Why is "healed" all
	// faults end with it.
	Remark
	// Violated says that a promise was not kept: Promise, Text in words, the lock Name if
	// it is about one, Grants that contradict each other, and Lanes of all concerned.
	Violated

	kinds
)

var kindNames = [kinds]string{
	"", "lane", "started", "stopped", "paused", "woke", "sent", "copied", "delivered", "lost", "viewed", "leased", "lapsed",
	"reigned", "abdicated", "granted", "ended", "held", "fault", "remark", "violated",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown"
}

// Event is one thing that has happened. Its fields mean what its Kind says; all others
// are zero.
type Event struct {
	At   time.Duration // of real time, since the beginning of the run
	Kind Kind
	Who  string
	To   string

	ID    uint64
	Of    uint64
	Name  string
	Mode  string
	By    string
	Token uint64
	Until time.Duration // of real time, as At

	Short   string // a few words
	Text    string // all of it
	Why     string
	Promise string

	Lanes  []string
	Grants []uint64

	Client  bool // Lane: a client; otherwise a member
	Routine bool // Sent: it says that nothing has changed
	Late    bool // Delivered
}
