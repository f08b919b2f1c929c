package bakery

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// The text of messages and their contents in traces.

func (k Key) String() string {
	return fmt.Sprintf("%d/%d/%s", k.Member, k.Incarnation, protocol.FormatNumber("l", k.Number))
}

// idsOf lists the members of places.
func idsOf(places []local.Place) (ids []protocol.ID) {
	for _, p := range places {
		ids = append(ids, p.ID)
	}
	return ids
}

func (e Election) String() string {
	text := fmt.Sprintf("%v leaders=%v", e.Term, idsOf(e.Leaders))
	if e.After != (Term{}) {
		text += fmt.Sprintf(" after=%v", e.After)
	}
	return text
}

func (t *Ticket) String() string {
	text := fmt.Sprintf("%v %q %s", t.Key, t.Name, shapeText(t.Mode, t.Units, t.Capacity))
	if t.Try {
		text += " try"
	}
	return text
}

// shapeText describes a ticket's shape.
func shapeText(mode holdfast.Mode, units, capacity int) string {
	if mode == holdfast.ModeSlots {
		return fmt.Sprintf("slots %d/%d", units, capacity)
	}
	return mode.String()
}

func (c Choosing) String() string { return c.Key.String() }

func (v Vote) String() string {
	if !v.First {
		return "not the first"
	}
	return fmt.Sprintf("first count=%d%s", v.Count, listText(" before=", v.Before))
}

// listText lists something behind a label, if it is anything.
func listText[T any](label string, list []T) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("%s%v", label, list)
}

func (m Started) String() string {
	text := fmt.Sprintf("started priority=%d", m.Candidate.Priority)
	if m.Known.Term != (Term{}) {
		text += fmt.Sprintf(" knows %v", m.Known)
	}
	if m.Serves {
		text += " serves"
	}
	if m.Used {
		text += " used up"
	}
	return text + " · " + m.Tag.String()
}

func (m Elect) String() string   { return fmt.Sprintf("elect %v · %v", m.Election, m.Tag) }
func (m Elected) String() string { return fmt.Sprintf("elected %v · %v", m.Term, m.Tag) }
func (m Leaders) String() string { return fmt.Sprintf("leaders %v · %v", m.Election, m.Tag) }
func (m Refused) String() string {
	return fmt.Sprintf("refused %v%s · %v", m.Why, listText(" of ", m.Missing), m.Tag)
}
func (m Exhausted) String() string { return fmt.Sprintf("exhausted e%d · %v", m.Epoch, m.Tag) }

func (m Envelope) String() string {
	return fmt.Sprintf("%v · %v #%d seen=%d", m.Body, m.Term, m.Seq, m.Seen)
}

func (Heard) String() string      { return "heard" }
func (m Entering) String() string { return fmt.Sprintf("entering %v", &m.Ticket) }
func (m Entered) String() string {
	text := fmt.Sprintf("entered %v max=%d", m.Key, m.Max)
	if m.Capacity != 0 {
		text += fmt.Sprintf(" capacity=%d", m.Capacity)
	}
	if m.By != nil {
		text += fmt.Sprintf(" by %v", m.By.Holder)
	}
	return text
}
func (m GetMax) String() string { return fmt.Sprintf("get max %v", m.Key) }
func (m Max) String() string    { return fmt.Sprintf("max %v %d", m.Key, m.Max) }
func (m Add) String() string {
	text := fmt.Sprintf("add %v number=%d", m.Key, m.Number)
	if m.Activate {
		text += fmt.Sprintf(" activate count=%d", m.Count)
	}
	return text
}
func (m Added) String() string {
	text := fmt.Sprintf("added %v%s", m.Key, listText(" entering=", m.Entering))
	if m.Activated {
		text += fmt.Sprintf(" activated %v", m.Vote)
	}
	return text
}
func (m Exiting) String() string {
	text := fmt.Sprintf("exiting %v", m.Key)
	if m.Ready {
		text += " ready"
	}
	if m.Activate {
		text += fmt.Sprintf(" activate count=%d", m.Count)
	}
	return text
}
func (m Ready) String() string     { return fmt.Sprintf("ready %v", m.Key) }
func (m Activate) String() string  { return fmt.Sprintf("activate %v count=%d", m.Key, m.Count) }
func (m Activated) String() string { return fmt.Sprintf("activated %v %v", m.Key, m.Vote) }
func (m Drop) String() string      { return fmt.Sprintf("drop %v", m.Key) }
func (m Tickets) String() string {
	text := fmt.Sprintf("tickets names=%d floor=%d", len(m.Names), m.Floor)
	if m.Done {
		text += " done"
	}
	return text
}
func (m Lock) String() string      { return fmt.Sprintf("lock %v", &m.Ticket) }
func (m Unlock) String() string    { return fmt.Sprintf("unlock %v", m.Key) }
func (m Unlocking) String() string { return fmt.Sprintf("unlocking %v left=%v", m.Key, m.Left) }
func (m Claim) String() string {
	text := fmt.Sprintf("claim %d", len(m.Claims))
	for i := range m.Claims {
		c := &m.Claims[i]
		text += fmt.Sprintf(" %v token=%d", c.Ticket.Key, c.Token)
	}
	if m.Done {
		text += " done"
	}
	return text
}
func (m Locked) String() string   { return fmt.Sprintf("locked %v token=%v", m.Key, m.Token) }
func (m Queued) String() string   { return fmt.Sprintf("queued %v position=%d", m.Key, m.Position) }
func (m Failed) String() string   { return fmt.Sprintf("failed %v: %v", m.Key, m.Why) }
func (m Raise) String() string    { return fmt.Sprintf("raise %v above %v", m.Key, m.Above) }
func (m Unlocked) String() string { return fmt.Sprintf("unlocked %v", m.Key) }

// String returns the refusal in lower case.
func (r Refusal) String() string {
	switch r {
	case RefusedFew:
		return "few"
	case RefusedEpoch:
		return "epoch"
	}
	return fmt.Sprintf("refusal %d", uint8(r))
}

// String returns the failure in lower case.
func (f Failure) String() string {
	switch f {
	case FailedHeld:
		return "held"
	case FailedOverflow:
		return "overflow"
	case FailedConflict:
		return "conflict"
	case FailedLimit:
		return "limit"
	}
	return fmt.Sprintf("failure %d", uint8(f))
}

func (t Term) String() string { return fmt.Sprintf("t%d.%d", t.Epoch, t.View) }
