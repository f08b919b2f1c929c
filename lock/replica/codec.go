package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Entries and snapshots are written down as they are here for as long as there are logs: what changes
// their form changes the version that they begin with.

// entryVersion is the first byte of an entry.
const entryVersion = 1

// The largest texts that are read: names and owners are far shorter (holdfast.CheckName).
const mostText = 4096

// ErrMalformed is wrapped by all that is wrong with what is read.
var ErrMalformed = errors.New("malformed")

// What an entry says of the reign.
const (
	goesOn      = 0
	begins      = 1
	beginsAbove = 2 // and above which one
)

// Append writes an entry behind b.
func (e *Entry) Append(b []byte) []byte {
	w := writer{append(b, entryVersion)}
	w.time(e.At)
	switch {
	case !e.Begin:
		w.b = append(w.b, goesOn)
	case e.Above == 0:
		w.b = append(w.b, begins)
	default:
		w.b = append(w.b, beginsAbove)
		w.number(e.Above)
	}
	w.number(uint64(len(e.Ops)))
	for i := range e.Ops {
		w.op(&e.Ops[i])
	}
	return w.b
}

// Decode reads what Append has written, and nothing beside it. The texts are copies.
func (e *Entry) Decode(b []byte) error {
	r := reader{b: b}
	if version := r.byte(); r.err == nil && version != entryVersion {
		return fmt.Errorf("entry of version %d, where this program knows %d; use the program that wrote it, or a newer one", version, entryVersion)
	}
	e.At, e.Begin, e.Above = r.time(), false, 0
	switch kind := r.byte(); kind {
	case goesOn:
	case begins:
		e.Begin = true
	case beginsAbove:
		e.Begin, e.Above = true, uint64(r.small(lock.MaxReign-1))
	default:
		r.fail("what an entry says of the reign is %d", kind)
	}
	count := r.count()
	e.Ops = e.Ops[:0]
	for range count {
		if r.err != nil {
			break
		}
		e.Ops = append(e.Ops, r.op())
	}
	return r.end("entry")
}

// acquireOnce is written for the kind of an Acquire that has Once, givenUp for that of a Cancel with GivenUp, and recall for
// Recall, which came after them; so did attach, and openAttached and endAttached of an Open and an End that have Attached, and
// acquireBy and acquireOnceBy of an Acquire that has By.
const (
	acquireOnce  = EndIdle + 1
	givenUp      = EndIdle + 2
	recall       = EndIdle + 3
	attach       = EndIdle + 4
	openAttached = EndIdle + 5
	endAttached  = EndIdle + 6

	acquireBy     = EndIdle + 7
	acquireOnceBy = EndIdle + 8
)

// LeastOp is the fewest bytes that Op.Append writes.
const LeastOp = 5

// Append writes an operation behind b, as it is in an entry.
func (o *Op) Append(b []byte) []byte {
	w := writer{b}
	w.op(o)
	return w.b
}

// Size is how many bytes Append writes at most.
func (o *Op) Size() int {
	const numbers = 200 // all of it that is no text
	return numbers + len(o.Name) + len(o.Owner) + len(o.Reason) + len(o.Client) + len(o.Identity) + len(o.Once)
}

// Check says what Append would write of an operation and TakeOp would not read: something that no client asks for.
func (o *Op) Check() error {
	if o.Kind < Open || o.Kind > Attach {
		return fmt.Errorf("an operation of kind %d: %w", o.Kind, ErrMalformed)
	}
	if o.Attached != nil && o.Attached.Client == 0 || o.Kind == Attach && o.Attached == nil {
		return fmt.Errorf("an operation of a client without a number: %w", ErrMalformed)
	}
	for _, n := range [...]int{o.Units, o.Capacity} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("an operation with %d, where 0 to %d is written: %w", n, math.MaxInt32, ErrMalformed)
		}
	}
	for _, s := range [...]string{o.Name, o.Owner, o.Reason, o.Client, o.Identity, o.Once} {
		if len(s) > mostText {
			return fmt.Errorf("an operation with a text of %d bytes, where %d are the most: %w", len(s), mostText, ErrMalformed)
		}
	}
	return nil
}

// TakeOp takes an operation, as Append writes it, off b, and returns what is left. The texts are copies.
func TakeOp(b []byte) (o Op, rest []byte, err error) {
	r := reader{b: b}
	o = r.op()
	if r.err != nil {
		return Op{}, nil, fmt.Errorf("read operation: %w", r.err)
	}
	return o, r.b, nil
}

// code is what is written for the kind of an operation.
func (o *Op) code() byte {
	switch {
	case o.Kind == Acquire && o.By.Client != 0 && o.Once != "":
		return byte(acquireOnceBy)
	case o.Kind == Acquire && o.By.Client != 0:
		return byte(acquireBy)
	case o.Kind == Acquire && o.Once != "":
		return byte(acquireOnce)
	case o.Kind == Cancel && o.GivenUp:
		return byte(givenUp)
	case o.Kind == Recall:
		return byte(recall)
	case o.Kind == Attach:
		return byte(attach)
	case o.Kind == Open && o.Attached != nil:
		return byte(openAttached)
	case o.Kind == End && o.Attached != nil:
		return byte(endAttached)
	}
	return byte(o.Kind)
}

// read sets the kind of an operation by what is written for it, and reports whether it names who uses the session.
func (o *Op) read(code Kind) (attached bool) {
	switch o.Kind = code; code {
	case acquireOnce, acquireBy, acquireOnceBy:
		o.Kind = Acquire
	case givenUp:
		o.Kind, o.GivenUp = Cancel, true
	case recall:
		o.Kind = Recall
	case attach:
		o.Kind, attached = Attach, true
	case openAttached:
		o.Kind, attached = Open, true
	case endAttached:
		o.Kind, attached = End, true
	}
	return attached
}

// op writes what an operation's kind names.
func (w *writer) op(o *Op) {
	code := o.code()
	w.b = append(w.b, code)
	w.number(o.ID.Member)
	w.number(o.ID.Number)
	if o.Kind != Break {
		w.session(o.Session)
	}
	switch o.Kind {
	case Open:
		w.time(o.TTL)
		w.text(o.Client)
		w.text(o.Identity)
		w.b = append(w.b, o.Secret[:]...)
	case Acquire:
		w.number(o.Request)
		w.text(o.Name)
		w.text(o.Owner)
		w.text(o.Reason)
		w.text(o.Client)
		w.number(uint64(o.Mode))
		w.number(uint64(o.Units))
		w.number(uint64(o.Capacity))
		w.flag(o.Try)
		w.time(o.Age)
		w.time(o.Wait)
		w.time(o.Hold)
		w.time(o.Belief)
		if o.Once != "" {
			w.text(o.Once)
			w.number(o.Content)
		}
		if o.By.Client != 0 {
			w.number(o.By.Client)
			w.number(o.By.Generation)
		}
	case Release, Recall:
		w.number(o.Request)
		w.text(o.Name)
		w.number(uint64(o.Token))
	case Cancel:
		w.number(o.Request)
		w.text(o.Name)
	case Extend:
		w.text(o.Name)
		w.number(uint64(o.Token))
		w.time(o.Hold)
	case Break:
		w.text(o.Name)
		w.number(uint64(o.Token))
	case LetIn:
		w.number(o.Request)
		w.session(o.Other)
		w.text(o.Owner)
		w.time(o.Age)
		w.time(o.Wait)
		w.time(o.Hold)
	}
	if o.Attached != nil && (o.Kind == Attach || o.Kind == Open || o.Kind == End) {
		w.attachments(o.Attached)
	}
}

func (r *reader) op() (o Op) {
	code := Kind(r.byte())
	attached := o.read(code)
	o.ID = OpID{r.number(), r.number()}
	if o.Kind != Break {
		o.Session = r.session()
	}
	switch o.Kind {
	case End, Expire, EndIdle, Attach:
	case Open:
		o.TTL, o.Client, o.Identity = r.time(), r.text(), r.text()
		copy(o.Secret[:], r.bytes(len(o.Secret)))
	case Acquire:
		o.Request, o.Name, o.Owner, o.Reason, o.Client = r.number(), r.text(), r.text(), r.text(), r.text()
		o.Mode, o.Units, o.Capacity = holdfast.Mode(r.small(math.MaxUint8)), r.small(math.MaxInt32), r.small(math.MaxInt32)
		o.Try = r.flag()
		o.Age, o.Wait, o.Hold, o.Belief = r.time(), r.time(), r.time(), r.time()
		if code == acquireOnce || code == acquireOnceBy {
			o.Once, o.Content = r.text(), r.number()
			if o.Once == "" {
				r.fail("what is wanted once has no name")
			}
		}
		if code == acquireBy || code == acquireOnceBy {
			if o.By = (lock.Attachment{Client: r.number(), Generation: r.number()}); o.By.Client == 0 {
				r.fail("the client that asks has no number")
			}
		}
	case Release, Recall:
		o.Request, o.Name, o.Token = r.number(), r.text(), holdfast.Token(r.number())
	case Cancel:
		o.Request, o.Name = r.number(), r.text()
	case Extend:
		o.Name, o.Token, o.Hold = r.text(), holdfast.Token(r.number()), r.time()
	case Break:
		o.Name, o.Token = r.text(), holdfast.Token(r.number())
	case LetIn:
		o.Request, o.Other, o.Owner = r.number(), r.session(), r.text()
		o.Age, o.Wait, o.Hold = r.time(), r.time(), r.time()
	default:
		r.fail("an operation of kind %d", o.Kind)
	}
	if attached {
		if a := r.attachments(); a.Client != 0 {
			o.Attached = &a
		} else {
			r.fail("who uses the session has no number")
		}
	}
	return o
}

// attachments writes the client that a session is attached to, and how many were before it that are known, and those.
func (w *writer) attachments(a *lock.Attachments) {
	w.number(a.Client)
	w.number(a.Generation)
	count := slices.Index(a.Former[:], 0)
	if count < 0 {
		count = len(a.Former)
	}
	w.number(uint64(count))
	for _, client := range a.Former[:count] {
		w.number(client)
	}
}

func (r *reader) attachments() (a lock.Attachments) {
	a.Client, a.Generation = r.number(), r.number()
	for i := range r.small(lock.MostFormer) {
		if a.Former[i] = r.number(); a.Former[i] == 0 {
			r.fail("a former client has no number")
		}
	}
	return a
}

// writer appends.
type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// time writes a time that may be lock.Never, or below 0.
func (w *writer) time(t time.Duration) { w.b = binary.AppendVarint(w.b, int64(t)) }

func (w *writer) flag(set bool) {
	bit := byte(0)
	if set {
		bit = 1
	}
	w.b = append(w.b, bit)
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) session(s lock.SessionID) {
	w.number(s.Member)
	w.number(s.Number)
}

// reader reads until something is wrong, which is kept.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, values ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format+": %w", append(values, ErrMalformed)...)
	}
	r.b = nil
}

// end is what was wrong, and that nothing is left.
func (r *reader) end(of string) error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes follow its end", len(r.b))
	}
	if r.err != nil {
		return fmt.Errorf("read %s: %w", of, r.err)
	}
	return nil
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.fail("it ends early")
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) byte() byte {
	if part := r.bytes(1); part != nil {
		return part[0]
	}
	return 0
}

// number reads a number that is written in as few bytes as it takes: there is one form of everything.
func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || size > 1 && r.b[size-1] == 0 {
		r.fail("no number")
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) time() time.Duration {
	n := r.number() // as Varint, of which it is a part
	t := int64(n >> 1)
	if n&1 != 0 {
		t = ^t
	}
	return time.Duration(t)
}

func (r *reader) flag() bool {
	b := r.byte()
	if b > 1 {
		r.fail("a flag is %d", b)
	}
	return b == 1
}

// small reads a number that is not above most.
func (r *reader) small(most uint64) int {
	n := r.number()
	if n > most {
		r.fail("%d, where %d is the most", n, most)
		return 0
	}
	return int(n)
}

// count reads of how many things there are; each takes a byte at least.
func (r *reader) count() int { return r.small(uint64(len(r.b))) }

func (r *reader) text() string {
	n := r.number()
	if n > mostText {
		r.fail("a text of %d bytes, where %d are the most", n, mostText)
		return ""
	}
	return string(r.bytes(int(n)))
}

func (r *reader) session() lock.SessionID {
	return lock.SessionID{Member: r.number(), Number: r.number()}
}
