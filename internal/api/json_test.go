package api_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// documents are the messages that HTTP answers with.
func documents() []proto.Message {
	return []proto.Message{
		&schema.Lock{}, &schema.LockPage{}, &schema.Acquired{}, &schema.AcquiredAll{}, &schema.ReleasedLock{}, &schema.Renewed{},
		&schema.SessionReleased{}, &schema.Broken{}, &schema.Suspended{}, &schema.Status{}, &schema.WatchEvent{}, &schema.ProblemDocument{},
		&schema.ForcePlan{}, &schema.ForcedView{}, &schema.Transferred{}, &schema.OpenedSpace{}, &schema.Shards{},
	}
}

// TestJSON: a message with any of its fields set, and any text in them, is written as JSON, each text as encoding/json
// writes it, and is read as the same message.
func TestJSON(t *testing.T) {
	random, j := rand.New(rand.NewPCG(1, 2)), api.NewJSON()
	for range 300 {
		for _, m := range documents() {
			fill(t, random, m.ProtoReflect(), 0)
			text := string(j.Append([]byte("before"), m))[len("before"):]
			var general any
			if err := json.Unmarshal([]byte(text), &general); err != nil {
				t.Fatalf("%T is written\n%s\n%v", m, text, err)
			}
			again := m.ProtoReflect().New().Interface()
			if err := j.Read([]byte(text), again); err != nil && strings.Contains(err.Error(), `token "0"`) {
				continue // one that must be there was left out
			} else if err != nil {
				t.Fatalf("read\n%s\n%v", text, err)
			}
			if second := string(j.Append(nil, again)); second != text {
				t.Fatalf("%T is written\n%s\nand then\n%s", m, text, second)
			}
		}
	}
	for _, text := range texts {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		escaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(want))
		if got := string(j.Append(nil, &schema.WatchEvent{Why: text})); !strings.Contains(got, `"why":`+escaped+`,`) {
			t.Errorf("%q is written %s, want %s", text, got, escaped)
		}
	}
}

// TestAppendingAllocates: a document that needs no escapes is written where there is room for it, and nowhere else.
// The five allocations are headers of its lists.
func TestAppendingAllocates(t *testing.T) {
	now, j := api.Stamp(time.Now()), api.NewJSON()
	grant := &schema.Grant{Owner: "o", Session: "a-1", Member: "m1", Client: "c", Token: 9, Since: now, Until: now, Reason: "why", Grace: true}
	lock := &schema.Lock{
		Space: "s", Name: "n", Mode: schema.Mode_MODE_SLOTS, Units: 2, Capacity: 3, Token: 9, Holders: []*schema.Grant{grant, grant},
		Waiters: []*schema.Wait{{Owner: "p", Since: now, For: []string{"m2"}}},
	}
	room := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { j.Append(room, lock) }); n > 5 {
		t.Errorf("%v allocations, want 5", n)
	}
}

// BenchmarkPage writes a page of a thousand locks.
func BenchmarkPage(b *testing.B) {
	now, j, page := api.Stamp(time.Now()), api.NewJSON(), &schema.LockPage{}
	for range 1000 {
		page.Locks = append(page.Locks, &schema.Lock{Space: "default", Name: "orders/42", Token: 9, Holders: []*schema.Grant{
			{Owner: "job-7", Session: "a-1", Member: "m1", Client: "host:4711", Token: 9, Since: now, Until: now, Reason: "why"},
		}})
	}
	room := j.Append(nil, page)
	b.SetBytes(int64(len(room)))
	for b.Loop() {
		room = j.Append(room[:0], page)
	}
}

var texts = []string{"plain", "", `a "quote" \ and more`, "<a href='&'>", "orders/ü\u2028", "\x00\t\n\x7f", "~ !"}

// fill sets two thirds of all fields to something.
func fill(t *testing.T, random *rand.Rand, m protoreflect.Message, depth int) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case random.IntN(3) == 0 || depth > 4:
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("k").MapKey(), protoreflect.ValueOfString(texts[random.IntN(len(texts))]))
		case f.IsList():
			list := m.Mutable(f).List()
			for range random.IntN(4) {
				list.Append(sample(t, random, f, list.NewElement, depth))
			}
		default:
			m.Set(f, sample(t, random, f, func() protoreflect.Value { return m.NewField(f) }, depth))
		}
	}
}

// sample returns a value of a field.
func sample(t *testing.T, random *rand.Rand, f protoreflect.FieldDescriptor, fresh func() protoreflect.Value, depth int) protoreflect.Value {
	t.Helper()
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[random.IntN(len(texts))])
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(random.Uint32()))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(random.Int64())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1 + random.Uint64N(1<<63-1))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(random.IntN(3)))
	}
	v := fresh()
	switch m := v.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		m.Seconds, m.Nanos = random.Int64N(1<<33), int32(random.IntN(1e9))
	case *durationpb.Duration:
		m.Seconds, m.Nanos = random.Int64N(1<<30), int32(random.IntN(1e9))
	default:
		fill(t, random, v.Message(), depth+1)
	}
	return v
}
