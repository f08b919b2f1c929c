package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the error of [Load]: all problems, at least one. A program that ends because of it exits with code 78.
type Error struct {
	Problems []Problem // in the order of Keys, unknown ones first
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Problem is one fault of a configuration.
type Problem struct {
	Key     string // dotted name, or the unknown name as written
	Value   string // as written, quoted; "" if it must not be shown
	Origin  string // "flag --lease", "environment HOLDFAST_LEASE", "file PATH line 3", "default"
	Wrong   string // what is wrong with it
	Allowed string // what would be accepted; "" if Fix has it
	Fix     string // what to do about it
}

// String returns the problem as one sentence.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(oneLine(p.Key) + ": ")
	if p.Value != "" {
		b.WriteString(p.Value + " ")
	}
	fmt.Fprintf(&b, "from %s: %s", p.Origin, p.Wrong)
	if p.Allowed != "" {
		b.WriteString("; allowed: " + p.Allowed)
	}
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// quotedBytes is the maximum length of a quoted value.
const quotedBytes = 200

// quote returns a value in one line, for any characters.
func quote(text string) string {
	if len(text) > quotedBytes {
		return strconv.Quote(text[:quotedBytes]) + "…"
	}
	return strconv.Quote(text)
}

// inFile returns the origin of a place in a file. Line 0 means unknown.
func inFile(path string, line int) string {
	if line == 0 {
		return "file " + oneLine(path)
	}
	return fmt.Sprintf("file %s line %d", oneLine(path), line)
}

// oneLine quotes a text that is invisible or does not fit in one line.
func oneLine(text string) string {
	if text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	return quote(text)
}

// Nearest returns the most likely candidate for word, or "" if none is near: at most a third of the word may be wrong,
// but always one letter.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		if abs(len(word)-len(candidate)) >= bestDistance {
			continue
		}
		if d := distance(word, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// distance returns the number of bytes to insert, delete, replace, or swap with their neighbour to turn one word into
// the other.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// suggest returns advice about an unknown word.
func suggest(word string, candidates []string, otherwise string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return otherwise
}
