package sim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// aliasing wraps members' machines, and checks that values do not change after they have changed hands: see
// protocol.Machine. It overwrites the argument of a call when the machine has returned, like a server that reuses the
// memory; it compares sent messages and answers again much later. In a real member a change of the first would corrupt
// the request of another client, and a change of the second would be a data race with the encoder.
type aliasing struct {
	given []given
	found []string
}

// given is a value that a machine has sent, and its content at that time.
type given struct {
	what string
	fact any
	was  string
}

// inAliasing is the number of values watched at a time.
const inAliasing = 300

func (c *aliasing) takes(what string, fact any) {
	if fact == nil {
		return
	}
	c.given = append(c.given, given{what, fact, content(fact)})
	if len(c.given) >= inAliasing {
		c.look(inAliasing / 2)
	}
}

// look compares the first n values again.
func (c *aliasing) look(n int) {
	for _, g := range c.given[:n] {
		if is := content(g.fact); is != g.was {
			c.found = append(c.found, fmt.Sprintf("%s, %T, was %q, and is %q", g.what, g.fact, g.was, is))
		}
	}
	c.given = append(c.given[:0], c.given[n:]...)
}

// content is everything reachable from a fact, as text.
func content(fact any) string {
	w := writer{seen: map[uintptr]bool{}}
	w.value(reflect.ValueOf(fact))
	return w.String()
}

type writer struct {
	strings.Builder
	seen map[uintptr]bool
}

func (w *writer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		w.WriteString("nil ")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Kind() == reflect.Pointer && w.seen[v.Pointer()] {
			w.WriteString("- ")
			return
		}
		if v.Kind() == reflect.Pointer {
			w.seen[v.Pointer()] = true
		}
		w.value(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			w.value(field)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "%d:", v.Len())
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.String:
		fmt.Fprintf(w, "%q ", v.String())
	case reflect.Bool:
		fmt.Fprint(w, v.Bool(), " ")
	case reflect.Float64:
		fmt.Fprint(w, v.Float(), " ")
	default:
		if v.CanInt() {
			fmt.Fprint(w, v.Int(), " ")
		} else if v.CanUint() {
			fmt.Fprint(w, v.Uint(), " ")
		} else {
			panic(fmt.Sprintf("a %v in what changes hands; say in content how it is compared", v.Type()))
		}
	}
}

// of wraps a machine.
func (c *aliasing) of(inner protocol.Machine) protocol.Machine { return &ward{inner, c} }

type ward struct {
	protocol.Machine
	aliasing *aliasing
}

func (w *ward) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	sends, replies := len(out.Sends), len(out.Replies)
	if ev.Kind == protocol.Call {
		lent := lend(ev.Fact)
		ev.Fact = lent
		defer spoil(reflect.ValueOf(lent))
	}
	w.Machine.Step(now, ev, out)
	for i := sends; i < len(out.Sends); i++ {
		w.aliasing.takes("what was sent", out.Sends[i].Message)
	}
	for i := replies; i < len(out.Replies); i++ {
		w.aliasing.takes("what was answered", out.Replies[i].Result)
		w.aliasing.takes("why it was refused", out.Replies[i].Decision.Err)
	}
}

// lend returns a copy of an argument, and of its lists.
func lend(fact any) any {
	v := reflect.ValueOf(fact)
	if v.Kind() != reflect.Pointer {
		return fact
	}
	lent := reflect.New(v.Type().Elem())
	lent.Elem().Set(v.Elem())
	for i := range lists(lent.Elem()) {
		list := lent.Elem().Field(i)
		own := reflect.MakeSlice(list.Type(), list.Len(), list.Len())
		reflect.Copy(own, list)
		list.Set(own)
	}
	return lent.Interface()
}

// lists yields the fields that are non-empty lists.
func lists(v reflect.Value) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
			if f := v.Field(i); f.Kind() == reflect.Slice && f.CanSet() && f.Len() > 0 && !yield(i) {
				return
			}
		}
	}
}

// spoil overwrites an argument, as its owner may do afterwards.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		spoil(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.String:
		v.SetString("spoiled")
	case reflect.Uint64:
		v.SetUint(0xdead)
	case reflect.Int, reflect.Int64:
		v.SetInt(-0xdead)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	}
}

// TestWhatChangesHands checks that sent and answered values do not change, that machines keep no arguments of calls,
// and that runs have the same outcome as without aliasing.
func TestWhatChangesHands(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		for seed := uint64(1); seed <= rounds(3, 1); seed++ {
			usual, err := Run(config(p.Name), seed, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, watched := &aliasing{}, config(p.Name)
			watched.around = c.of
			result, err := Run(watched, seed, nil)
			c.look(len(c.given))
			if err != nil || result.Outcome != usual.Outcome || result.Steps != usual.Steps || result.Settled != usual.Settled {
				t.Errorf("%s seed %d: %v after %d steps: %v %v; and %v after %d where arguments stay as they are",
					p.Name, seed, result.Outcome, result.Steps, result.Violation, err, usual.Outcome, usual.Steps)
			}
			for _, what := range c.found[:min(3, len(c.found))] {
				t.Errorf("%s seed %d: %s", p.Name, seed, what)
			}
		}
	}
}

// hoarder is a machine that keeps what it has sent.
type hoarder struct {
	wants    *lock.Request
	resumed  []uint64
	answered *protocol.Requests
	err      *lock.HeldBy
}

func (k *hoarder) Wake() protocol.Time { return protocol.Never }

func (k *hoarder) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		k.wants = fact
	case *session.Resume:
		k.resumed = fact.Requests
	case *protocol.ListRequests:
		k.answered = &protocol.Requests{List: []protocol.RequestOf{{ID: 1, Name: "x"}}}
		out.Reply(ev.Call, k.answered)
	case *protocol.Cancel:
		k.err = &lock.HeldBy{Owner: "a"}
		out.Decide(ev.Call, &lock.Decision{Kind: lock.Refused, Err: k.err})
	}
}

// TestAliasingIsNoticed checks each kind of violation that aliasing detects.
func TestAliasingIsNoticed(t *testing.T) {
	c, k := &aliasing{}, &hoarder{}
	m := c.of(k)
	call := func(fact any) { m.Step(0, protocol.Event{Kind: protocol.Call, Fact: fact}, &protocol.Effects{}) }
	mine, requests := &lock.Request{Name: "x", ID: 7}, []uint64{7}
	call(mine)
	call(&session.Resume{Requests: requests})
	if k.wants.Name != "spoiled" || k.wants.ID != 0xdead || k.resumed[0] != 0xdead {
		t.Errorf("what it has kept is as it was: %+v, %v", k.wants, k.resumed)
	}
	if mine.Name != "x" || requests[0] != 7 {
		t.Errorf("its owner has %+v and %v", mine, requests)
	}
	call(&protocol.ListRequests{})
	call(&protocol.Cancel{})
	c.look(len(c.given))
	if len(c.found) > 0 {
		t.Errorf("found where nothing has changed: %q", c.found)
	}
	call(&protocol.ListRequests{})
	k.answered.List[0].Name = "y"
	call(&protocol.Cancel{})
	k.err.Owner = "b"
	c.look(len(c.given))
	if all := strings.Join(c.found, "; "); len(c.found) != 2 || !strings.Contains(all, "what was answered, *protocol.Requests") || !strings.Contains(all, "why it was refused, *lock.HeldBy") {
		t.Errorf("found %s", all)
	}
}
