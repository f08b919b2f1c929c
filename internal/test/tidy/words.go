package tidy

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// errorWords finds texts that begin by saying that something failed.
func errorWords(t *Tree) (found []Finding) {
	for _, f := range t.Code() {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && text.Kind == token.STRING && strings.HasPrefix(strings.ToLower(text.Value[1:]), "failed"+" to ") {
				found = append(found, f.find(text.Pos(), "write `verb phrase: %w`, as in `read the cell: %w`", "%s", text.Value))
			}
			return true
		})
	}
	return found
}

// The words are put together here so that this file passes its own check.
var unfinishedWords = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

// unfinished finds notes of work that was left for later.
func unfinished(t *Tree) []Finding {
	const fix = "do it, or open an issue and say here what holds today"
	return grep(t, isProse, unfinishedWords, "a note of unfinished work: ", fix)
}

// isProse says whether people wrote the file to be read: Go, Markdown or shell.
func isProse(f *File) bool {
	if f.AST != nil && f.Generated() {
		return false
	}
	extension := path.Ext(f.Path)
	return slices.Contains([]string{".go", ".md", ".sh", ".bash"}, extension) ||
		extension == "" && bytes.HasPrefix(f.Source, []byte("#!"))
}

// Words that name nothing, put together for the same reason.
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

// These too are put together so that this file passes its own check.
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

// sleep finds tests that wait for a while. Those of rules packages have no clock
// at all, so nothing excuses it there.
func sleep(t *Tree) (found []Finding) {
	for _, f := range t.Go() {
		if !f.Test() {
			continue
		}
		for _, use := range uses(f, "time") {
			if use.Sel.Name != "Sleep" || !isRules(f.Folder()) && f.marked(use.Pos(), "sleep") {
				continue
			}
			fix := "wait for the event itself; inside a synctest bubble say so in a //tidy:sleep comment on the line above"
			if isRules(f.Folder()) {
				fix = "Step the machine with a later now"
			}
			found = append(found, f.find(use.Pos(), fix, "a test sleeps"))
		}
	}
	return found
}
