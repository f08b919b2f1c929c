package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"
)

const markerPrefix = "//tidy:"

// marked says whether the line above pos waives a rule, with a reason.
func (f *File) marked(pos token.Pos, kind string) bool {
	line := f.Line(pos) - 1
	for comment := range f.comments() {
		name, reason := marker(comment)
		if name == kind && reason != "" && f.Line(comment.Pos()) == line {
			return true
		}
	}
	return false
}

func (f *File) comments() func(yield func(*ast.Comment) bool) {
	return func(yield func(*ast.Comment) bool) {
		for _, group := range f.AST.Comments {
			for _, comment := range group.List {
				if !yield(comment) {
					return
				}
			}
		}
	}
}

// marker takes a comment apart; name is "" where it is an ordinary one.
func marker(comment *ast.Comment) (name, reason string) {
	text, ok := strings.CutPrefix(comment.Text, markerPrefix)
	if !ok {
		return "", ""
	}
	name, reason, _ = strings.Cut(text, " ")
	return name, strings.TrimSpace(reason)
}

// markers finds waivers that waive nothing.
func markers(t *Tree) (found []Finding) {
	waived := map[string][]string{
		"unordered": {"range ", "maps."},
		"sleep":     {".Sleep"},
	}
	for _, f := range t.Go() {
		source := bytes.Split(f.Source, []byte("\n"))
		for comment := range f.comments() {
			name, reason := marker(comment)
			if name == "" {
				continue
			}
			words, known := waived[name]
			below := ""
			if line := f.Line(comment.Pos()); line < len(source) {
				below = string(source[line])
			}
			switch {
			case !known:
				found = append(found, f.find(comment.Pos(), "use unordered or sleep", "no rule is waived by %s%s", markerPrefix, name))
			case reason == "":
				found = append(found, f.find(comment.Pos(), "say on the same line why it is harmless here", "%s%s gives no reason", markerPrefix, name))
			case !containsAny(below, words):
				found = append(found, f.find(comment.Pos(), "remove it, or move it to the line above", "%s%s waives nothing here", markerPrefix, name))
			}
		}
	}
	return found
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
