package holdfasttest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// mostReported is the maximum number of locks that a failure lists.
const mostReported = 20

// end fails the test if locks are still held, and closes all clients.
func (a *authority) end() {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if report := a.stillHeld(); report != "" && !a.leaveHeld {
		if a.t.Failed() {
			a.t.Log(report) // a test that stops early leaves locks behind
		} else {
			a.t.Error(report)
		}
	}
	a.pause() // the end of one client's locks grants nothing to another
	for _, c := range a.clients {
		a.close(c)
	}
	if a.alarm != nil {
		a.alarm.Stop()
	}
}

// stillHeld lists the locks that are held, in the order of their requests; "" if there is none.
func (a *authority) stillHeld() string {
	var held []*request
	for _, r := range a.requests {
		if r.lock != nil && r.lock.Check() == nil {
			held = append(held, r)
		}
	}
	if len(held) == 0 {
		return ""
	}
	slices.SortFunc(held, func(x, y *request) int { return cmp.Compare(x.id, y.id) })
	var b strings.Builder
	b.WriteString("holdfasttest: locks are still held at the end of the test; unlock them, or give New the option LeaveHeld():")
	for i, r := range held {
		if i == mostReported {
			fmt.Fprintf(&b, "\n  and %d more", len(held)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s", r.describe())
	}
	return b.String()
}

// describe names a lock, its holder and the line that took it.
func (r *request) describe() string {
	text := fmt.Sprintf("%q", r.want.Name)
	if r.space != "default" {
		text += fmt.Sprintf(" in space %q", r.space)
	}
	if r.want.Owner != "" {
		text += fmt.Sprintf(" by owner %q", r.want.Owner)
	}
	return text + fmt.Sprintf(" by client %q, taken at %s", r.session.client.name, place(r.callers))
}

// module is the prefix of the names of Holdfast's own functions.
const module = "github.com/holdfast-locks/holdfast"

// mostCallers is the maximum depth of Holdfast's own functions between a call of a user and its request.
const mostCallers = 32

// callers returns the stack of a call.
func callers() []uintptr {
	var pcs [mostCallers]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}

// place returns the first line of a stack that is not Holdfast's own, or that is of a test.
func place(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if own := strings.HasPrefix(f.Function, module+".") || strings.HasPrefix(f.Function, module+"/"); !own || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s:%d", shorten(f.File), f.Line)
		}
		if !more {
			return "an unknown line"
		}
	}
}

// shorten returns a path relative to the working directory, which is the folder of the tested package.
func shorten(file string) string {
	here, err := os.Getwd()
	if err != nil {
		return file
	}
	if relative, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return file
}
