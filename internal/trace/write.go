package trace

import (
	"strconv"

	"github.com/holdfast-locks/holdfast/internal/trace/text"
	"github.com/holdfast-locks/holdfast/protocol"
)

// kindNames are the event kinds' names in a step's line.
var kindNames = [...]string{protocol.Start: "start", protocol.Tick: "tick", protocol.Receive: "receive", protocol.Call: "call"}

// Writer encodes steps as text. Veil hides secrets; nil if there are none.
type Writer struct {
	Codec *text.Codec
	Veil  func([]byte)
}

// Event appends the line of a step. The error says what cannot be written.
func (w *Writer) Event(b []byte, number uint64, now protocol.Time, ev *protocol.Event) (_ []byte, err error) {
	before := b
	b = append(strconv.AppendUint(b, number, 10), ' ')
	b = append(text.AppendDuration(b, now), ' ')
	b = append(b, kindNames[ev.Kind]...)
	switch ev.Kind {
	case protocol.Receive:
		b = strconv.AppendUint(append(b, ' '), uint64(ev.From), 10)
		b, err = w.at(b, ev.Port, ev.Fact)
	case protocol.Call:
		b = call(append(b, ' '), ev.Call)
		b, err = w.at(b, ev.Port, ev.Fact)
	}
	if err != nil {
		return before, err
	}
	return append(b, '\n'), nil
}

// at appends a port and its value.
func (w *Writer) at(b []byte, port protocol.Port, value any) ([]byte, error) {
	b = strconv.AppendUint(append(b, " at "...), uint64(port), 10)
	return w.Codec.Append(append(b, ' '), value, w.Veil)
}

func call(b []byte, id protocol.CallID) []byte {
	b = append(strconv.AppendUint(b, id.Sink, 10), '.')
	return strconv.AppendUint(b, id.Op, 10)
}

// Effects appends the lines of a step's effects, except the last line. Replies before first are an earlier step's.
func (w *Writer) Effects(b []byte, out *protocol.Effects, first Marks) (_ []byte, err error) {
	before := b
	for i := first.sends; i < len(out.Sends) && err == nil; i++ {
		b, err = w.send(b, &out.Sends[i])
	}
	for i := first.replies; i < len(out.Replies) && err == nil; i++ {
		b, err = w.reply(b, &out.Replies[i])
	}
	for i := first.raises; i < len(out.Raises) && err == nil; i++ {
		b, err = w.Codec.Append(append(b, "  raise "...), out.Raises[i], w.Veil)
		b = append(b, '\n')
	}
	for i := first.notes; i < len(out.Notes) && err == nil; i++ {
		b = strconv.AppendQuote(append(b, "  note "...), out.Notes[i].String())
		b = append(b, '\n')
	}
	if err != nil {
		return before, err
	}
	return b, nil
}

// Marks are the offsets at which a step's own effects begin.
type Marks struct{ sends, replies, raises, notes int }

// MarksOf returns where the effects of the next step will begin.
func MarksOf(out *protocol.Effects) Marks {
	return Marks{len(out.Sends), len(out.Replies), len(out.Raises), len(out.Notes)}
}

func (w *Writer) send(b []byte, e *protocol.Envelope) (_ []byte, err error) {
	b = append(b, "  send "...)
	if e.To == protocol.AnyMember {
		b = strconv.AppendQuote(b, e.Address)
	} else {
		b = strconv.AppendUint(b, uint64(e.To), 10)
	}
	b, err = w.at(b, e.Port, e.Message)
	return append(b, '\n'), err
}

func (w *Writer) reply(b []byte, r *protocol.Reply) (_ []byte, err error) {
	b = call(append(b, "  reply "...), r.To)
	if r.Decision.Kind != 0 {
		b = strconv.AppendUint(append(b, " at "...), uint64(r.Port), 10)
		b, err = w.Codec.AppendPointed(append(b, ' '), &r.Decision, w.Veil)
	} else {
		b, err = w.at(b, r.Port, r.Result)
	}
	return append(b, '\n'), err
}

// Wake appends the last line of a step.
func (w *Writer) Wake(b []byte, at protocol.Time) []byte {
	return append(text.AppendDuration(append(b, "  wake "...), at), '\n')
}

// Panic appends the last line of a step in which an invariant was broken.
func (w *Writer) Panic(b []byte, what string) []byte {
	return append(strconv.AppendQuote(append(b, "  panic "...), what), '\n')
}
