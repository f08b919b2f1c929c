package replay

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Difference is the first step in which fresh machines differ from the recording.
type Difference struct {
	Member  string
	Life    int    // counted from 1
	Step    uint64 // 0: while the machines were made
	Line    int    // line of the trace at which the step begins
	At      protocol.Time
	Event   string   // as in the trace
	Want    []string // the recorded lines
	Got     []string // and those of the replay
	Entropy string   // how the random draws differ; "" if they do not
}

// compare returns the difference in a step, or nil.
func compare(member string, step *trace.Step, got []string, drawn string) *Difference {
	same := drawn == "" && len(got) == len(step.Effects)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == step.Effects[i]
	}
	if same {
		return nil
	}
	return &Difference{Member: member, Step: step.Number, Line: step.Line, At: step.At, Event: step.Text, Want: step.Effects, Got: got, Entropy: drawn}
}

// linesOf splits the text of effects into lines without indentation.
func linesOf(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(line, "  "), "\n"))
	}
	return lines
}

// shownLines is the maximum number of lines of each kind in the output.
const shownLines = 40

// String describes the difference: common lines begin with a space, missing ones with -, and additional ones with +.
func (d *Difference) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "life %d of %s, step %d at %v, line %d\n%s\n", d.Life, d.Member, d.Step, d.At, d.Line, d.Event)
	if d.Entropy != "" {
		text.WriteString("+ " + d.Entropy + "\n")
	}
	head := 0
	for head < len(d.Want) && head < len(d.Got) && d.Want[head] == d.Got[head] {
		head++
	}
	tail := 0
	for tail < len(d.Want)-head && tail < len(d.Got)-head && d.Want[len(d.Want)-1-tail] == d.Got[len(d.Got)-1-tail] {
		tail++
	}
	writeLines(&text, "  ", d.Want[:head])
	writeLines(&text, "- ", d.Want[head:len(d.Want)-tail])
	writeLines(&text, "+ ", d.Got[head:len(d.Got)-tail])
	writeLines(&text, "  ", d.Want[len(d.Want)-tail:])
	return text.String()
}

func writeLines(text *strings.Builder, mark string, lines []string) {
	for i, line := range lines {
		if i == shownLines {
			fmt.Fprintf(text, "%s… %d lines more\n", mark, len(lines)-i)
			return
		}
		text.WriteString(mark + line + "\n")
	}
}

// What names the difference in a word: the first word of the first different line.
func (d *Difference) What() string {
	if d.Entropy != "" {
		return firstField(d.Entropy)
	}
	for i := range max(len(d.Want), len(d.Got)) {
		switch {
		case i >= len(d.Want):
			return firstField(d.Got[i])
		case i >= len(d.Got) || d.Want[i] != d.Got[i]:
			return firstField(d.Want[i])
		}
	}
	return ""
}

func firstField(line string) string {
	field, _, _ := strings.Cut(line, " ")
	return field
}
