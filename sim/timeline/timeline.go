package timeline

import "time"

// Kind is the kind of an event, which determines the fields in use.
type Kind uint8

// The kinds. Who is the lane of an event, At its time; each kind lists its other fields.
const (
	// Lane introduces a process that lives, dies and comes back: Client tells clients from members.
	Lane Kind = iota + 1
	// Started marks the start of the process. Text, if any, describes its role.
	Started
	// Stopped marks the end of the process: Why is "crash", or describes its orderly end.
	Stopped
	// Paused marks a process that does nothing while its clock runs; Until is when it is due to wake.
	Paused
	// Woke ends Paused.
	Woke

	// Sent is a message from Who to To: its number ID, Short and Text, and whether it is Routine. Name is its lock, if
	// any, and Token the grant's.
	Sent
	// Copied is a message that the network duplicates: ID is the copy's number, Of that of the message.
	Copied
	// Delivered marks the arrival of message ID at To (Who is To as well). Late marks one that took longer than an
	// undisturbed message.
	Delivered
	// Lost marks a message ID that will not arrive; Why is the reason.
	Lost

	// Viewed marks a member's change to another view: Short names it, Text describes it.
	Viewed
	// Leased marks the start of a member's lease, Lapsed its end.
	Leased
	Lapsed
	// Reigned marks the time from which a member may grant, Abdicated its end.
	Reigned
	Abdicated

	// Granted marks the time from which a user in the lane Who believes that it holds Name: the number ID, Mode, Token,
	// and By, the user's own name.
	Granted
	// Ended marks the end of grant ID for its holder, with Why: "unlocked" if that was its wish, "expired" if its own
	// clock has ended it. At is the time of the end.
	Ended
	// Held gives, for a grant that is open when the timeline ends, the time until which its holder believes in it
	// without further news: Until.
	Held

	// Fault is a fault of Who, or of all of Lanes: Short names it as the formats do, Text describes it, Until is its
	// end, or 0.
	Fault
	// Remark is a turn of the run that is not a fault of any process: Text. If Why is "healed" all faults end with it.
	Remark
	// Violated marks a broken promise: Promise, a description in Text, the lock Name, if any, contradictory Grants, and
	// Lanes of all concerned.
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

// Event is one event of a run. The fields in use depend on its Kind; all others are zero.
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
	Text    string // the full text
	Why     string
	Promise string

	Lanes  []string
	Grants []uint64

	Client  bool // Lane: a client; otherwise a member
	Routine bool // Sent: it only confirms that nothing has changed
	Late    bool // Delivered
}
