package permission

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages between peers, all sent as values.
//
//	asker → all      Request ClockRequest Ask
//	peer → asker     Reply Free Defer Differs ClockAnswer Answer
type (
	// Tag is what every message begins with. One of another view than the receiver's, or of
	// a tenure that its view does not have, is void; one of the view that is about to come
	// waits for it. Nothing is lost with a void one: whoever waits for an answer asks again.
	Tag struct {
		View   uint64
		Epoch  protocol.Epoch
		Tenure protocol.Tenure // the sender's
	}

	// Request asks for a name: REQUEST. It is repeated until it is answered by a Reply.
	Request struct {
		Tag
		// Number names the request: its member never uses it again.
		Number uint64
		// Clock is that of its stamp; the other half of the stamp is who sends it.
		Clock    uint64
		Name     string
		Mode     holdfast.Mode
		Units    int // slots only
		Capacity int // slots only
		// Try says that it does not wait: who defers it says so at once.
		Try bool
	}

	// Reply gives permission: the sender has nothing before the request, and will have
	// nothing. REPLY of Ricart and Agrawala and of Raymond; FREE of all units.
	Reply struct {
		Tag
		Number uint64
		// Last is the highest token that the sender has given in this reign, or before.
		Last holdfast.Token
		// Count is how many requests of the receiver for this name are settled by it: this one
		// and those that were deferred before it. Zero counts as 1.
		Count int
		// Name is the name, where Count is more than 1: the one that Number names may be gone.
		Name string
	}

	// Free says how many units the sender uses before the request, and that it will not use
	// more: FREE of the capacity less Uses. A Reply follows when that is nothing.
	Free struct {
		Tag
		Number uint64
		Last   holdfast.Token
		Uses   int
		By     lock.HeldBy // whose they are
	}

	// Defer says that the sender has something before the request, and will reply later;
	// to a request with Try, that it is refused.
	Defer struct {
		Tag
		Number uint64
		By     lock.HeldBy // whose that is, held or wanted
	}

	// Differs refuses a request for slots of another capacity than those that the sender has
	// before it.
	Differs struct {
		Tag
		Number   uint64
		Capacity int
	}

	// ClockRequest asks for the receiver's clock and slot, and tells the sender's. It is repeated
	// until it is answered.
	ClockRequest struct {
		Tag
		Clock uint64
		Slot  int // 1 to 64, what tells its tokens from others'; 0 while it has none
	}
	// ClockAnswer tells them.
	ClockAnswer struct {
		Tag
		Clock uint64
		Slot  int
	}

	// Ask is an operator's call that every peer answers for its own clients. It is repeated
	// until it is answered; what it asks for can be done twice.
	Ask struct {
		Tag
		Number uint64
		Kind   AskKind
		Names  []string       // AskShow: one or more; AskBreak: one
		Token  holdfast.Token // AskBreak
		Reason string         // AskBreak
		Cursor uint64         // AskScan
		Limit  int            // AskScan
		Skip   int            // AskShow of one name: how many of the holders and waiters are known
	}

	// Answer answers an Ask. Times in it are relative to when it was sent.
	Answer struct {
		Tag
		Number uint64
		Skip   int
		Locks  []lock.Lock  // AskShow, AskScan
		Next   uint64       // AskScan: the cursor of the next one; 0 at the end
		More   int          // AskShow of one name: what to skip next; 0 where it is complete
		Grants []lock.Grant // AskBreak
		Counts Counts       // AskCount
	}
)

// Counts is how much a member's clients have in the space.
type Counts struct {
	Locks, Waiters, Sessions int
	Awaited                  []protocol.Awaited // by this member, in order of seniority
}

// AskKind says what an Ask asks.
type AskKind uint8

// The kinds.
const (
	AskShow AskKind = iota + 1
	AskScan
	AskBreak
	AskCount
)

// String returns the kind in lower case.
func (k AskKind) String() string {
	switch k {
	case AskShow:
		return "show"
	case AskScan:
		return "scan"
	case AskBreak:
		return "break"
	case AskCount:
		return "count"
	}
	return fmt.Sprintf("ask %d", uint8(k))
}

// Tagged returns what the message begins with.
func (t Tag) Tagged() Tag { return t }

func (t Tag) String() string {
	return fmt.Sprintf("v%d e%d t%d.%d", t.View, t.Epoch.Counter, t.Tenure.Incarnation, t.Tenure.Lapses)
}

func (m Request) String() string {
	text := fmt.Sprintf("request %s %q %s clock=%s", number(m.Number), m.Name, shape{m.Mode, m.Units, m.Capacity}, clockText(m.Clock))
	if m.Try {
		text += " try"
	}
	return text + " · " + m.Tag.String()
}

func (m Reply) String() string {
	text := "reply " + number(m.Number)
	if m.Count > 1 {
		text += fmt.Sprintf(" count=%d of %q", m.Count, m.Name)
	}
	return text + lastText(m.Last) + " · " + m.Tag.String()
}

func (m Free) String() string {
	return fmt.Sprintf("free %s uses=%d%s · %v", number(m.Number), m.Uses, lastText(m.Last), m.Tag)
}

func (m Defer) String() string {
	return fmt.Sprintf("defer %s by %v · %v", number(m.Number), m.By.Holder, m.Tag)
}

func (m Differs) String() string {
	return fmt.Sprintf("differs %s capacity=%d · %v", number(m.Number), m.Capacity, m.Tag)
}

func (m ClockRequest) String() string {
	return fmt.Sprintf("clock request clock=%s slot=%d · %v", clockText(m.Clock), m.Slot, m.Tag)
}

func (m ClockAnswer) String() string {
	return fmt.Sprintf("clock answer clock=%s slot=%d · %v", clockText(m.Clock), m.Slot, m.Tag)
}

func (m Ask) String() string {
	return fmt.Sprintf("ask %d %v %q · %v", m.Number, m.Kind, m.Names, m.Tag)
}

func (m Answer) String() string { return fmt.Sprintf("answer %d · %v", m.Number, m.Tag) }

// clockText renders a clock as the tokens are: epoch:count.
func clockText(clock uint64) string { return fmt.Sprintf("%d:%d", clock>>32, clock&(1<<32-1)) }

func lastText(last holdfast.Token) string {
	if last == 0 {
		return ""
	}
	return " last=" + clockText(uint64(last))
}

// number renders the number of a request.
func number(n uint64) string { return protocol.ShowNumber("r", n) }

// Vocabulary lists one value of each type that is sent here. Whoever writes such values down,
// or reads them, needs to know of no others.
func Vocabulary() []any {
	return []any{
		Request{}, Reply{}, Free{}, Defer{}, Differs{}, ClockRequest{}, ClockAnswer{}, Ask{}, Answer{},
	}
}
