package codec

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
)

// The steps of a script, each a byte with what follows it:
//
//	pass     how long        time passes, in steps of 20 ms
//	forge    from, message   a message of bytes, under the id of a member
//	twist    which, where, what   a message that was sent before, with one value changed
//	request  which           a client wants something
//	silence                  nothing honest reaches the victim; again: it does
const (
	stepPass = iota
	stepForge
	stepTwist
	stepRequest
	stepSilence
	steps
)

// mostSteps bounds a script.
const mostSteps = 48

// FuzzStep: what decodes may say anything, under the id of any member or of none. The
// member that hears it goes on: it keeps its invariants, whose breach would panic, says
// no more than it has reason to, nothing that cannot be sent, keeps a cell that its next
// life can read, does not wake for nothing, and tells of names, holders and waiters
// within their bounds.
func FuzzStep(f *testing.F) {
	for _, mode := range stepModes() {
		f.Add([]byte{mode})
		f.Add([]byte{mode, stepSilence, stepPass, 255, stepPass, 255, stepRequest, 1, stepSilence, stepPass, 255})
		for twist := range byte(24) {
			f.Add([]byte{mode, stepTwist, twist * 10, twist * 7, twist, stepRequest, twist * 11, stepPass, 20, stepTwist, twist, twist, 1, stepPass, 200})
		}
	}
	lines, senders := examples(f), byte(3)
	if testing.Short() {
		senders = 1
		for i := range len(lines) / 4 {
			lines[i] = lines[4*i]
		}
		lines = lines[:len(lines)/4]
	}
	for _, line := range lines {
		_, encoded, _ := strings.Cut(line, " ")
		for from := range senders {
			f.Add(append([]byte{4 | from, stepForge, from + 1}, unhex(f, encoded)...))
			f.Add(append([]byte{from, stepForge, from + 1}, unhex(f, encoded)...))
			f.Add(append([]byte{bakeryMode | 2*from, stepForge, from + 1}, unhex(f, encoded)...))
			f.Add(append([]byte{consensusMode | 2*from, stepForge, from + 1}, unhex(f, encoded)...))
			f.Add(append([]byte{8 | 2*from, stepForge, from + 1}, unhex(f, encoded)...))
		}
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 {
			return
		}
		b := newStepHarness(t, modeOf(script[0]))
		script = script[1:]
		for range mostSteps {
			if script = b.perform(script); len(script) == 0 {
				break
			}
		}
		b.quiet = false
		b.pass(20 * time.Second)
		b.inspect()
	})
}

func unhex(t testing.TB, encoded string) []byte {
	t.Helper()
	b, err := hex.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// perform does the first step of a script, and returns the rest.
func (b *stepHarness) perform(script []byte) (rest []byte) {
	argument := func() (n byte) {
		if len(script) > 0 {
			n, script = script[0], script[1:]
		}
		return n
	}
	switch argument() % steps {
	case stepPass:
		b.pass(time.Duration(argument()) * 20 * time.Millisecond)
	case stepForge:
		from := protocol.ID(argument())
		_, _, rest, err := Decode(script)
		if err != nil || from == b.victim.id || from == protocol.Storage {
			return nil
		}
		b.receive(parcel{from, b.victim.id, script[:len(script)-len(rest)]})
		script = rest
		b.deliver()
	case stepTwist:
		which, where, what := argument(), argument(), argument()
		if len(b.heard) == 0 {
			return script
		}
		said := b.heard[len(b.heard)-1-int(which)%len(b.heard)]
		if twisted := twist(said.bytes, int(where), what); twisted != nil {
			b.receive(parcel{said.from, said.to, twisted})
			b.deliver()
		}
	case stepRequest:
		b.request(argument())
	case stepSilence:
		b.quiet = !b.quiet
	}
	return script
}

// twist changes one value of a message, where that can still be sent.
func twist(bytes []byte, where int, what byte) []byte {
	port, message, _, err := Decode(bytes)
	if err != nil {
		return nil
	}
	v := reflect.New(reflect.TypeOf(message)).Elem()
	v.Set(reflect.ValueOf(message))
	var values []reflect.Value
	collect(v, &values)
	var said any // in an envelope
	switch envelope := message.(type) {
	case bakery.Envelope:
		said = envelope.Body
	case consensus.Envelope:
		said = envelope.Body
	}
	var body reflect.Value
	if said != nil {
		body = reflect.New(reflect.TypeOf(said)).Elem()
		body.Set(reflect.ValueOf(said))
		collect(body, &values)
	}
	if len(values) == 0 {
		return nil
	}
	change(values[where%len(values)], what)
	if said != nil {
		v.FieldByName("Body").Set(body)
	}
	twisted, err := Append(nil, port, v.Interface().(protocol.Message))
	if err != nil {
		return nil
	}
	if _, _, _, err := Decode(twisted); err != nil {
		return nil
	}
	return twisted
}

// collect lists the values in v that can be changed, lists as a whole before what is in
// them.
func collect(v reflect.Value, values *[]reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collect(v.Field(i), values)
			}
		}
	case reflect.Slice:
		*values = append(*values, v)
		for i := range v.Len() {
			collect(v.Index(i), values)
		}
	case reflect.Pointer:
		*values = append(*values, v)
		if !v.IsNil() {
			collect(v.Elem(), values)
		}
	default:
		*values = append(*values, v)
	}
}

var numbers = [...]uint64{
	0, 1, 2, 3, 4, 7, 20, 21, 40, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<40 - 1, 1 << 40, 20 << 32, 21<<32 | 1<<31,
	math.MaxInt64 - 1, math.MaxInt64, 1 << 63, math.MaxUint64 - 2, math.MaxUint64 - 1, math.MaxUint64,
}

var texts = [...]string{"", "x", "a\x00", "\xff", "10.0.0.1:4040", "10.0.0.9:4040", string(holdfast.Duplicate)}

func change(v reflect.Value, what byte) {
	n := numbers[int(what)%len(numbers)]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString((append(texts[:], strings.Repeat("x", 1024), strings.Repeat("y", wire.MaxText)))[int(what)%(len(texts)+2)])
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		switch {
		case what >= 240:
			v.SetUint(v.Uint() + uint64(what-239))
		case what >= 224:
			v.SetUint(v.Uint() - uint64(what-223))
		default:
			v.SetUint(n)
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(n))
	case reflect.Float64:
		v.SetFloat([...]float64{0, -1, 0.05, 0.5, 2, math.Inf(1), math.NaN(), math.MaxFloat64}[what%8])
	case reflect.Slice:
		changeList(v, what)
	case reflect.Pointer, reflect.Interface:
		v.SetZero()
	}
}

// changeList empties a list, cuts it, repeats it, or turns it round.
func changeList(v reflect.Value, what byte) {
	switch what % 4 {
	case 0:
		v.SetZero()
	case 1:
		if v.Len() > 0 {
			v.Set(v.Slice(0, v.Len()-1))
		}
	case 2:
		v.Set(reflect.AppendSlice(v, v))
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1+int(what/4)%20, 20))
		}
	case 3:
		swap := reflect.Swapper(v.Interface())
		for i := range v.Len() / 2 {
			swap(i, v.Len()-1-i)
		}
	}
}

// mostPages is how many answers a scan takes.
const mostPages = 4

// inspect asks the victim what is held, if it can say so, and checks that this can be so.
func (b *stepHarness) inspect() {
	b.t.Helper()
	for port := range protocol.Port(2) {
		b.victim.scanned = nil
		for pages, after := 0, ""; pages == 0 || pages < mostPages && after != ""; pages++ {
			b.victim.next = ""
			b.call(b.victim, port+1, &protocol.Scan{After: after, Limit: 1000})
			b.pass(6 * time.Second)
			after = b.victim.next
		}
		for _, l := range b.victim.scanned {
			b.listed++
			b.check(l.Name, l.Mode, l.Capacity, len(l.Waiters))
			units, standing := map[uint64]int{}, map[uint64]int{}
			for _, g := range l.Holders {
				if g.Token == 0 {
					b.t.Errorf("%q is held without a token", l.Name)
				}
				by := uint64(0)
				if b.mode.protocol == "permission" || b.mode.protocol == "bakery" {
					// Each member tells of its own, and may enter because another one has lied.
					by = g.Session.Member
				}
				if !g.Revoked {
					standing[by]++
					units[by] += g.Units
				}
			}
			for by, n := range standing {
				if l.Mode == holdfast.ModeExclusive && n > 1 || l.Mode == holdfast.ModeSlots && units[by] > l.Capacity {
					b.t.Errorf("%q is held by %d, %d units of %d", l.Name, n, units[by], l.Capacity)
				}
			}
		}
	}
}

func (b *stepHarness) check(name string, mode holdfast.Mode, capacity, waiters int) {
	b.t.Helper()
	if err := holdfast.CheckName(name); err != nil {
		b.t.Errorf("it tells of %q: %v", name, err)
	}
	if mode == holdfast.ModeSlots && capacity < 1 {
		b.t.Errorf("%q has slots of %d", name, capacity)
	}
	if waiters > 24 {
		b.t.Errorf("%q has %d waiters", name, waiters)
	}
}
