package tidy_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/tidy"
)

// mentioned matches a test as documents name it: `server.TestGarbage`.
var mentioned = regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)`")

// tests are the tests of the module, each by its folder and by the last part of that alone; the root is holdfast.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	tree, err := tidy.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range tree.Go() {
		if !f.Test() {
			continue
		}
		for _, declared := range f.AST.Decls {
			if function, is := declared.(*ast.FuncDecl); is && function.Recv == nil {
				there[f.Folder()+"."+function.Name.Name] = true
				there[path.Base(path.Join("holdfast", f.Folder()))+"."+function.Name.Name] = true
			}
		}
	}
	return there
}

// aFile matches a Go file as package comments name it: in its folder, or by its path.
var aFile = regexp.MustCompile(`[a-z0-9_./-]*[a-z0-9_]+\.go\b`)

// TestPagesNameFiles checks that the files named in package comments exist: readers use these to find their way.
func TestPagesNameFiles(t *testing.T) {
	tree, err := tidy.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, f := range tree.Files {
		if path.Base(f.Path) != "doc.go" || f.AST == nil {
			continue
		}
		for _, file := range aFile.FindAllString(string(f.Source), -1) {
			if named++; !tree.Has(f.Folder()+"/"+file) && !tree.Has(file) {
				t.Errorf("%s: there is no file %s", f.Path, file)
			}
		}
	}
	if named < 200 {
		t.Errorf("%d files are named: the check has lost its pages", named)
	}
}

// TestPagesNameTests checks that the tests named in decisions and design pages exist.
func TestPagesNameTests(t *testing.T) {
	there, named := tests(t), 0
	for _, folder := range []string{"docs/design", "docs/decisions"} {
		pages, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range mentioned.FindAllStringSubmatch(string(text), -1) {
				if named++; !there[test[1]+"."+test[2]] {
					t.Errorf("%s: there is no test %s.%s", page, test[1], test[2])
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name only %d tests", named)
	}
}

// TestDocumentsNameTests checks that the tests named in tables of inputs and limits exist.
func TestDocumentsNameTests(t *testing.T) {
	there := tests(t)
	for _, document := range []string{"docs/bad-input.md", "docs/limits.md"} {
		text, err := os.ReadFile(path.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for number, line := range strings.Split(string(text), "\n") {
			named := mentioned.FindAllStringSubmatch(line, -1)
			for _, test := range named {
				if name := test[1] + "." + test[2]; !there[name] {
					t.Errorf("%s:%d: there is no test %s", document, number+1, name)
				}
			}
			if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| tests |") {
				continue
			}
			if rows++; len(named) == 0 {
				t.Errorf("%s:%d: a row without a test: %s", document, number+1, line)
			}
		}
		if rows < 20 {
			t.Errorf("%s has only %d rows", document, rows)
		}
	}
}

// cited matches a page of the design, with the cited sections; bare, a section of a page without its folder. Between a
// page and its section there may be the end of a line.
var (
	cited   = regexp.MustCompile(`docs/design/([a-z]+\.md)((?:(?:,|,? and)?\s+(?://\s*)?§[0-9.]*[0-9])*)`)
	bare    = regexp.MustCompile(`[^/a-z](?:formats|membership|promises|verification)\.md §`)
	section = regexp.MustCompile(`§([0-9.]*[0-9])`)
	heading = regexp.MustCompile(`(?m)^##+ ([0-9.]*[0-9])\.? `)
)

// uncited returns the wrong citations in a text, given the sections of all pages.
func uncited(text string, pages map[string]map[string]bool) (wrong []string) {
	wrong = bare.FindAllString(text, -1)
	for _, citation := range cited.FindAllStringSubmatch(text, -1) {
		if pages[citation[1]] == nil {
			wrong = append(wrong, citation[1])
		}
		for _, number := range section.FindAllStringSubmatch(citation[2], -1) {
			if !pages[citation[1]][number[1]] {
				wrong = append(wrong, citation[1]+" §"+number[1])
			}
		}
	}
	return wrong
}

// TestDesignIsThere checks that every design page and section that the source cites exists.
func TestDesignIsThere(t *testing.T) {
	tree, err := tidy.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]map[string]bool{}
	for _, f := range tree.Files {
		if f.Folder() == "docs/design" {
			pages[path.Base(f.Path)] = map[string]bool{}
			for _, number := range heading.FindAllSubmatch(f.Source, -1) {
				pages[path.Base(f.Path)][string(number[1])] = true
			}
		}
	}
	for _, f := range tree.Files {
		if f.Path == "internal/test/tidy/documents_test.go" {
			continue
		}
		for _, wrong := range uncited(string(f.Source), pages) {
			t.Errorf("%s: docs/design has no %s; cite docs/design/PAGE.md §N as its headings have it", f.Path, wrong)
		}
	}
	const bad = "(docs/design/a.md\n// §1.2, §3 and §4), docs/design/b.md, a formats.md §1"
	if wrong := uncited(bad, map[string]map[string]bool{"a.md": {"1.2": true, "4": true}}); len(wrong) != 3 {
		t.Errorf("of three wrong citations are found: %q", wrong)
	}
}
