package takeall_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/internal/takeall"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConversations plays each testdata/*.txt against a call.
//
//	names 5 [alone] [full=3] [held]   first, and once; alone: one at a time; a request for the name 3 is refused at once; held: the rule is switched off
//	granted 0 [3]                     what was asked for: one name, or all from one to another
//	refused 2 why
//	lost 1                            a lock that is taken is not held any more when it is checked
//	fail why                          the context of the call ends
func TestConversations(t *testing.T) {
	golden.Play(t, func(t *testing.T) func(*golden.Line) string {
		t.Cleanup(func() { mutation.Switch("") })
		return (&conversation{full: "none", lost: -1}).play
	})
}

type conversation struct {
	call     *takeall.Call
	full     string
	lost     int
	outcomes map[int]error // of what is under way, where there is one
	told     []string
}

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	c.told = nil
	switch l.Verb {
	case "names":
		c.begin(l)
	case "granted":
		first := int(l.Count())
		last := first
		if l.More() {
			last = int(l.Count())
		}
		for i := first; i <= last; i++ {
			c.outcomes[i] = nil
		}
	case "refused":
		c.outcomes[int(l.Count())] = errors.New(strings.Join(l.Words(), " "))
	case "lost":
		c.lost = int(l.Count())
		return ""
	case "fail":
		c.call.Fail(errors.New(strings.Join(l.Words(), " ")))
	default:
		l.Unknown()
	}
	switch over, err := c.call.Go(); {
	case err != nil:
		c.told = append(c.told, fmt.Sprintf("failed: %v", err))
	case over:
		c.told = append(c.told, "taken")
	}
	return strings.Join(c.told, "\n") + "\n"
}

func (c *conversation) begin(l *golden.Line) {
	l.Helper()
	if full := l.Value("full"); full != "" {
		c.full = full
	}
	if l.Flag("held") {
		mutation.Switch("nothing is held behind a name that is waited for")
	}
	c.outcomes = map[int]error{}
	c.call = takeall.New(int(l.Count()), !l.Flag("alone"), takeall.Caller{
		Ask: func(name int, waits bool) error {
			c.tell(map[bool]string{true: "wait for", false: "try"}[waits], name)
			delete(c.outcomes, name)
			if strconv.Itoa(name) == c.full {
				return errors.New("full")
			}
			return nil
		},
		Outcome: func(name int, waits bool) (decided bool, err error) {
			if err, decided = c.outcomes[name]; !decided {
				c.tell("await", name)
			}
			return decided, err
		},
		GiveUp: func(name int) error { c.tell("give up", name); return nil },
		Check: func(name int) error {
			c.tell("check", name)
			if name == c.lost {
				return fmt.Errorf("%d is lost", name)
			}
			return nil
		},
		Release: func(name int) { c.tell("release", name) },
	})
}

// tell says what is done with a name, in one line with the names next to it.
func (c *conversation) tell(what string, name int) {
	if last := len(c.told) - 1; last >= 0 {
		if names, same := strings.CutPrefix(c.told[last], what+" "); same {
			from, to, more := strings.Cut(names, "..")
			if !more {
				to = from
			}
			if end, _ := strconv.Atoi(to); end == name-1 || end == name+1 {
				c.told[last] = fmt.Sprintf("%s %s..%d", what, from, name)
				return
			}
		}
	}
	c.told = append(c.told, fmt.Sprintf("%s %d", what, name))
}
