package main

import "strings"

// typedLine is the command at the end of a line of bash, up to the cursor. Nothing in it is evaluated: a variable is its
// own name.
type typedLine struct {
	words []string // without quotes, and without the name of the program; the last one is being typed

	// The last word as bash sees it: what is typed of it is kept up to a point, and the rest is replaced by a reply.
	kept  string // without quotes
	quote byte   // the quote in which it ends, or 0
}

// parseLine splits a line into words. Breaks are the characters at which bash begins to replace within a word.
func parseLine(line, breaks string) typedLine {
	l := typedLine{}
	var word strings.Builder
	started := false
	end := func() {
		if started {
			l.words = append(l.words, word.String())
		}
		word.Reset()
		l.kept, started = "", false
	}
	for i := 0; i < len(line); i++ {
		b := line[i]
		switch {
		case l.quote != 0 && b == l.quote:
			l.quote = 0
			continue
		case b == '\\' && l.quote != '\'' && i+1 < len(line):
			i++
			if l.quote == '"' && !strings.ContainsRune("\\\"$`", rune(line[i])) {
				word.WriteByte(b)
			}
			started = true
			word.WriteByte(line[i])
			continue
		case l.quote == 0 && (b == ' ' || b == '\t' || b == '\n'):
			end()
			continue
		case l.quote == 0 && strings.IndexByte(";|&()`", b) >= 0: // another command begins
			end()
			l.words = nil
			continue
		case l.quote == 0 && (b == '"' || b == '\''):
			l.quote, started = b, true
			l.kept = word.String()
			continue
		}
		started = true
		word.WriteByte(b)
		if l.quote == 0 && strings.IndexByte(breaks, b) >= 0 {
			l.kept = word.String()
		}
	}
	l.words = append(l.words, word.String())
	for len(l.words) > 1 && strings.Contains(l.words[0], "=") { // variables that are set for the command
		l.words = l.words[1:]
	}
	if len(l.words) > 0 {
		l.words = l.words[1:]
	}
	return l
}

// reply returns what bash puts in the place of the part that it replaces, so that the word becomes another.
func (l typedLine) reply(word string) string {
	rest := strings.TrimPrefix(word, l.kept)
	special := " \t'\"\\$`!*?[]{}()<>|&;#~^="
	switch l.quote {
	case '\'':
		return strings.ReplaceAll(rest, "'", `'\''`)
	case '"':
		special = "\"\\$`"
	}
	var text strings.Builder
	for _, r := range rest {
		if strings.ContainsRune(special, r) && !(r == '=' && strings.HasPrefix(word, "--")) {
			text.WriteByte('\\')
		}
		text.WriteRune(r)
	}
	return text.String()
}
