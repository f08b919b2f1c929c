package tidy

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// failing is how the text of an error shall not begin. The words here are put together
// so that this file passes its own checks.
var failing = regexp.MustCompile("[\"`](?i:fai" + "led) to ")

// errorWords finds texts that begin by saying that something failed.
func errorWords(t *Tree) []Finding {
	const fix = "write `verb phrase: %w`, as in `read the cell: %w`"
	return grep(t, func(f *File) bool { return isCode(f) && !f.Test() }, failing, "", fix)
}

// empty finds the names of packages and of exported types that say nothing about them.
var empty = regexp.MustCompile(`(?m)^package (utils?|common|helpers?|manager|base)(_test)?\b` +
	`|^type [A-Z]\w*(Manager|Helpers?|Utils?)\b`)

// names finds packages and exported types whose names say nothing.
func names(t *Tree) []Finding {
	const fix = "name it after what it is or holds: a Grant, a Waiter, a Reign"
	return grep(t, isCode, empty, "an empty name: ", fix)
}

// isCode says whether people wrote the file for the compiler.
func isCode(f *File) bool { return f.AST != nil && !f.Generated() }

var unfinishedWords = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

// unfinished finds notes of work that was left for later.
func unfinished(t *Tree) []Finding {
	const fix = "do it, or open an issue and say here what holds today"
	return grep(t, isProse, unfinishedWords, "a note of unfinished work: ", fix)
}

// isProse says whether people wrote the file to be read: Go, Markdown or shell.
func isProse(f *File) bool {
	extension := path.Ext(f.Path)
	return isCode(f) || slices.Contains([]string{".md", ".sh", ".bash"}, extension) ||
		extension == "" && bytes.HasPrefix(f.Source, []byte("#!"))
}

// nameless are words that name nothing.
var nameless = regexp.MustCompile(`(?i)\b(no` + `body|some` + `body|who` + `ever|who` + `m|what` + `ever|where` + `ever|there` + `of)\b`)

// subjects finds documents and comments that say such a word in the place of a thing's name.
func subjects(t *Tree) []Finding {
	const fix, what = "name it: a client, another process, the leader, no member", "a subject without a name: "
	found := grep(t, isDocument, nameless, what, fix)
	for _, f := range t.Go() {
		for _, group := range f.AST.Comments {
			for _, comment := range group.List {
				for n, line := range strings.Split(comment.Text, "\n") {
					if word := nameless.FindString(line); word != "" {
						found = append(found, Finding{f.Path, f.Line(comment.Pos()) + n, what + word, fix})
					}
				}
			}
		}
	}
	return found
}

// isDocument says whether users read the file, or those that build and run Holdfast.
func isDocument(f *File) bool {
	extension := path.Ext(f.Path)
	return slices.Contains([]string{".md", ".proto"}, extension) || path.Base(f.Path) == "openapi.json" ||
		extension == "" && bytes.HasPrefix(f.Source, []byte("#!"))
}

var placeWords = regexp.MustCompile(`(?:^|[^\w.~$}*-])/(?:wo` + `rk|ho` + `me|ro` + `ot)/` +
	`|\b(?:proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|goproxy\.(?:io|cn)|registry\.np` + `mjs\.org|pypi\.org)`)

// places finds folders of a developer's machine, and hosts that packages are fetched
// from.
func places(t *Tree) []Finding {
	const fix = "use a relative path, t.TempDir, or what the user has configured"
	return grep(t, func(*File) bool { return true }, placeWords, "a place that only some machines have: ", fix)
}

// grep finds a pattern in the lines of the files that which picks.
func grep(t *Tree, which func(*File) bool, pattern *regexp.Regexp, what, fix string) (found []Finding) {
	for _, f := range t.Files {
		if !which(f) || !pattern.Match(f.Source) {
			continue
		}
		number := 0
		for line := range bytes.Lines(f.Source) {
			number++
			if match := pattern.Find(line); match != nil {
				found = append(found, Finding{f.Path, number, what + strings.TrimSpace(string(match)), fix})
			}
		}
	}
	return found
}
