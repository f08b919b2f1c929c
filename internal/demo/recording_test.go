package demo

import (
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// columns and the sizes below are those of the terminal in the picture.
const (
	columns    = 104
	lineHeight = 19
	left, top  = 18, 56
)

// spoken is a line of the recording: when it was printed, in seconds, and what it says.
var spoken = regexp.MustCompile(`^ *(\d+\.\d)s(  .*)$`)

// TestRecording draws docs/pictures/demo.svg from testdata/recording.txt, which has the output of `holdfast demo`; -rewrite
// writes the picture. Each line appears when it was printed.
func TestRecording(t *testing.T) {
	recording, err := os.ReadFile("testdata/recording.txt")
	if err != nil {
		t.Fatal(err)
	}
	var intro strings.Builder
	newScreen(&intro, false, func() time.Duration { return 0 }).intro()
	if !strings.HasPrefix(string(recording), intro.String()) {
		t.Fatal("the recording is of a demo that began otherwise: record it again")
	}
	var rows strings.Builder
	count, last := 0, 0.0
	row := func(at float64, class, text string) {
		fmt.Fprintf(&rows, `<text class="row%s" style="animation-delay:%.1fs" x="%d" y="%d">%s</text>`+"\n", class, at, left, top+count*lineHeight, escaped(text))
		count++
	}
	row(0, " typed", "$ holdfast demo")
	for line := range strings.Lines(string(recording)) {
		line = strings.TrimSuffix(line, "\n")
		if m := spoken.FindStringSubmatch(line); m != nil {
			at, err := strconv.ParseFloat(m[1], 64)
			if err != nil || at < last {
				t.Fatalf("line %q comes after one of %.1fs: %v", line, last, err)
			}
			last = at
			for _, part := range wrapped(line) {
				row(at, class(line), part)
			}
		}
		if strings.HasPrefix(line, "demo: ") {
			if !strings.HasPrefix(line, "demo: ok ") {
				t.Fatalf("the recorded demo did not succeed: %s", line)
			}
			row(last+1, " good", line)
		}
	}
	if last == 0 || !strings.Contains(rows.String(), "row good") {
		t.Fatal("the recording has no lines with times, or no verdict")
	}
	golden.Match(t, "../../docs/pictures/demo.svg", fmt.Sprintf(picture, top+count*lineHeight, top+count*lineHeight-1, rows.String()))
}

// class returns how a line is shown: faults in red, the state of the locks faint.
func class(line string) string {
	switch {
	case strings.Contains(line, "grants: "):
		return " faint"
	case strings.Contains(line, "SIG") || strings.Contains(line, "refused"):
		return " fault"
	}
	return ""
}

// wrapped breaks a line between words where the terminal ends.
func wrapped(line string) (parts []string) {
	for len(line) > columns {
		at := strings.LastIndexByte(line[:columns], ' ')
		parts = append(parts, line[:at])
		line = "       " + line[at:]
	}
	return append(parts, line)
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

// picture is a terminal window. It is dark in both schemes; where motion is not wanted all lines stand there at once.
const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 %d" role="img" aria-labelledby="title desc">
<title id="title">holdfast demo in a terminal</title>
<desc id="desc">Three members elect a coordinator, six workers pass two locks around, the coordinator is killed, another member is stopped for longer than its lease, and the verdict counts no violation.</desc>
<style>
  .window { fill: #102a43; stroke: #627d98 }
  .bar { fill: #243b53 } .dot { fill: #627d98 }
  .row { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #f0f4f8; animation: shown 1ms both }
  .typed { font-weight: 700 } .faint { fill: #9fb3c8 } .fault { fill: #ff9b9b } .good { fill: #7be0a4; font-weight: 700 }
  @keyframes shown { from { opacity: 0 } to { opacity: 1 } }
  @media (prefers-reduced-motion: reduce) { .row { animation: none } }
</style>
<rect class="window" x=".5" y=".5" width="859" height="%d" rx="8"/>
<path class="bar" d="M1 9a8 8 0 0 1 8-8H851a8 8 0 0 1 8 8V30H1z"/>
<circle class="dot" cx="20" cy="15.500" r="5"/><circle class="dot" cx="38" cy="15.500" r="5"/><circle class="dot" cx="56" cy="15.500" r="5"/>
%s</svg>
`
