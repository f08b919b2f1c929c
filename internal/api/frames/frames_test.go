package frames

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

func acquire(id uint64, a *schema.Acquire) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Acquire{Acquire: a}}
}

// operations has each kind with every field, with none, and with the largest numbers.
func operations() []*schema.Operation {
	long := strings.Repeat("ü", 300)
	return []*schema.Operation{
		acquire(1, &schema.Acquire{Space: "billing", Name: "orders/42", Mode: schema.Mode_MODE_SLOTS, Units: 2, Capacity: 5, Try: true,
			Wait: 6, Hold: 7, Owner: "o", Reason: "r", Require: schema.Class_CLASS_FENCED, Value: "v\n", Deadlock: schema.Deadlock_DEADLOCK_FAIL}),
		acquire(math.MaxUint64, &schema.Acquire{Space: "billing", Name: long, Mode: -1, Units: -1, Capacity: math.MinInt32,
			Wait: math.MinInt64, Hold: -1, Owner: long, Reason: long, Require: -7, Value: long, Deadlock: -9}),
		acquire(0, &schema.Acquire{}),
		{Id: 2, Kind: &schema.Operation_Acquire{}},
		{Id: 3, Kind: &schema.Operation_Release{Release: &schema.Release{Space: "billing", Name: "orders/42", Token: math.MaxUint64}}},
		{Id: 4, Kind: &schema.Operation_Release{Release: &schema.Release{Name: "orders/42", Token: 7, Lazy: true}}},
		{Kind: &schema.Operation_Release{Release: &schema.Release{}}},
		{Id: 4, Kind: &schema.Operation_Cancel{Cancel: &schema.Cancel{Space: "other", Name: long}}},
		{Id: 5, Kind: &schema.Operation_Extend{Extend: &schema.Extend{Space: "billing", Name: "x", Token: 7, Hold: 9}}},
		{Id: 5, Kind: &schema.Operation_Amend{Amend: &schema.Amend{Space: "billing", Name: "x", Token: 7, Revision: math.MaxUint64, Value: long}}},
		{Id: 6, Kind: &schema.Operation_Amend{Amend: &schema.Amend{}}},
		{Id: 6, Kind: &schema.Operation_Beat{Beat: &schema.Beat{Ttl: 1 << 40}}},
		{Id: 7, Kind: &schema.Operation_End{End: &schema.End{}}},
		{Id: 8, Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: "1-2", Secret: "s", Ttl: 3, Client: "c", Requests: []uint64{1, 300}, Last: 9}}},
		{Id: 9},
		{},
	}
}

func events() []*schema.Event {
	return []*schema.Event{
		{Id: 1, Kind: &schema.Event_Welcome{Welcome: &schema.Welcome{Session: "1-2", Members: []string{"a", "b"}}}},
		{Id: 2, Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: math.MaxUint64, Since: -1, Hold: 1 << 50}}},
		{Id: 3, Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: 7, Hold: 1 << 30, Grace: true}}},
		{Id: 3, Kind: &schema.Event_Granted{Granted: &schema.Granted{}}},
		{Id: 3, Kind: &schema.Event_Granted{}},
		{Id: 4, Kind: &schema.Event_Queued{Queued: &schema.Queued{Position: -1}}},
		{Id: 4, Kind: &schema.Event_Queued{Queued: &schema.Queued{Position: 300}}},
		{Id: 5, Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: &schema.Problem{Code: "held", Owner: "o"}}}},
		{Id: 6, Kind: &schema.Event_Released{Released: &schema.Released{}}},
		{Id: 6, Kind: &schema.Event_Released{Released: &schema.Released{Problem: &schema.Problem{Code: "not_held", Detail: strings.Repeat("d", 200)}}}},
		{Id: 7, Kind: &schema.Event_Lost{Lost: &schema.Lost{Why: "broken", MustRelease: true}}},
		{Id: 8, Kind: &schema.Event_Extended{Extended: &schema.Extended{Hold: 5}}},
		{Id: 8, Kind: &schema.Event_Amended{Amended: &schema.Amended{Revision: math.MaxUint64, Problem: &schema.Problem{Code: "limit"}}}},
		{Id: 8, Kind: &schema.Event_Amended{Amended: &schema.Amended{Revision: 1}}},
		{Id: 9, Kind: &schema.Event_Beat{Beat: &schema.Beaten{Ttl: math.MaxInt64}}},
		{Id: 9, Kind: &schema.Event_Beat{Beat: &schema.Beaten{Ttl: 3, TtlCut: "limits.ttl"}}},
		{Id: 10, Kind: &schema.Event_Moved{Moved: &schema.Moved{Authority: "a"}}},
		{},
	}
}

// What is written here is what the general code writes, byte for byte, and what is read
// here is what it reads.
func TestOperationsAreThoseOfTheSchema(t *testing.T) {
	all := operations()
	for i := range all {
		checkOperations(t, all[i:i+1])
	}
	checkOperations(t, all)
	checkOperations(t, nil)
}

func checkOperations(t *testing.T, list []*schema.Operation) {
	t.Helper()
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&schema.ClientFrame{Operations: list})
	if err != nil {
		t.Fatal(err)
	}
	got, err := appendOperations(nil, list)
	if err != nil || string(got) != string(want) {
		t.Fatalf("%v\nis written as %x (%v)\nwant            %x", list, got, err, want)
	}
	var read Operations
	for range 2 { // into memory that was used before
		if err := read.Read(want); err != nil {
			t.Fatal(err)
		}
		if back := (&schema.ClientFrame{Operations: read.List()}); !proto.Equal(back, reread(t, want, &schema.ClientFrame{})) {
			t.Fatalf("%x\nis read as %v\nwant       %v", want, back, list)
		}
	}
}

func TestEventsAreThoseOfTheSchema(t *testing.T) {
	all := events()
	for i := range all {
		checkEvents(t, all[i:i+1])
	}
	checkEvents(t, all)
	checkEvents(t, nil)
}

func checkEvents(t *testing.T, list []*schema.Event) {
	t.Helper()
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&schema.ServerFrame{Events: list})
	if err != nil {
		t.Fatal(err)
	}
	got, err := appendEvents(nil, list)
	if err != nil || string(got) != string(want) {
		t.Fatalf("%v\nis written as %x (%v)\nwant            %x", list, got, err, want)
	}
	var read Events
	for range 2 {
		if err := read.Read(want); err != nil {
			t.Fatal(err)
		}
		if back := (&schema.ServerFrame{Events: read.List()}); !proto.Equal(back, reread(t, want, &schema.ServerFrame{})) {
			t.Fatalf("%x\nis read as %v\nwant       %v", want, back, list)
		}
	}
}

func reread[M proto.Message](t *testing.T, data []byte, m M) M {
	t.Helper()
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A frame does not see what was in the frame before it.
func TestMemoryIsForgotten(t *testing.T) {
	full, err := appendOperations(nil, operations())
	if err != nil {
		t.Fatal(err)
	}
	empty, err := appendOperations(nil, []*schema.Operation{acquire(0, &schema.Acquire{}), {Kind: &schema.Operation_Release{Release: &schema.Release{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var read Operations
	for _, data := range [][]byte{full, full, empty} {
		if err := read.Read(data); err != nil {
			t.Fatal(err)
		}
	}
	want := reread(t, empty, &schema.ClientFrame{})
	if got := (&schema.ClientFrame{Operations: read.List()}); !proto.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// A text that is no UTF-8 is refused both ways, as by the general code.
func TestTextsAreUTF8(t *testing.T) {
	bad := []*schema.Operation{acquire(1, &schema.Acquire{Name: "\xff"})}
	if data, err := appendOperations(nil, bad); err == nil {
		t.Errorf("it is written, as %x", data)
	}
	good, err := appendOperations(nil, []*schema.Operation{acquire(1, &schema.Acquire{Name: "x"})})
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(strings.ReplaceAll(string(good), "x", "\xff"))
	if err := new(Operations).Read(data); err == nil {
		t.Errorf("%x is read", data)
	}
}

// The codec does through gRPC's buffers what Read and Append do, lets go of what is
// released, and leaves other messages to the general code.
func TestCodec(t *testing.T) {
	c := NewCodec()
	var in Operations
	for range 2 {
		data, err := c.Marshal(&schema.ClientFrame{Operations: operations()})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Unmarshal(data, &in); err != nil {
			t.Fatal(err)
		}
		if n := len(in.List()); n != len(operations()) {
			t.Errorf("%d operations, want %d", n, len(operations()))
		}
		in.Release()
		if in.List() != nil {
			t.Error("operations are there after Release")
		}
		data.Free()
	}
	var out Events
	data, err := c.Marshal(&schema.ServerFrame{Events: events()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(data, &out); err != nil || len(out.List()) != len(events()) {
		t.Errorf("%d events, %v; want %d", len(out.List()), err, len(events()))
	}
	problem := &schema.Problem{}
	if data, err = c.Marshal(&schema.Problem{Code: "held"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(data, problem); err != nil || problem.GetCode() != "held" {
		t.Errorf("read %v, %v", problem, err)
	}
	if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer{0xff}}, &in); err == nil {
		t.Error("a frame of one byte 0xff is read")
	}
}

// A large frame costs its memory once.
func TestLargeFramesAreNotKept(t *testing.T) {
	list := make([]*schema.Operation, 10*keepSlots)
	for i := range list {
		list[i] = acquire(uint64(i+1), &schema.Acquire{Name: "x"})
	}
	data, err := appendOperations(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	slots := &operationSlots{}
	read := Operations{slots: slots, pool: newSlotPool()}
	if err := read.Read(data); err != nil || len(read.List()) != len(list) {
		t.Fatalf("%d operations, %v", len(read.List()), err)
	}
	read.Release()
	if len(slots.slots) != keepSlots || cap(slots.slots) != keepSlots || slots.slots[0].acquireBody.Name != "" {
		t.Errorf("%d slots are kept (%d), the first with name %q", len(slots.slots), cap(slots.slots), slots.slots[0].acquireBody.Name)
	}
}

// FuzzOperationsAsGeneral: both codes refuse the same bytes, and read the others alike.
func FuzzOperationsAsGeneral(f *testing.F) {
	for _, o := range operations() {
		data, err := appendOperations(nil, []*schema.Operation{o, o})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x0a\x04\x1a\x02\x0a\x00\x08\x01"))
	f.Add([]byte("\x0a\x08\x1a\x02\x18\x01\x1a\x02\x20\x01")) // one kind twice: they are merged
	f.Add([]byte("\x0a\x06\x08\x01\x08\x02\x1a\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := &schema.ClientFrame{}
		wantErr := proto.Unmarshal(data, want)
		var read Operations
		gotErr := read.Read(data)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%x: error %v, want %v", data, gotErr, wantErr)
		}
		if gotErr != nil {
			return
		}
		got := &schema.ClientFrame{Operations: read.List()}
		want.ProtoReflect().SetUnknown(nil) // unknown fields of a frame itself are not kept
		if !proto.Equal(got, want) {
			t.Fatalf("%x is read as\n%v, want\n%v", data, got, want)
		}
		known := &schema.ClientFrame{} // what is not of the schema is not written
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, known); err != nil {
			t.Fatal(err)
		}
		written, err := appendOperations(nil, known.Operations)
		if err != nil {
			t.Fatal(err)
		}
		if back := (&schema.ClientFrame{}); proto.Unmarshal(written, back) != nil || !proto.Equal(back, known) {
			t.Fatalf("%v is written as %x", known, written)
		}
	})
}

func FuzzEventsAsGeneral(f *testing.F) {
	for _, e := range events() {
		data, err := appendEvents(nil, []*schema.Event{e, e})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := &schema.ServerFrame{}
		wantErr := proto.Unmarshal(data, want)
		var read Events
		gotErr := read.Read(data)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%x: error %v, want %v", data, gotErr, wantErr)
		}
		if gotErr != nil {
			return
		}
		got := &schema.ServerFrame{Events: read.List()}
		want.ProtoReflect().SetUnknown(nil)
		if !proto.Equal(got, want) {
			t.Fatalf("%x is read as\n%v, want\n%v", data, got, want)
		}
		known := &schema.ServerFrame{} // what is not of the schema is not written
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, known); err != nil {
			t.Fatal(err)
		}
		written, err := appendEvents(nil, known.Events)
		if err != nil {
			t.Fatal(err)
		}
		if back := (&schema.ServerFrame{}); proto.Unmarshal(written, back) != nil || !proto.Equal(back, known) {
			t.Fatalf("%v is written as %x", known, written)
		}
	})
}

// BenchmarkAcquire writes and reads one acquire, in a frame of 64.
func BenchmarkAcquire(b *testing.B) {
	list := make([]*schema.Operation, 64)
	for i := range list {
		list[i] = acquire(uint64(1<<40+i), &schema.Acquire{Space: "default", Name: "orders/1234567", Owner: "job-7", Wait: 1e10})
	}
	var read Operations
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data, _ = appendOperations(data[:0], list)
		if err := read.Read(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/message")
}

// BenchmarkRelease is the same for a release.
func BenchmarkRelease(b *testing.B) {
	list := make([]*schema.Operation, 64)
	for i := range list {
		list[i] = &schema.Operation{Id: uint64(1<<40 + i), Kind: &schema.Operation_Release{Release: &schema.Release{Space: "default", Name: "orders/1234567", Token: 1 << 35}}}
	}
	var read Operations
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data, _ = appendOperations(data[:0], list)
		if err := read.Read(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/message")
}

// BenchmarkGranted is the same for a granted.
func BenchmarkGranted(b *testing.B) {
	list := make([]*schema.Event, 64)
	for i := range list {
		list[i] = &schema.Event{Id: uint64(1<<40 + i), Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: 1 << 35, Since: 1 << 60}}}
	}
	var read Events
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data, _ = appendEvents(data[:0], list)
		if err := read.Read(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/message")
}

// BenchmarkGeneral is BenchmarkAcquire by the general code, to compare.
func BenchmarkGeneral(b *testing.B) {
	list := make([]*schema.Operation, 64)
	for i := range list {
		list[i] = acquire(uint64(1<<40+i), &schema.Acquire{Space: "default", Name: "orders/1234567", Owner: "job-7", Wait: 1e10})
	}
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data, _ = proto.MarshalOptions{}.MarshalAppend(data[:0], &schema.ClientFrame{Operations: list})
		var back schema.ClientFrame
		if err := proto.Unmarshal(data, &back); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/message")
}
