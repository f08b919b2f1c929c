package timeline

import (
	"fmt"
	"strings"
	"unicode"
)

// Shown is the maximum length of a message's Short, in characters.
const Shown = 25

// Shorten makes a Short of a Text: its first words, without quotes, details in brackets, stamps after a middle dot, and
// machine-readable values such as ids. A token stays; other values of the form key=value are left out with their keys.
func Shorten(text string) string {
	text, _, _ = strings.Cut(text, " · ")
	var short strings.Builder
	room := Shown
	for word := range strings.FieldsSeq(text) {
		word, _, opened := strings.Cut(word, "{")
		key, value, isPair := strings.Cut(word, "=")
		switch {
		case isPair && key == "token":
			word = value
		case isPair || opaque(word):
			continue
		}
		word = strings.Trim(word, `"`)
		if word == "" {
			continue
		}
		if size := len([]rune(word)) + 1; size <= room {
			room -= size
		} else {
			if short.Len() == 0 {
				short.WriteString(string([]rune(word)[:Shown-1]) + "…")
			}
			break
		}
		if short.Len() > 0 {
			short.WriteByte(' ')
		}
		short.WriteString(word)
		if opened {
			break
		}
	}
	return short.String()
}

// opaque reports whether a word is a long id of alternating letters and digits, which no reader remembers.
func opaque(word string) bool {
	turns, before := 0, 0
	for _, r := range word {
		sort := 0
		switch {
		case unicode.IsLetter(r):
			sort = 1
		case unicode.IsDigit(r):
			sort = 2
		}
		if sort != 0 && before != 0 && sort != before {
			turns++
		}
		if sort != 0 {
			before = sort
		}
	}
	return turns > 3 && len(word) > 9
}

// Token is a token in the form in which people compare them: reign:count if its upper half counts reigns, as in most
// protocols, otherwise the number.
func Token(token uint64) string {
	if reign := token >> 32; reign > 0 {
		return fmt.Sprintf("%d:%d", reign, token&(1<<32-1))
	}
	return fmt.Sprint(token)
}
