package trace

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

const head = magic + "\nID: 7\nIncarnation: 2\nName: \"a\"\nFounders: [\"x:1\"]\n\n"

// newTestReader returns a reader in whose text what a member does is known.
func newTestReader(t testing.TB, text string) *Reader {
	t.Helper()
	codec, err := NewCodec(member.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(strings.NewReader(text), codec)
}

// TestRead reads two lives, of which the first was killed within a step.
func TestRead(t *testing.T) {
	r := newTestReader(t, head+`1 0s start
  send 0 at 0 storage.Save{ID: 1}
  drew 5
  drew 6
  secret x"00000000000000000000000000000001"
  wake 3s
2 1.5ms receive 0 at 0 storage.Saved{ID: 1}
  note "a \"note\""
`+head+`1 0s start
  wake never
2 1s call 4.17 at 1 &protocol.Show{Name: "n"}
  panic "three units are held of two"
end "it is over"
`)
	for life, want := range [][]Step{{
		{
			Number: 1, Event: protocol.Event{Kind: protocol.Start}, Drawn: []uint64{5, 6}, Ended: true,
			Effects: []string{"send 0 at 0 storage.Save{ID: 1}", "wake 3s"},
		},
		{
			Number: 2, At: 1500 * time.Microsecond, Effects: []string{`note "a \"note\""`},
			Event: protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: 1}},
		},
	}, {
		{Number: 1, Event: protocol.Event{Kind: protocol.Start}, Ended: true, Effects: []string{"wake never"}},
		{
			Number: 2, At: time.Second, Event: protocol.Event{Kind: protocol.Call, Port: 1, Call: protocol.CallID{Sink: 4, Op: 17}},
			Ended: true, Panic: "three units are held of two", Effects: []string{`panic "three units are held of two"`},
		},
	}} {
		h, err := r.Life()
		if err != nil || h.ID != 7 || h.Incarnation != 2 || h.Config.Name != "a" || len(h.Config.Founders) != 1 {
			t.Fatalf("life %d began with %+v, %v", life, h, err)
		}
		for i := range want {
			step, err := r.Step()
			if err != nil {
				t.Fatal(err)
			}
			same(t, step, &want[i])
		}
		if step, err := r.Step(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last step: %+v, %v", step, err)
		}
		if ending := []string{"the process was killed, or the trace was cut", "it is over"}[life]; r.Ending() != ending {
			t.Errorf("life %d ended with %q, want %q", life, r.Ending(), ending)
		}
	}
	if h, err := r.Life(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last life: %+v, %v", h, err)
	}
}

func same(t *testing.T, got, want *Step) {
	t.Helper()
	ev, wanted := got.Event, want.Event
	if got.Number != want.Number || got.At != want.At || got.Ended != want.Ended || got.Panic != want.Panic ||
		ev.Kind != wanted.Kind || ev.Port != wanted.Port || ev.From != wanted.From || ev.Call != wanted.Call ||
		wanted.Fact != nil && ev.Fact != wanted.Fact ||
		strings.Join(got.Effects, "\n") != strings.Join(want.Effects, "\n") || len(got.Drawn) != len(want.Drawn) {
		t.Errorf("step %+v, want %+v", got, want)
	}
}

// all reads a trace to its end or its first error.
func all(r *Reader) (steps int, err error) {
	for {
		if _, err := r.Life(); err != nil {
			return steps, err
		}
		for {
			_, err := r.Step()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return steps, err
			}
			steps++
		}
	}
}

// TestWrongRecordings are refused with the line, and what is wrong with it.
func TestWrongRecordings(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "line 1: it is no trace",
		"x\n":                                 "line 1: it is no trace",
		"holdfast script 1\n":                 "line 1: it is no trace",
		"holdfast trace 2\n":                  `line 1: it is a trace of version "2"; this program reads "1"`,
		magic + "\n":                          "the trace ends before its first step",
		magic + "\nNothing: 1\n\n":            `line 2: at byte 0: "Nothing" is no field of member.Config`,
		magic + "\nIncarnation: -1\n\n":       `line 2: at byte 2, in field Incarnation: "-1" is no number of 64 bits`,
		magic + "\nDrift: x\n\n":              `line 2: at byte 1, in field Drift: "x" is no number`,
		head + "start\n  wake 0s\n":           `line 7: want the number of a step, got "start"`,
		head + "1 -1s start\n  wake 0s\n":     `line 7: step 1: "-1s" is no time`,
		head + "1 0s begin\n  wake 0s\n":      `line 7: step 1: "begin" is no event`,
		head + "1 0s tick x\n  wake 0s\n":     `line 7: step 1: "x" stands behind tick`,
		head + "1 0s raised x\n  wake 0s\n":   `"raised" is no event`,
		head + "1 0s call 1 at 1 nil\n":       `"1" names no call: want SINK.OPERATION`,
		head + "1 0s receive a at 1 nil\n":    `"a" is no member's id`,
		head + "1 0s receive 5 to 1 nil\n":    "want a port, as in at 1",
		head + "1 0s call 1.1 at 70000 nil\n": "want a port, as in at 1",
		head + "1 0s call 1.1 at 1 &lock.Request{ID: x}\n  wake 0s\n":                  `line 7: step 1: at byte 19, in field ID: "x" is no number of 64 bits`,
		head + "1 0s tick\n  drew x\n  wake 0s\n":                                      `line 8: drew "x": want a number`,
		head + "1 0s tick\n  secret x\"00\"\n  wake 0s\n":                              "line 8: secret: ",
		head + "1 0s tick\n  proved x\"0f\"\n  wake 0s\n":                              `line 8: proved "x\"0f\"": want 64 hexadecimal digits`,
		head + "1 0s tick\n  proved x\"" + strings.Repeat("0", 66) + "\"\n  wake 0s\n": "want 64 hexadecimal digits",
		head + "1 0s tick\n  proved " + strings.Repeat("0", 64) + "\n  wake 0s\n":      "want 64 hexadecimal digits",
		head + "1 0s tick\n  dances\n  wake 0s\n":                                      `line 8: "dances" is no effect of a machine`,
		head + "1 0s tick\n  panic x\n":                                                `line 8: panic "x": want a text in quotes`,
		head + "1 0s tick\n  wake 0s\nend x\n":                                         "line 9: want why the trace ends",
	} {
		if strings.HasPrefix(text, head) {
			text += "9 9s tick\n" // a last line that is wrong may be one that was not finished
		}
		_, err := all(newTestReader(t, text))
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCutTraces: a trace that is cut anywhere behind its header is read so far.
func TestCutTraces(t *testing.T) {
	text := head + "1 0s start\n  send 0 at 0 storage.Save{ID: 1}\n  wake 3s\n2 1s tick\n  wake never\nend \"over\"\n"
	for size := len(head); size <= len(text); size++ {
		if _, err := all(newTestReader(t, text[:size])); !errors.Is(err, io.EOF) {
			t.Fatalf("of %d bytes: %v", size, err)
		}
		// And with another life behind it.
		steps, err := all(newTestReader(t, text[:size]+"\n"+text))
		if !errors.Is(err, io.EOF) || steps < 2 {
			t.Fatalf("of %d bytes and another life: %d steps, %v", size, steps, err)
		}
	}
}

// FuzzReader: no text does harm.
func FuzzReader(f *testing.F) {
	f.Add(head + "1 0s start\n  send 0 at 0 storage.Save{ID: 1}\n  wake 3s\n")
	f.Add(head + "1 0s call 4.17 at 1 &lock.Request{ID: 17, Mode: exclusive, WaitEnd: never}\n  panic \"x\"\nend \"y\"\n" + head)
	f.Add(magic + "\nCell: {Accepted: &{Number: 1, Members: [{}]}}\nTable: {Names: 5}\n\n1 1s tick\n  drew 1\n  secret x\"00\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := all(newTestReader(t, text))
		if err == nil || steps > len(text) {
			t.Errorf("%d steps of %d bytes, %v", steps, len(text), err)
		}
	})
}

// TestLogsAreInTheHeader: what the logs of each space have kept is read as it was written, nothing
// and no bytes apart; a log of a space that is not there is refused.
func TestLogsAreInTheHeader(t *testing.T) {
	codec, err := NewCodec(member.Protocols())
	if err != nil {
		t.Fatal(err)
	}
	want := Header{Config: member.Config{Name: "a", Kept: true, Spaces: []member.Space{
		{Name: "default", Protocol: "consensus", Options: option.Values{"shards": "2", "autopilot": "off"}, Logs: []storage.Kept{
			{Log: 65536, First: 1, Records: [][]byte{{1, 2}, {}, {3}}, State: []byte{}},
			{Log: 65537, First: 9, State: []byte("s"), Snapshot: 4, Meta: []byte("m"), Chunks: [][]byte{{7}, {8, 9}}},
		}},
		{Name: "plain", Protocol: "central"},
		{Name: "other", Protocol: "consensus", Logs: []storage.Kept{{Log: 1 << 17, First: 1, Records: [][]byte{[]byte("record")}}}},
	}}}
	text, err := want.appendTo(nil, codec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := newTestReader(t, string(text)+"1 0s start\n  wake never\n").Life()
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if !reflect.DeepEqual(got.Config, want.Config) {
		t.Errorf("read %+v, want %+v:\n%s", got.Config, want.Config, text)
	}
	if len(want.Config.Spaces[0].Logs) != 2 {
		t.Error("the configuration itself has lost its logs")
	}
	text = []byte(strings.Replace(string(text), "Log: {Space: 2,", "Log: {Space: 3,", 1))
	if _, err := newTestReader(t, string(text)).Life(); err == nil || !strings.Contains(err.Error(), "log 131072 is of space 3; there are 3, from 0 on") {
		t.Errorf("a log of no space: %v", err)
	}
}
