package trace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/trace/text"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestEveryValueComesBack: of each type that goes into machines or comes out of them, many
// values are written, read and written again.
func TestEveryValueComesBack(t *testing.T) {
	codec, err := NewCodec(member.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, value := range append(member.Vocabulary(member.Protocols()), &member.Config{}, session.Secret{}) {
		of := reflect.TypeOf(value)
		for range 50 {
			comesBack(t, codec, drawn(r, of, 4).Interface())
		}
	}
}

// FuzzEveryValue is TestEveryValueComesBack for values of a fuzzer's.
func FuzzEveryValue(f *testing.F) {
	codec, err := NewCodec(member.Protocols())
	if err != nil {
		f.Fatal(err)
	}
	all := member.Vocabulary(member.Protocols())
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, seed, which uint64) {
		r := rand.New(rand.NewPCG(seed, which))
		comesBack(t, codec, drawn(r, reflect.TypeOf(all[which%uint64(len(all))]), 6).Interface())
	})
}

func comesBack(t *testing.T, codec *text.Codec, value any) {
	t.Helper()
	text, err := codec.Append(nil, value, nil)
	if err != nil {
		t.Fatalf("%#v is not written: %v", value, err)
	}
	back, err := codec.Parse(string(text))
	if err != nil {
		t.Fatalf("%s is not read: %v", text, err)
	}
	again, err := codec.Append(nil, back, nil)
	if err != nil || !bytes.Equal(again, text) {
		t.Fatalf("%s becomes %s, %v", text, again, err)
	}
	if !reflect.DeepEqual(back, value) {
		t.Fatalf("%#v is written as %s and read as %#v", value, text, back)
	}
}

// drawn is a value of a type. Errors are those that come back as themselves.
func drawn(r *rand.Rand, of reflect.Type, deep int) reflect.Value {
	v := reflect.New(of).Elem()
	if r.IntN(4) == 0 && of.Kind() != reflect.Pointer {
		return v
	}
	switch of.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(r.Int64() >> r.IntN(64) * (1 - 2*r.Int64N(2)) >> (64 - of.Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - of.Bits()) >> r.IntN(of.Bits()))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		text := make([]byte, r.IntN(12))
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		v.SetString(string(text))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(drawn(r, of.Elem(), deep-1))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, 0, 0))
		for range r.IntN(4) {
			v.Set(reflect.Append(v, drawn(r, of.Elem(), deep-1)))
		}
	case reflect.Pointer:
		if deep > 0 {
			v.Set(reflect.New(of.Elem()))
			v.Elem().Set(drawn(r, of.Elem(), deep-1))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(drawn(r, of.Field(i).Type, deep-1))
			}
		}
	case reflect.Interface:
		if of == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(sentinels()[r.IntN(len(sentinels()))].Err))
			break
		}
		said := sayings()
		v.Set(drawn(r, reflect.TypeOf(said[r.IntN(len(said))]), deep))
	}
	return v
}

// sayings has a value of each type that can stand where an envelope of protocol bakery has what it says.
func sayings() (all []bakery.Body) {
	for _, value := range wire.Values(bakery.Descriptor().Messages) {
		if body, is := value.(bakery.Body); is {
			all = append(all, body)
		}
	}
	return all
}

// recordedMember is a member alone whose steps are recorded.
type recordedMember struct {
	recorder *Recorder
	text     bytes.Buffer
	now      protocol.Time
	out      protocol.Effects
}

func newMember(t *testing.T) *recordedMember {
	t.Helper()
	m := &recordedMember{}
	tap := NewTap(rand.New(rand.NewPCG(3, 4)))
	from := &member.Config{Name: "a", Serves: true, Spaces: []member.Space{{Name: "default", Protocol: "central"}}, Wall: 1e18 + 9e17}
	built, err := member.Build(from, tap.Entropy(), member.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	m.recorder, err = New(Config{Config: from, Machine: built.Session, Cell: built.Member.Cell(), Tap: tap, Protocols: member.Protocols(), Store: To(&m.text)})
	if err != nil {
		t.Fatal(err)
	}
	m.step(protocol.Event{Kind: protocol.Start})
	return m
}

// step steps the member, and saves what it wants saved.
func (m *recordedMember) step(events ...protocol.Event) (replies []protocol.Reply) {
	for _, ev := range events {
		m.now += time.Millisecond
		m.recorder.Step(m.now, ev, &m.out)
		replies = append(replies, m.out.Replies...)
		sends := slices.Clone(m.out.Sends)
		m.out.Reset()
		for _, e := range sends {
			if save, is := e.Message.(storage.Save); is {
				replies = append(replies, m.step(protocol.Event{Kind: protocol.Receive, Fact: storage.Saved{ID: save.ID}})...)
			}
		}
	}
	return replies
}

// TestSecretsAreNotRecorded: nothing of a session's secret is in the text, in anything in which it is
// passed; what stands for it is always the same in one trace, and another in another.
func TestSecretsAreNotRecorded(t *testing.T) {
	standIn := func() string {
		m := newMember(t)
		call := protocol.CallID{Sink: 1, Op: 1}
		m.now = 10 * time.Minute // all that was promised before is over
		m.step(protocol.Event{Kind: protocol.Tick})
		var opened *session.Opened
		for _, reply := range m.step(protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Open{Kind: session.OneShot}}) {
			if o, is := reply.Result.(*session.Opened); is {
				opened = o
			}
		}
		if opened == nil || opened.Err != nil {
			t.Fatalf("the session is not opened: %+v\n%s", opened, &m.text)
		}
		replies := m.step(
			protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Renew{ID: opened.ID, Secret: opened.Secret}},
			protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.Check{ID: opened.ID, Secret: opened.Secret}},
			protocol.Event{Kind: protocol.Call, Call: call, Fact: &session.End{ID: opened.ID, Secret: opened.Secret}},
		)
		if len(replies) != 3 || replies[1].Result.(*session.Renewed).Err != nil {
			t.Fatalf("the secret is not taken: %+v", replies)
		}
		text := m.text.String()
		if strings.Contains(text, hex.EncodeToString(opened.Secret[:])) || strings.Contains(text, hex.EncodeToString(opened.Secret[:4])) {
			t.Errorf("the secret %x is recorded:\n%s", opened.Secret, text)
		}
		at := strings.Index(text, "  secret x")
		if at < 0 {
			t.Fatalf("that a secret was drawn is not recorded:\n%s", text)
		}
		veiled, _, _ := strings.Cut(text[at+len("  secret "):], "\n")
		if n := strings.Count(text, veiled); n != 5 { // drawn, opened, renewed, checked, ended
			t.Errorf("%s stands %d times for the secret, want 5:\n%s", veiled, n, text)
		}
		return veiled
	}
	if one, other := standIn(), standIn(); one == other {
		t.Errorf("two traces have %s for the same secret", one)
	}
}

// liar is a machine that breaks an invariant when it is asked anything.
type liar struct{}

func (liar) Wake() protocol.Time { return protocol.Never }

func (liar) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	out.Raise(&protocol.Lapsed{})
	if ev.Kind == protocol.Call {
		panic("three units are held of two")
	}
}

// record is a store that counts how often it was flushed.
type record struct {
	Store
	flushed int
}

func (r *record) Flush() { r.flushed++ }

// TestPanicIsRecorded: a broken invariant is the last that is written, at once, and the
// panic goes on.
func TestPanicIsRecorded(t *testing.T) {
	var text bytes.Buffer
	store := &record{Store: To(&text)}
	r, err := New(Config{Config: &member.Config{Name: "a"}, Machine: liar{}, Tap: NewTap(rand.New(rand.NewPCG(1, 1))), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	broken := func() (broken any) {
		defer func() { broken = recover() }()
		r.Step(time.Second, protocol.Event{Kind: protocol.Call, Fact: &session.Count{}}, &protocol.Effects{})
		return nil
	}()
	want := "1 1s call 0.0 at 0 &session.Count{}\n  panic \"three units are held of two\"\n"
	if text.String() != want || store.flushed != 1 || broken != "three units are held of two" {
		t.Errorf("it is recorded as %q, flushed %d times, and goes on as %v", text.String(), store.flushed, broken)
	}
}

// full is a store that takes only so many steps.
type full struct {
	Store
	left int
}

func (f *full) Put(text []byte, whole bool) error {
	if whole {
		if f.left--; f.left < 0 {
			return fmt.Errorf("no room")
		}
	}
	return f.Store.Put(text, whole)
}

// TestMemberOutlivesItsTrace: where nothing more can be recorded, that is reported once, and
// the machine goes on. So it is with what cannot be written down.
func TestMemberOutlivesItsTrace(t *testing.T) {
	for _, tt := range []struct {
		left int
		fact any
		want string
	}{
		{2, &session.Count{}, "1 1s start\n  raise &protocol.Lapsed{}\n  wake never\nend \"step 2 and what follows: no room\"\n"},
		{9, struct{}{}, "1 1s start\n  raise &protocol.Lapsed{}\n  wake never\nend \"step 2 and what follows: literal: type struct {} is not listed\"\n"},
	} {
		var text bytes.Buffer
		r, err := New(Config{Config: &member.Config{}, Machine: liar{}, Tap: NewTap(rand.New(rand.NewPCG(1, 1))), Store: &full{To(&text), tt.left}})
		if err != nil {
			t.Fatal(err)
		}
		text.Reset()
		var out protocol.Effects
		r.Step(time.Second, protocol.Event{Kind: protocol.Start}, &out)
		r.Step(time.Second, protocol.Event{Kind: protocol.Receive, Fact: tt.fact}, &out)
		r.Step(time.Second, protocol.Event{Kind: protocol.Tick}, &out)
		r.Close()
		if text.String() != tt.want || len(out.Raises) != 3 {
			t.Errorf("the machine has raised %d, and the trace is %q, want %q", len(out.Raises), text.String(), tt.want)
		}
	}
}
