package replica

import (
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// The formats of entries and snapshots last as long as there are logs: a change of their form must change their initial
// version.

// entryVersion is the first byte of an entry.
const entryVersion = 1

// What an entry says about the reign.
const (
	goesOn uint8 = iota
	begins
	beginsAbove // and above which one
)

// Append appends an entry to b. It panics if Decode would refuse the result, which no client's request causes.
func (e *Entry) Append(b []byte) []byte {
	c := wire.To(slices.Grow(b, 64*len(e.Ops))) // most need less
	e.code(&c)
	return c.Appended()
}

// Decode decodes exactly the output of Append. The texts are copies.
func (e *Entry) Decode(b []byte) error {
	c := wire.From(b)
	e.code(&c)
	if err := c.End(); err != nil {
		return fmt.Errorf("read entry: %w", err)
	}
	return nil
}

func (e *Entry) code(c *wire.Coder) {
	version, reign := uint8(entryVersion), goesOn
	if wire.Enum(c, &version, math.MaxUint8); version != entryVersion {
		c.Refuse("it is of version %d, where this program knows %d; use the program that wrote it, or a newer one", version, entryVersion)
	}
	c.Duration(&e.At)
	switch {
	case e.Begin && e.Above != 0:
		reign = beginsAbove
	case e.Begin:
		reign = begins
	}
	if wire.Enum(c, &reign, beginsAbove); !c.Writing() {
		e.Begin, e.Above = reign != goesOn, 0
	}
	if reign == beginsAbove {
		if wire.UpTo(c, &e.Above, lock.MaxReign-1); e.Above == 0 {
			c.Refuse("it begins above a reign that is none")
		}
	}
	ops := wire.Elements(c, &e.Ops, LeastOp, math.MaxInt)
	for i := range ops {
		ops[i].Code(c)
	}
}

// The optional contents of an operation, in addition to those of its kind.
const (
	withGivenUp  = 1
	withAttached = 1
	withTied     = 2
	withOnce     = 1
	withBy       = 2
	withValue    = 4
	withDeadlock = 8
	forms        = 16 // how many forms of a kind there can be
)

// firsts has the first byte of an operation, by its kind and its form. The forms without options are the oldest, and
// have their kind's number; 0 is none.
var firsts = [...]byte{
	forms * Open:                      1,
	forms * End:                       2,
	forms * Expire:                    3,
	forms * Acquire:                   4,
	forms * Release:                   5,
	forms * Cancel:                    6,
	forms * Extend:                    7,
	forms * Break:                     8,
	forms * LetIn:                     9,
	forms * EndIdle:                   10,
	forms*Acquire + withOnce:          11,
	forms*Cancel + withGivenUp:        12,
	forms * Recall:                    13,
	forms*Attach + withAttached:       14,
	forms*Open + withAttached:         15,
	forms*End + withAttached:          16,
	forms*Acquire + withBy:            17,
	forms*Acquire + withOnce + withBy: 18,

	forms*Attach + withTied:                19,
	forms*Attach + withAttached + withTied: 20,
	forms*Open + withTied:                  21,
	forms*Open + withAttached + withTied:   22,

	forms * Amend:                                 23,
	forms*Acquire + withValue:                     24,
	forms*Acquire + withValue + withOnce:          25,
	forms*Acquire + withValue + withBy:            26,
	forms*Acquire + withValue + withOnce + withBy: 27,

	forms*Acquire + withDeadlock:                                 28,
	forms*Acquire + withDeadlock + withOnce:                      29,
	forms*Acquire + withDeadlock + withBy:                        30,
	forms*Acquire + withDeadlock + withOnce + withBy:             31,
	forms*Acquire + withDeadlock + withValue:                     32,
	forms*Acquire + withDeadlock + withValue + withOnce:          33,
	forms*Acquire + withDeadlock + withValue + withBy:            34,
	forms*Acquire + withDeadlock + withValue + withOnce + withBy: 35,
}

// form codes an operation's kind, and returns its optional contents.
func (o *Op) form(c *wire.Coder) (with int) {
	switch {
	case o.Kind == Acquire && o.Once != "":
		with = withOnce
	case o.Kind == Cancel && o.GivenUp:
		with = withGivenUp
	case (o.Kind == Open || o.Kind == End || o.Kind == Attach) && o.Attached != nil:
		with = withAttached
	}
	if o.Kind == Acquire && o.By.Client != 0 {
		with += withBy
	}
	if o.Kind == Acquire && o.Value != "" {
		with += withValue
	}
	if o.Kind == Acquire && o.Deadlock != holdfast.Ignore {
		with += withDeadlock
	}
	if o.ties() {
		with += withTied
	}
	at, first := forms*int(o.Kind)+with, byte(0)
	if at < len(firsts) {
		first = firsts[at]
	}
	if wire.Enum(c, &first, math.MaxUint8); !c.Writing() {
		o.Kind = Kind(first)
		at = slices.Index(firsts[:], first)
	}
	if first == 0 || at < 0 {
		c.Fail(fmt.Errorf("an operation of kind %d: %w", o.Kind, wire.ErrRange))
		return 0
	}
	if with = at % forms; !c.Writing() {
		o.Kind = Kind(at / forms)
		o.GivenUp = o.Kind == Cancel && with == withGivenUp
		o.Tied = (o.Kind == Open || o.Kind == Attach) && with&withTied != 0
	}
	return with
}

// ties reports whether an operation ties its session to the member that has sent it.
func (o *Op) ties() bool { return o.Tied && (o.Kind == Open || o.Kind == Attach) }

// LeastOp is the minimum size of an encoded operation, in bytes.
const LeastOp = 5

// Size returns the maximum size of an encoded operation, in bytes.
func (o *Op) Size() int {
	const numbers = 200 // all of it that is no text
	return numbers + len(o.Name) + o.TextBytes() + len(o.Client) + len(o.Identity) + len(o.Once)
}

// Code codes the fields that an operation's kind uses.
func (o *Op) Code(c *wire.Coder) {
	with := o.form(c)
	wire.Number(c, &o.ID.Member)
	wire.Number(c, &o.ID.Number)
	if o.Kind != Break {
		codeSession(c, &o.Session)
	}
	switch o.Kind {
	case Open:
		c.Duration(&o.TTL)
		wire.Text(c, &o.Client)
		wire.Text(c, &o.Identity)
		c.Raw(o.Secret[:])
		o.codeAttached(c, with)
	case End, Attach:
		o.codeAttached(c, with)
	case Acquire:
		o.codeAcquire(c, with)
	case Release, Recall:
		wire.Number(c, &o.Request)
		wire.Text(c, &o.Name)
		wire.Number(c, &o.Token)
	case Cancel:
		wire.Number(c, &o.Request)
		wire.Text(c, &o.Name)
	case Extend:
		wire.Text(c, &o.Name)
		wire.Number(c, &o.Token)
		c.Duration(&o.Hold)
	case Amend:
		wire.Number(c, &o.Request)
		wire.Text(c, &o.Name)
		wire.Number(c, &o.Token)
		wire.Number(c, &o.Revision)
		codeValue(c, &o.Value)
	case Break:
		wire.Text(c, &o.Name)
		wire.Number(c, &o.Token)
	case LetIn:
		wire.Number(c, &o.Request)
		codeSession(c, &o.Other)
		wire.Text(c, &o.Owner)
		c.Duration(&o.Age)
		c.Duration(&o.Wait)
		c.Duration(&o.Hold)
	}
}

func codeValue(c *wire.Coder, value *string) { wire.TextUpTo(c, value, holdfast.MaxValue) }

// codeAttributes codes a request's attributes, except its hold limit and its value, and its client.
func codeAttributes(c *wire.Coder, a *holdfast.Attributes, client *string) {
	wire.Text(c, &a.Owner)
	wire.Text(c, &a.Reason)
	wire.Text(c, client)
	wire.UpTo(c, &a.Mode, math.MaxUint8)
	wire.UpTo(c, &a.Units, math.MaxInt32)
	wire.UpTo(c, &a.Capacity, math.MaxInt32)
}

func (o *Op) codeAcquire(c *wire.Coder, with int) {
	wire.Number(c, &o.Request)
	wire.Text(c, &o.Name)
	codeAttributes(c, &o.Attributes, &o.Client)
	c.Bool(&o.Try)
	c.Duration(&o.Age)
	c.Duration(&o.Wait)
	c.Duration(&o.Hold)
	c.Duration(&o.Belief)
	if with&withOnce != 0 {
		wire.Text(c, &o.Once)
		if wire.Number(c, &o.Content); o.Once == "" {
			c.Refuse("what is wanted once has no name")
		}
	}
	if with&withBy != 0 {
		wire.Number(c, &o.By.Client)
		if wire.Number(c, &o.By.Generation); o.By.Client == 0 {
			c.Refuse("the client that asks has no number")
		}
	}
	if with&withValue != 0 {
		if codeValue(c, &o.Value); o.Value == "" {
			c.Refuse("the value is empty")
		}
	}
	if with&withDeadlock != 0 {
		if wire.Enum(c, &o.Deadlock, holdfast.Fail); o.Deadlock == holdfast.Ignore {
			c.Refuse("what becomes of a deadlock is not said")
		}
	}
}

func (o *Op) codeAttached(c *wire.Coder, with int) {
	if with&withAttached == 0 {
		return
	}
	if !c.Writing() {
		o.Attached = &lock.Attachments{}
	}
	if codeAttachments(c, o.Attached); o.Attached.Client == 0 {
		c.Refuse("the client that uses the session has no number")
	}
}

// codeAttachments codes the client that a session is attached to, and the known earlier ones with their number.
func codeAttachments(c *wire.Coder, a *lock.Attachments) {
	wire.Number(c, &a.Client)
	wire.Number(c, &a.Generation)
	count := slices.Index(a.Former[:], 0)
	if count < 0 {
		count = len(a.Former)
	}
	wire.UpTo(c, &count, lock.MostFormer)
	for i := range a.Former[:count] {
		if wire.Number(c, &a.Former[i]); a.Former[i] == 0 {
			c.Refuse("a former client has no number")
		}
	}
}

func codeSession(c *wire.Coder, s *lock.SessionID) {
	wire.Number(c, &s.Member)
	wire.Number(c, &s.Number)
}
