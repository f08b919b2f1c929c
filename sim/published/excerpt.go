package published

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// excerptLength is the number of lines in an excerpt, from the end of a trace.
const excerptLength = 24

// quiet are parts of frequent lines without news: the polls of the membership, and writes to disks.
var quiet = []string{
	"membership.Poll", "membership.PollAnswer", "election.StatusPoll", "election.StatusAnswer", "authority.Acks", "authority.Query ", "authority.Answer",
	" writes save ", " saved #", "raises *protocol.Horizon", " → host-", "client.queued", "notes ignored",
	"client.hello", "client.refused", "election.Refuse", "everything is healed",
}

// verdicts are the first words of the last line of a trace.
var verdicts = []string{"VIOLATION", "STUCK", "CRASH"}

// Excerpt returns the last significant lines of a trace, oldest first: acts and answers of users, faults, views, and
// decisions about locks. The verdict itself, the last line, is not among them.
func Excerpt(trace []byte) []string {
	lines := strings.Split(strings.TrimRight(string(trace), "\n"), "\n")
	if n := len(lines); n > 0 && (slices.ContainsFunc(verdicts, func(verdict string) bool { return strings.Contains(lines[n-1], verdict) })) {
		lines = lines[:n-1]
	}
	var excerpt []string
	for _, line := range slices.Backward(lines) {
		if slices.ContainsFunc(quiet, func(part string) bool { return strings.Contains(line, part) }) {
			continue
		}
		if line = shortened(line); len(excerpt) > 0 && excerpt[len(excerpt)-1] == line {
			continue // the same line twice
		}
		if excerpt = append(excerpt, line); len(excerpt) == excerptLength {
			break
		}
	}
	slices.Reverse(excerpt)
	return excerpt
}

// shortened cuts a line to the width of a terminal; the trace has the rest.
func shortened(line string) string {
	const width = 150
	if r := []rune(line); len(r) > width {
		return string(r[:width]) + "…"
	}
	return line
}

// promises are the subjects of the promises that a row can break, in a word.
var promises = [...]string{
	1:  "exclusion: two hold what excludes each other, or two may grant",
	2:  "tokens never go back",
	3:  "a holder learns of a loss before another client is granted the name",
	4:  "no client is stranded: what is free is granted, and some member serves",
	5:  "order: first come, first served",
	6:  "exactly once: a request acts once",
	7:  "only the holder unlocks",
	8:  "bounds, each with an error that names it",
	9:  "holders keep their locks as long as exclusion allows",
	10: "nothing is trusted: bad input and wrong settings get an error, and harm no other member",
	11: "values: what a holder knows to be set is shown, until it sets another or its lock ends",
	12: "states in order: an observer sees each grant once and in order, or that it may lack some",
}

// about returns the subject of a promise; "" if there is no such promise.
func about(promise string) string {
	var number int
	if _, err := fmt.Sscanf(promise, "P%d", &number); err != nil || number < 1 || number >= len(promises) {
		return ""
	}
	return promises[number]
}

// Introduce writes an introduction to a row: the rule, where its hole was published, and the failure without it.
func (r *Row) Introduce(w io.Writer) error {
	breaks := r.Breaks
	if found := Seeds()[r.Rule]; about(found.Promise) != "" {
		breaks = found.Promise
	}
	_, err := fmt.Fprintf(w, "rule: %s\npublished: %s\nwithout it: %s\nbreaks: %s, %s\n", r.Rule, r.Source, r.Hole, breaks, about(breaks))
	return err
}

// Command is the shell command that shows the row.
func (r *Row) Command() string {
	if strings.Contains(r.Rule, "'") {
		return fmt.Sprintf("holdfast sim --as-published %q", r.Rule)
	}
	return "holdfast sim --as-published " + r.Rule
}

// Slug is the rule's name as a part of a file name.
func (r *Row) Slug() string {
	var b bytes.Buffer
	for _, c := range strings.ToLower(r.Rule) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("-")) && c != '\'':
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
