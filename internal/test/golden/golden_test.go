package golden_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscript checks that comments, empty lines and inputs stay, and that new output replaces the old.
func TestTranscript(t *testing.T) {
	const before = "# A comment.\nsay a b\n  said before\n\nsilent\n    and more\nsay c\n"
	const want = "# A comment.\nsay a b\n  a\n    b\n\nsilent\nsay c\n  c\n"
	now := golden.Transcript(t, "test", before, func(l *golden.Line) string { return strings.Join(l.Words(), " \n  ") })
	if now != want {
		t.Errorf("%q, want %q", now, want)
	}
}

// TestRequestsAreRead checks words in their places, and options in any order after them.
func TestRequestsAreRead(t *testing.T) {
	session := lock.SessionID{Member: 2, Number: 7}
	for text, want := range map[string]any{
		"lock #1 X wait=2s slots=2/5 owner=o": &lock.Request{
			Session: session, ID: 1, Name: "X", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 5}, Owner: "o"}, Arrived: time.Second, WaitEnd: 3 * time.Second,
		},
		`unlock #3 "" token=4:1 awaited`: &protocol.Release{Session: session, Request: 3, Token: lock.Token(4, 1), Awaited: true},
		"amend #7 X revision=2 value=v":  &protocol.Amend{Session: session, Request: 7, Name: "X", Amendment: lock.Amendment{Revision: 2, Value: "v"}},
		"extend token=4:1 X 5s":          &protocol.Extend{Session: session, Name: "X", Token: lock.Token(4, 1), Hold: 5 * time.Second},
		"scan after=n prefix=m":          &protocol.Scan{Limit: 10, After: "n", Prefix: "m"},
	} {
		l := golden.Read(t, text)
		got := l.Call(session, time.Second)
		l.Done()
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// failing ends a test's goroutine with the failure.
type failing struct{ testing.TB }

func (failing) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// TestWrongLinesFail checks that a missing word, an unread one, and an invalid number fail.
func TestWrongLinesFail(t *testing.T) {
	for text, want := range map[string]string{
		"lock #1":               "lock #1: a word is missing",
		"lock #1 X tyr":         `lock #1 X tyr: unknown word "tyr"`,
		"lock #1 X waits=1s":    `lock #1 X waits=1s: unknown word "waits=1s"`,
		"lock #a X":             `lock #a X: strconv.ParseUint: parsing "a": invalid syntax`,
		"unlock #1 X token=4.1": "unlock #1 X token=4.1: 4.1: input does not match format",
	} {
		t.Run(text, func(t *testing.T) {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%v, want %s", got, want)
				}
			}()
			l := golden.Read(failing{t}, text)
			l.Call(lock.SessionID{Number: 1}, 0)
			l.Done()
		})
	}
}

// TestMachinesMustRest checks that a machine that always wants to be woken fails.
func TestMachinesMustRest(t *testing.T) {
	defer func() {
		if got := recover(); got != "a machine still wants to be woken at 1s, which it was" {
			t.Errorf("%v", got)
		}
	}()
	now := 2 * time.Second
	golden.Advance(failing{t}, &now, 3*time.Second, func() (protocol.Time, func()) { return time.Second, func() {} })
}
