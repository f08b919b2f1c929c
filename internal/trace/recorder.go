package trace

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Store takes the text of a trace.
type Store interface {
	// Put takes a part of the text without waiting, and copies it. whole says that a step
	// begins with it, so that it may be refused; the error then says why, and nothing is put
	// any more but the line that ends the trace.
	Put(text []byte, whole bool) error
	// Flush waits until what was put is written, or cannot be soon.
	Flush()
	// Ended hears that nothing more comes, and why; "" writes nothing of it.
	Ended(why string)
}

// To returns a store that writes at once, for writers that never wait.
func To(w io.Writer) Store { return &direct{w: w} }

type direct struct {
	w   io.Writer
	err error
}

func (d *direct) Put(text []byte, _ bool) error {
	if d.err == nil {
		_, d.err = d.w.Write(text)
	}
	return d.err
}

func (d *direct) Flush() {}

func (d *direct) Ended(why string) {
	if why != "" && d.err == nil {
		_, d.err = d.w.Write(endLine(why))
	}
}

// Recorder is a machine that writes down what the machine within it takes and does. It
// is used by one at a time.
type Recorder struct {
	inner  protocol.Machine
	tap    *Tap
	store  Store
	writer Writer
	number uint64
	text   []byte // scratch
	over   bool
}

// Config configures a Recorder.
type Config struct {
	// Config is what the machines were made from, Machine the foremost of them, and Cell
	// what the member knows of itself in this life.
	Config  *member.Config
	Machine protocol.Machine
	Cell    membership.Cell
	// Tap is what they draw from.
	Tap *Tap
	// Protocols are those that they can speak.
	Protocols []protocol.Descriptor
	// Store takes the text.
	Store Store
}

// New returns a recorder, and writes what the life begins with. The error says what of it
// cannot be written.
func New(c Config) (*Recorder, error) {
	codec, err := NewCodec(c.Protocols)
	if err != nil {
		return nil, err
	}
	r := &Recorder{inner: c.Machine, tap: c.Tap, store: c.Store}
	r.writer = Writer{Codec: codec, Veil: newVeil()}
	header := Header{Config: *c.Config, about: about{
		Holdfast: version(), Protocols: versions(c.Config), Started: startOf(c.Config.Wall),
		ID: c.Cell.ID, Incarnation: c.Cell.Incarnation, Drawn: c.Tap.numbers,
	}}
	text, err := header.appendTo(nil, codec)
	if err != nil {
		return nil, fmt.Errorf("record the configuration: %w", err)
	}
	c.Tap.drain()
	if err := c.Store.Put(text, true); err != nil {
		r.end(err.Error())
	}
	return r, nil
}

// newVeil returns what puts another secret in the place of one. Its key is known to no other part of the program.
func newVeil() func([]byte) {
	var key [32]byte
	rand.Read(key[:]) // never fails: crypto/rand ends the process instead
	return func(secret []byte) {
		veil := hmac.New(sha256.New, key[:])
		veil.Write(secret)
		copy(secret, veil.Sum(nil))
	}
}

// Wake returns when the machine wants to be woken.
func (r *Recorder) Wake() protocol.Time { return r.inner.Wake() }

// Step writes down the event, lets the machine take it, and writes down what it did.
func (r *Recorder) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if r.over || !r.begin(now, &ev) {
		r.inner.Step(now, ev, out)
		return
	}
	marks, whole := MarksOf(out), false
	defer func() {
		if !whole {
			broken := recover()
			r.broke(broken)
			panic(broken)
		}
	}()
	r.inner.Step(now, ev, out)
	whole = true
	r.finish(out, marks)
}

// begin writes the event before the machine takes it: the machine may change it, or not
// come back. It reports whether the step is recorded.
func (r *Recorder) begin(now protocol.Time, ev *protocol.Event) bool {
	r.tap.drain()
	r.number++
	text, err := r.writer.Event(r.text[:0], r.number, now, ev)
	if err == nil {
		r.text = text
		err = r.store.Put(text, true)
	}
	if err != nil {
		r.end(fmt.Sprintf("step %d and what follows: %v", r.number, err))
	}
	return err == nil
}

// keptText is how much memory is kept from one step to the next.
const keptText = 1 << 20

func (r *Recorder) finish(out *protocol.Effects, marks Marks) {
	text, err := r.writer.Effects(r.drawn(r.text[:0]), out, marks)
	if err != nil {
		r.end(fmt.Sprintf("the end of step %d and what follows: %v", r.number, err))
		return
	}
	r.put(r.writer.Wake(text, r.inner.Wake()))
}

// put writes the rest of a step.
func (r *Recorder) put(text []byte) {
	if err := r.store.Put(text, false); err != nil {
		r.end(fmt.Sprintf("the end of step %d and what follows: %v", r.number, err))
	}
	if r.text = text; cap(r.text) > keptText {
		r.text = nil
	}
}

// broke writes that the machine has broken an invariant: the process ends.
func (r *Recorder) broke(broken any) {
	r.put(r.writer.Panic(r.drawn(r.text[:0]), fmt.Sprint(broken)))
	r.store.Flush()
}

// drawn writes what was taken by chance.
func (r *Recorder) drawn(b []byte) []byte {
	for _, n := range r.tap.numbers {
		b = append(strconv.AppendUint(append(b, "  drew "...), n, 10), '\n')
	}
	for _, s := range r.tap.secrets {
		r.writer.Veil(s[:])
		b = append(fmt.Appendf(b, `  secret x"%x"`, s[:]), '\n')
	}
	for _, proof := range r.tap.proofs {
		b = append(fmt.Appendf(b, `  proved x"%x"`, proof[:]), '\n')
	}
	return b
}

// memberEnded is why the trace of a member ends that does so in good order.
const memberEnded = "the member has ended"

// Close ends the trace, if it has not ended. The machine is not stepped any more.
func (r *Recorder) Close() { r.end(memberEnded) }

// end writes why nothing more follows.
func (r *Recorder) end(why string) {
	if r.over {
		return
	}
	r.over = true
	r.store.Ended(why)
}
