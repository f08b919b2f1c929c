package draw

import (
	"fmt"
	"github.com/holdfast-locks/holdfast/sim/timeline"
	"strconv"
	"strings"
	"time"
)

// broken places the broken promise.
func (l *layout) broken(b *breach) {
	room := int((l.right - l.left - 24) / (labelSize * em))
	lines := []string{b.headline()}
	lines = append(lines, wrap(clean(b.caption(l.run)), room)...)
	y := l.bottom() + 8
	v := band{box: box{l.left, y, l.right, y + 14 + lineStep*float64(len(lines))}, class: "broken", lines: lines}
	l.bands = append(l.bands, v)
	l.block(v.box)
	l.ended = v.y1
	l.y = y + 9
	l.timed = 0
	l.stamp()
	l.y = v.y2
}

// promises are the names of the promises, as in docs/guarantees.md.
var promises = map[string]string{
	"P1": "exclusion", "P2": "tokens never go back", "P3": "a holder learns of a loss in time", "P4": "no request is stranded", "P5": "order",
	"P6": "exactly once", "P7": "only the holder unlocks", "P8": "bounds everywhere", "P9": "unavailable, not wrong", "P10": "nothing is trusted",
	"P11": "values are current",
	"P12": "states in order",
}

// headline names the broken promise, with the time.
func (b *breach) headline() string {
	if name := promises[b.promise]; name != "" {
		return fmt.Sprintf("%s (%s) is not kept at %s", b.promise, name, seconds(b.at))
	}
	return fmt.Sprintf("%s at %s", b.promise, seconds(b.at))
}

// caption describes the violation: for two holders in the picture's words, otherwise in its own text.
func (b *breach) caption(r *run) string {
	var text strings.Builder
	for i, h := range b.bars {
		since := "since " + seconds(h.from)
		if i > 0 && h.from == b.at {
			since = "from now on"
		}
		until := ""
		if h.to == forever && h.believed > b.at && h.believed < b.at+time.Hour {
			until = ", and until " + seconds(h.believed) + " if nothing more comes"
		}
		// A strings.Builder does not return errors.
		_, _ = fmt.Fprintf(&text, "%s holds %s (token %s) %s%s. ", h.by, h.name, timeline.Token(h.token), since, until)
	}
	if len(b.bars) == 2 {
		return text.String()
	}
	return text.String() + readable(b.text)
}

// readable is a sentence with its long numbers, which are tokens, in the form in which people compare them.
func readable(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		number := strings.TrimRight(word, ",;.:")
		if token, err := strconv.ParseUint(number, 10, 64); err == nil && len(number) > 11 {
			words[i] = timeline.Token(token) + word[len(number):]
		}
	}
	return strings.Join(words, " ")
}
