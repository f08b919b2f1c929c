package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Labels are set in the reader's monospaced font. In all of those a character is close to 0.6 em wide, so that the
// width of a label is known without a font. A label gets 0.62 em per character.
const (
	labelSize = 11.0
	nameSize  = 12.0
	em        = 0.62
)

// cells is the number of monospaced columns of a text: two for wide East Asian characters and for emoji.
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

// wide is the width of a text of a size.
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

// clean replaces control and formatting characters, which could reorder or hide the text around them, and invalid
// bytes.
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

// wrap breaks a text into lines of at most most cells, between words if possible.
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
