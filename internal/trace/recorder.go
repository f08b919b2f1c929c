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

// Store receives the text of a trace.
type Store interface {
	// Put accepts a part of the text without blocking, and copies it. whole means that a step begins with it, so that
	// it may be refused; the error then is the reason, and only the line that ends the trace is put after that.
	Put(text []byte, whole bool) error
	// Flush waits until all text is written, or cannot be soon.
	Flush()
	// Ended reports the end of the trace, with the reason; "" writes nothing.
	Ended(why string)
}

// To returns a store that writes at once, for writers that never block.
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

// Recorder is a machine that records the input and output of the machine that it wraps. One goroutine at a time may use
// it.
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
	// Config is the configuration of the machines, Machine the outermost of them, and Cell the member's identity in
	// this life.
	Config  *member.Config
	Machine protocol.Machine
	Cell    membership.Cell
	// Tap is their source of random values.
	Tap *Tap
	// Protocols are the protocols that they may run.
	Protocols []protocol.Descriptor
	// Store receives the text.
	Store Store
}

// New returns a recorder, and writes the header of the life. The error says what cannot be written.
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

// newVeil returns a function that replaces a secret by a pseudonym. No other part of the program knows its key.
func newVeil() func([]byte) {
	var key [32]byte
	rand.Read(key[:]) // never fails: crypto/rand ends the process instead
	return func(secret []byte) {
		veil := hmac.New(sha256.New, key[:])
		veil.Write(secret)
		copy(secret, veil.Sum(nil))
	}
}

// Wake returns the machine's wake time.
func (r *Recorder) Wake() protocol.Time { return r.inner.Wake() }

// Step records the event, steps the machine, and records the effects.
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

// begin writes the event before the machine's step: the machine may change it, or not return. It reports whether the
// step is recorded.
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

// keptText is the memory kept between steps.
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

// broke records a broken invariant of the machine: the process ends.
func (r *Recorder) broke(broken any) {
	r.put(r.writer.Panic(r.drawn(r.text[:0]), fmt.Sprint(broken)))
	r.store.Flush()
}

// drawn writes the drawn random values.
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

// memberEnded is the reason for the end of a trace after an orderly end of its member.
const memberEnded = "the member has ended"

// Close ends the trace, if it has not ended. The machine must not be stepped after it.
func (r *Recorder) Close() { r.end(memberEnded) }

// end writes the reason for the end.
func (r *Recorder) end(why string) {
	if r.over {
		return
	}
	r.over = true
	r.store.Ended(why)
}
