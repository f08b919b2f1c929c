package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
)

// busyCode is the exit code if the lock was not granted in time.
const busyCode = 75

// requestFlags are the flags of the requested lock, for lock and acquire.
func requestFlags() []cli.Flag {
	return []cli.Flag{
		switchFlag("shared", "share the lock with other shared holders", "s"),
		textFlag("slots", "`U/N`: take U of the N units of the name (a semaphore)"),
		switchFlag("try", "fail at once if the lock is held", "n"),
		durationFlag("wait", 0, "longest wait; a number without a unit is seconds (default: no limit)", "w"),
		durationFlag("hold", 0, "longest hold (default: no limit)"),
		durationFlag("ttl", 0, "how long the lock outlives the last heartbeat (default: the member's)"),
		textFlag("owner", "`ID` under which the lock is held"),
		textFlag("reason", "`TEXT` that listings show"),
		textFlag("value", "`TEXT` that is published with the lock, for example an address"),
		textFlag("deadlock", "`WHAT` to do if the wait would close a cycle of waits: ignore (wait) or fail"),
		switchFlag("verbose", "report a wait as lines on standard error, also where that is no terminal", "v"),
		textFlag("require", "refuse a lockspace below this `CLASS`: fenced, available or advisory"),
		countFlag("conflict-exit-code", busyCode, "exit `CODE` when the lock cannot be had", "E"),
	}
}

// request describes the requested locks.
type request struct {
	names   []string
	options []holdfast.Option // all except the wait limit
	try     bool
	wait    time.Duration // 0: no limit
	hold    time.Duration // 0: no limit
	ttl     time.Duration // 0: the member's default
	busy    int           // exit code
}

// tryPatience is how long --try waits for members that are just starting, and for their decision.
const tryPatience = 5 * time.Second

// limit returns how long to wait for the locks, for any cause: a holder, or that no member serves yet.
func (w *request) limit() time.Duration {
	switch {
	case w.try:
		return tryPatience
	case w.wait > 0:
		return w.wait
	}
	return asLongAsItTakes
}

// asLongAsItTakes is a wait limit that is never reached.
const asLongAsItTakes = time.Duration(1 << 62)

// patience returns how long to wait for the first answer of any address. With a wait limit, it is that limit.
func (w *request) patience(timeout time.Duration) time.Duration {
	if w.wait > 0 {
		return 0
	}
	return min(w.limit(), timeout)
}

// requestOf parses the flags, for the names. A flag that does not parse is a usage error; check validates their
// meaning.
func requestOf(c *cli.Command, names []string) (*request, error) {
	w := &request{
		names: names, try: c.Bool("try"),
		wait: c.Duration("wait"), hold: c.Duration("hold"), ttl: c.Duration("ttl"),
		busy: c.Int("conflict-exit-code"),
	}
	if err := w.contradiction(c); err != nil {
		return nil, err
	}
	if w.try {
		w.options = append(w.options, func(r *holdfast.Request) { r.Try = true })
	}
	if w.hold > 0 {
		w.options = append(w.options, holdfast.Hold(w.hold))
	}
	w.options = append(w.options, holdfast.Owner(c.String("owner")), holdfast.Reason(c.String("reason")), holdfast.Value(c.String("value")))
	if c.Bool("shared") {
		w.options = append(w.options, holdfast.Shared())
	}
	if text := c.String("slots"); text != "" {
		units, capacity, err := parseSlots(text)
		if err != nil {
			return nil, usageError(c.Name, "flag --slots: %v", err)
		}
		w.options = append(w.options, holdfast.Slots(units, capacity))
	}
	policy, err := parseDeadlock(c.String("deadlock"))
	if err != nil {
		return nil, usageError(c.Name, "flag --deadlock: %v", err)
	}
	w.options = append(w.options, holdfast.Deadlock(policy))
	class, err := holdfast.ParseClass(c.String("require"))
	if err != nil {
		return nil, usageError(c.Name, "flag --require: %v", err)
	}
	w.options = append(w.options, holdfast.Require(class))
	return w, nil
}

// contradiction finds flags that exclude each other, values out of bounds, and missing names.
func (w *request) contradiction(c *cli.Command) error {
	for _, flag := range []string{"wait", "hold", "ttl"} {
		if d := c.Duration(flag); c.IsSet(flag) && d <= 0 {
			hint := ""
			if flag == "wait" {
				hint = "; --try does not wait"
			}
			return usageError(c.Name, "flag --%s: %v: want more than 0%s", flag, d, hint)
		}
	}
	switch {
	case w.try && w.wait > 0:
		return usageError(c.Name, "--try and --wait exclude each other")
	case c.Bool("shared") && c.String("slots") != "":
		return usageError(c.Name, "--shared and --slots exclude each other")
	case w.busy < 0 || w.busy > 255:
		return usageError(c.Name, "flag --conflict-exit-code: %d: want 0 to 255", w.busy)
	case len(w.names) == 0:
		return usageError(c.Name, "there is no name")
	}
	return nil
}

// cutTTL returns a command's message about a ttl that the member has cut, with the reason.
func cutTTL(wanted, given time.Duration, why string) string {
	return fmt.Sprintf("--ttl %v is cut to %v: %s", short(wanted), short(given.Round(time.Millisecond)), why)
}

// check returns what is wrong with the names and the request.
func (w *request) check() error {
	for i, name := range w.names {
		_, err := holdfast.NewRequest(name, w.options...)
		if err == nil && slices.Contains(w.names[:i], name) {
			err = fmt.Errorf("%w: the name is listed twice", holdfast.ErrConflict)
		}
		if err != nil {
			return &holdfast.Error{Op: "lock", Name: name, Err: err}
		}
	}
	return nil
}

// parseDeadlock parses what becomes of a request in a deadlock; "" is the default.
func parseDeadlock(text string) (holdfast.DeadlockPolicy, error) {
	for _, policy := range []holdfast.DeadlockPolicy{holdfast.Ignore, holdfast.Fail} {
		if text == policy.String() {
			return policy, nil
		}
	}
	if text == "" {
		return holdfast.Ignore, nil
	}
	return 0, fmt.Errorf("%q: want ignore or fail", text)
}

// parseSlots parses U/N.
func parseSlots(text string) (units, capacity int, err error) {
	part, whole, ok := strings.Cut(text, "/")
	if ok {
		units, err = strconv.Atoi(part)
	}
	if ok && err == nil {
		capacity, err = strconv.Atoi(whole)
	}
	if !ok || err != nil {
		return 0, 0, fmt.Errorf("%q: want U/N, two numbers as in 2/5", text)
	}
	return units, capacity, nil
}

// refused adds to the error of a refused lock the flag that limited the wait, and gives it the requested exit code.
func (w *request) refused(err error) error {
	held, unavailable := errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrUnavailable)
	switch {
	case !held && !unavailable:
		return err
	case w.try:
		err = beforeHint(err, " (--try)")
	case w.wait > 0:
		err = beforeHint(err, fmt.Sprintf(" (--wait %v)", short(w.wait)))
	}
	if held {
		return &exitError{w.busy, err}
	}
	return err
}

// short formats a duration without Go's trailing zeros: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
