package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Labels are set in the monospaced face that the reader has: of those every character is
// close to 0.6 em wide, so that the room that a label takes is known without a font. Room
// for 0.62 em is kept.
const (
	labelSize = 11.0
	nameSize  = 12.0
	em        = 0.62
)

// cells is how many columns of a monospaced face a text fills: two for what is written
// wide in East Asia and for pictures.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
			r >= 0xff00 && r <= 0xff60 || r >= 0x1f000) {
			n++
		}
	}
	return n
}

// wide is the room that a text of a size takes.
func wide(text string, size float64) float64 { return float64(cells(text)) * size * em }

// fit shortens a text to a number of cells, with an ellipsis at its end.
func fit(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	room := most - 1
	var short strings.Builder
	for _, r := range text {
		if room -= cells(string(r)); room < 0 {
			break
		}
		short.WriteRune(r)
	}
	return short.String() + "…"
}

// clean replaces what no label may have: control and formatting characters, which could
// reorder or hide the text around them, and bytes that are no text.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsGraphic(r):
			return '\ufffd'
		}
		return r
	}, text)
}

// wrap breaks a text into lines of at most so many cells, between words where it can.
func wrap(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		for cells(word) > most {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := strings.TrimSuffix(fit(word, most), "…")
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case cells(line)+1+cells(word) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
