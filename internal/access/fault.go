package access

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the error of [Parse]: all faults of a file, at least one.
type Error struct {
	Path   string // of the file, for the text; Parse does not know it
	Faults []Fault
	More   int // faults beyond the first MaxFaults
}

// MaxFaults is the largest number of faults that an Error has.
const MaxFaults = 50

// Error returns one line for each fault.
func (e *Error) Error() string {
	var lines []string
	for _, f := range e.Faults {
		text := f.String()
		if e.Path != "" {
			text = oneLine(e.Path) + " " + text
		}
		lines = append(lines, text)
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("there are %d more faults", e.More))
	}
	return strings.Join(lines, "\n")
}

// Fault is one thing that is wrong with a file.
type Fault struct {
	Line  int    // from 1 on; 0 if it is of the whole file
	Key   string // the place, as in roles.readers.rules[0].verbs
	Wrong string // what is wrong, with the value
	Fix   string // what to do about it; "" if Wrong has it
}

// String returns the fault as one line.
func (f Fault) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Key != "" {
		b.WriteString(oneLine(f.Key) + ": ")
	}
	b.WriteString(f.Wrong)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// quotedBytes is the largest length of a quoted value.
const quotedBytes = 120

// quote returns a value in one line, for any bytes.
func quote(text string) string {
	if len(text) > quotedBytes {
		return strconv.Quote(text[:quotedBytes]) + "…"
	}
	return strconv.Quote(text)
}

// oneLine quotes a text that is empty, long, or does not fit in one line.
func oneLine(text string) string {
	if text != "" && len(text) <= 2*quotedBytes && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	return quote(text)
}
