package permission

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// The messages between peers, all sent as values.
//
//	asker → all      Request ClockRequest
//	peer → asker     Reply Free Defer CapacityConflict ClockAnswer
//
// What operators ask is in package local, and so is the Tag with which all begin.
type (
	// Request asks for a name: REQUEST. It is repeated until it is answered by a Reply.
	Request struct {
		local.Tag
		// Number names the request: its member never uses it again.
		Number uint64
		// Clock is that of its stamp; the other half of the stamp is the sender.
		Clock uint64
		Name  string
		holdfast.Shape
		// Try means that it does not wait: a member that defers it answers at once.
		Try bool
	}

	// Reply gives permission: the sender has nothing before the request, and will have nothing. REPLY of Ricart and
	// Agrawala and of Raymond; FREE of all units.
	Reply struct {
		local.Tag
		Number uint64
		// Last is the highest token that the sender has given in this reign, or before.
		Last holdfast.Token
		// Count is the number of the receiver's requests for this name that it settles: this one and those deferred
		// before it. Zero counts as 1.
		Count int
		// Name is the name, if Count is more than 1: the request of Number may be gone.
		Name string
	}

	// Free reports how many units the sender uses before the request, and that it will not use more: FREE of the
	// capacity less Uses. A Reply follows when that is nothing.
	Free struct {
		local.Tag
		Number uint64
		Last   holdfast.Token
		Uses   int
		By     lock.HeldBy // whose they are
	}

	// Defer reports that the sender has something before the request, and will reply later; a request with Try is
	// refused.
	Defer struct {
		local.Tag
		Number uint64
		By     lock.HeldBy // whose that is, held or wanted
	}

	// CapacityConflict refuses a request for slots of another capacity than the sender's before it.
	CapacityConflict struct {
		local.Tag
		Number   uint64
		Capacity int
	}

	// ClockRequest asks for the receiver's clock and slot, and has the sender's. It is repeated until it is answered.
	ClockRequest struct {
		local.Tag
		Clock uint64
		Slot  int // 1 to 64, what tells its tokens from others'; 0 while it has none
	}
	// ClockAnswer has the sender's clock and slot.
	ClockAnswer struct {
		local.Tag
		Clock uint64
		Slot  int
	}
)

func (m Request) String() string {
	text := fmt.Sprintf("request %s %q %s clock=%s", number(m.Number), m.Name, m.Describe(), clockText(m.Clock))
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

func (m CapacityConflict) String() string {
	return fmt.Sprintf("capacity conflict %s capacity=%d · %v", number(m.Number), m.Capacity, m.Tag)
}

func (m ClockRequest) String() string {
	return fmt.Sprintf("clock request clock=%s slot=%d · %v", clockText(m.Clock), m.Slot, m.Tag)
}

func (m ClockAnswer) String() string {
	return fmt.Sprintf("clock answer clock=%s slot=%d · %v", clockText(m.Clock), m.Slot, m.Tag)
}

// clockText renders a clock as the tokens are: epoch:count.
func clockText(clock uint64) string { return fmt.Sprintf("%d:%d", clock>>32, clock&(1<<32-1)) }

func lastText(last holdfast.Token) string {
	if last == 0 {
		return ""
	}
	return " last=" + clockText(uint64(last))
}

// number renders the number of a request.
func number(n uint64) string { return protocol.FormatNumber("r", n) }
