package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// failing matches the forbidden beginning of an error's text. The words here are split so that this file passes its own
// checks.
var failing = regexp.MustCompile("[\"`](?i:fai" + "led) to ")

// errorWords finds error texts that begin with the failure.
func errorWords(t *Tree) []Finding {
	const fix = "write `verb phrase: %w`, as in `read the cell: %w`"
	return grep(t, func(f *File) bool { return isCode(f) && !f.Test() }, failing, "", fix)
}

// empty matches names of packages and of exported types without any meaning.
var empty = regexp.MustCompile(`(?m)^package (utils?|common|helpers?|manager|base)(_test)?\b` +
	`|^type [A-Z]\w*(Manager|Helpers?|Utils?)\b`)

// names finds packages and exported types with meaningless names.
func names(t *Tree) []Finding {
	const fix = "name it after what it is or holds: a Grant, a Waiter, a Reign"
	return grep(t, isCode, empty, "an empty name: ", fix)
}

// isCode reports whether the file is handwritten Go.
func isCode(f *File) bool { return f.AST != nil && !f.Generated() }

var unfinishedWords = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

// unfinished finds notes about unfinished work.
func unfinished(t *Tree) []Finding {
	const fix = "do it, or open an issue and say here what holds today"
	return grep(t, isProse, unfinishedWords, "a note of unfinished work: ", fix)
}

// isProse reports whether the file is handwritten text: Go, Markdown or shell.
func isProse(f *File) bool {
	extension := path.Ext(f.Path)
	return isCode(f) || slices.Contains([]string{".md", ".sh", ".bash"}, extension) ||
		extension == "" && bytes.HasPrefix(f.Source, []byte("#!"))
}

// translated matches words without a referent, and phrases that no native writer uses.
var translated = regexp.MustCompile(`(?i)(?:\b|_)(no` + `body|some` + `body|who` + `ever|who` + `m|what` + `ever|where` + `ever|there` + `of|be` + `side` +
	`|(?:is|are) to` + `ld|is sa` + `id)(?:\b|_)`)

const nameIt = "name the thing and what it does: a client, another process; the member reports, the client learns"

// subjects finds such words in texts for users: documents, comments, and program output.
func subjects(t *Tree) []Finding {
	const what = "not plain English: "
	found := grep(t, isDocument, translated, what, nameIt)
	for _, f := range t.Go() {
		if f.Generated() {
			continue
		}
		comments, literals := prose(f)
		for _, p := range comments {
			found = append(found, Finding{f.Path, p.line, what + p.word, nameIt})
		}
		if f.Test() {
			continue
		}
		for _, p := range literals {
			found = append(found, Finding{f.Path, p.line, what + p.word, nameIt})
		}
	}
	return found
}

// placed is a word and its line.
type placed struct {
	line int
	word string
}

// prose returns the translated words in the comments of a file, and those in its string literals. A literal of one word
// is a name, such as a user of the system.
func prose(f *File) (comments, literals []placed) {
	collect := func(pos token.Pos, text string) (all []placed) {
		for n, line := range strings.Split(text, "\n") {
			for _, match := range translated.FindAllStringSubmatch(line, -1) {
				all = append(all, placed{f.Line(pos) + n, match[1]})
			}
		}
		return all
	}
	for _, group := range f.AST.Comments {
		for _, comment := range group.List {
			comments = append(comments, collect(comment.Pos(), comment.Text)...)
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
			literals = append(literals, collect(literal.Pos(), literal.Value)...)
		}
		return true
	})
	return comments, literals
}

// mostTranslated is the maximum number of such words in all Go code, names and the texts of tests included.
const mostTranslated = 10

// translations finds that Go code has more of these words than that, and names the file with the most.
func translations(t *Tree) []Finding {
	total, most, worst := 0, 0, ""
	for _, f := range t.Go() {
		if f.Generated() {
			continue
		}
		count := len(translated.FindAll(f.Source, -1))
		if total += count; count > most {
			most, worst = count, f.Path
		}
	}
	if total <= mostTranslated {
		return nil
	}
	return []Finding{{worst, 1, fmt.Sprintf("Go code has %d words that are not plain English, %d of them here; at most %d are allowed", total, most, mostTranslated), nameIt}}
}

// isDocument reports whether the file is for users, or for people that build and run Holdfast.
func isDocument(f *File) bool {
	extension := path.Ext(f.Path)
	return slices.Contains([]string{".md", ".proto"}, extension) || path.Base(f.Path) == "openapi.json" ||
		extension == "" && bytes.HasPrefix(f.Source, []byte("#!"))
}

var placeWords = regexp.MustCompile(`(?:^|[^\w.~$}*-])/(?:wo` + `rk|ho` + `me|ro` + `ot)/` +
	`|\b(?:proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|goproxy\.(?:io|cn)|registry\.np` + `mjs\.org|pypi\.org)`)

// places finds folders of a developer's machine, and hosts of package registries.
func places(t *Tree) []Finding {
	const fix = "use a relative path, t.TempDir, or what the user has configured"
	return grep(t, func(*File) bool { return true }, placeWords, "a place that only some machines have: ", fix)
}

// grep finds a pattern in the lines of the files that which selects.
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
