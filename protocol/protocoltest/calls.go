package protocoltest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// use lets a session lock and unlock a name so many times, and says only how often it was
// granted.
func (s *Stage) use(args []string) {
	s.t.Helper()
	said := s.Said()
	times := Number(s.t, args[1])
	for range times {
		s.used++
		fields := []string{args[0], fmt.Sprintf("#%d", 1000+s.used), args[2]}
		for _, verb := range []string{"lock", "unlock"} {
			s.call(verb, fields)
			s.settle()
		}
	}
	granted := strings.Count(s.Said(), " granted "+args[2]+" token=")
	fmt.Fprintf(&s.said, "%s%s was granted %s %d of %d times\n", said, args[0], args[2], granted, times)
}

// crowd lets a session want a name so many times, or as many names as begin with one, and says
// only how many of them it got at once.
func (s *Stage) crowd(args []string) {
	s.t.Helper()
	said := s.Said()
	times := Number(s.t, args[1])
	for i := range times {
		s.used++
		name := args[2]
		if stem, many := strings.CutSuffix(name, "*"); many {
			name = fmt.Sprintf("%s%d", stem, i+1)
		}
		s.call("lock", []string{args[0], fmt.Sprintf("#%d", 1000+s.used), name})
		s.settle()
	}
	granted := strings.Count(s.Said(), " granted ")
	fmt.Fprintf(&s.said, "%s%s was granted %d of %d\n", said, args[0], granted, times)
}

// quietly lets a line happen, and says nothing of it.
func (s *Stage) quietly(fields []string) {
	s.t.Helper()
	said := s.Said()
	s.Say(strings.Join(fields, " "))
	s.said.Reset()
	s.said.WriteString(said)
}

// CallOf reads a request of a client of a member, or of an operator there.
func CallOf(t testing.TB, self protocol.ID, verb string, args []string, now protocol.Time) any {
	t.Helper()
	switch verb {
	case "show":
		return &protocol.Show{Name: nameOf(args[0])}
	case "inspect":
		return &protocol.Inspect{Here: slices.Contains(args, "here")}
	case "break":
		b := &protocol.Break{Name: nameOf(args[0]), Reason: "test"}
		if len(args) > 1 {
			b.Token = token(t, args[1])
		}
		return b
	case "end":
		end := &protocol.EndSession{Session: sessionOf(t, self, args[0])}
		if len(args) > 1 {
			end.Why = holdfast.Loss(args[1])
		}
		return end
	case "list":
		return &protocol.ListRequests{Session: sessionOf(t, self, args[0])}
	case "suspend":
		verb, args = "lock", spaceLockArgs(args)
	case "resume":
		verb, args = "unlock", spaceLockArgs(args)
	}
	s, request, name := sessionOf(t, self, args[0]), Number(t, strings.TrimPrefix(args[1], "#")), nameOf(args[2])
	switch verb {
	case "lock":
		return requestOf(t, &lock.Request{Session: s, ID: request, Name: name, Arrived: now, WaitEnd: lock.Never}, args[3:])
	case "cancel":
		return &protocol.Cancel{Session: s, Request: request, Name: name}
	case "unlock":
		r := &protocol.Release{Session: s, Request: request, Name: name, Awaited: args[len(args)-1] == "awaited"}
		if len(args) > 3 && !r.Awaited {
			r.Token = token(t, args[3])
		}
		return r
	case "extend":
		return extendOf(t, &protocol.Extend{Session: s, Request: request, Name: name}, args[3:])
	}
	t.Fatalf("unknown word %q", verb)
	return nil
}

// scanOf reads [limit=N] [after=NAME] [prefix=P].
func scanOf(t testing.TB, args []string) *protocol.Scan {
	t.Helper()
	scan := &protocol.Scan{Limit: 10}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "limit":
			scan.Limit = int(Number(t, value))
		case "after":
			scan.After = value
		case "prefix":
			scan.Prefix = value
		default:
			t.Fatalf("scan: unknown word %q", arg)
		}
	}
	return scan
}

// spaceLockArgs puts the name of the whole table where other requests have theirs.
func spaceLockArgs(args []string) []string {
	return append([]string{args[0], args[1], `""`}, args[2:]...)
}

// nameOf reads a lock's name; "" is written with its quotes.
func nameOf(text string) string {
	if text == `""` {
		return lock.SpaceLock
	}
	return text
}

// extendOf reads [token=N] 5s, or [token=N] hold=5s.
func extendOf(t testing.TB, e *protocol.Extend, args []string) *protocol.Extend {
	t.Helper()
	for _, arg := range args {
		if strings.HasPrefix(arg, "token=") {
			e.Token = token(t, arg)
			continue
		}
		e.Hold = Duration(t, strings.TrimPrefix(arg, "hold="))
	}
	return e
}

func requestOf(t testing.TB, r *lock.Request, args []string) *lock.Request {
	t.Helper()
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "shared":
			r.Mode = holdfast.ModeShared
		case "slots":
			r.Mode = holdfast.ModeSlots
			if _, err := fmt.Sscanf(value, "%d/%d", &r.Units, &r.Capacity); err != nil {
				t.Fatalf("%s: %v", arg, err)
			}
		case "owner":
			r.Owner = value
		case "try":
			r.Try = true
			r.WaitEnd = r.Arrived
		case "wait":
			r.WaitEnd = r.Arrived + Duration(t, value)
		case "hold":
			r.Hold = Duration(t, value)
		case "belief":
			r.Belief = Duration(t, value)
		default:
			t.Fatalf("lock: unknown word %q", arg)
		}
	}
	return r
}

// sessionOf reads the number of a session.
func sessionOf(t testing.TB, self protocol.ID, text string) lock.SessionID {
	t.Helper()
	return lock.SessionID{Member: uint64(self), Number: Number(t, strings.TrimPrefix(text, "s"))}
}

// token reads token=REIGN:COUNT.
func token(t testing.TB, text string) holdfast.Token {
	t.Helper()
	var reign uint64
	var count uint32
	if _, err := fmt.Sscanf(text, "token=%d:%d", &reign, &count); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return lock.Token(reign, count)
}

// Duration reads a time as a conversation writes it.
func Duration(t testing.TB, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Number reads a number that is not negative.
func Number(t testing.TB, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
