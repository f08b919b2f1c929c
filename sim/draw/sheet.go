package draw

import (
	"fmt"
	"strconv"
	"strings"
)

// sheet is an SVG document that is written from top to bottom.
type sheet struct{ strings.Builder }

// add writes a line. Its arguments are numbers and trusted text; text from outside must go through escaped.
func (s *sheet) add(format string, arguments ...any) {
	// A strings.Builder does not return errors.
	_, _ = fmt.Fprintf(s, format+"\n", arguments...)
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escaped is a text escaped for XML, without characters that XML forbids.
func escaped(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return escapes.Replace(strings.Join(lines, "\n"))
}

// titleMost is the maximum length of a title, in characters.
const titleMost = 700

// pointed is the title of an element, shown on hover.
func pointed(text string) string {
	if text == "" {
		return ""
	}
	if runes := []rune(text); len(runes) > titleMost {
		text = string(runes[:titleMost]) + "…"
	}
	return "<title>" + escaped(text) + "</title>"
}

// num is a coordinate, to a tenth of a pixel.
func num(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// text writes a text with its baseline at y.
func (s *sheet) text(x, y float64, class, text, title string) {
	s.add(`<text x="%s" y="%s" class="%s">%s%s</text>`, num(x), num(y), class, escaped(text), pointed(title))
}

func (s *sheet) rect(b box, class, more string) {
	s.add(`<rect x="%s" y="%s" width="%s" height="%s" class="%s"%s/>`, num(b.x1), num(b.y1), num(b.x2-b.x1), num(b.y2-b.y1), class, more)
}

func (s *sheet) line(x1, y1, x2, y2 float64, class string) {
	s.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

// shape writes a path, from the letters of the format and numbers.
func (s *sheet) shape(class, title, format string, numbers ...float64) {
	arguments := make([]any, len(numbers))
	for i, n := range numbers {
		arguments[i] = num(n)
	}
	path := fmt.Sprintf(format, arguments...)
	if title == "" {
		s.add(`<path d="%s" class="%s"/>`, path, class)
		return
	}
	s.add(`<path d="%s" class="%s">%s</path>`, path, class, pointed(title))
}
