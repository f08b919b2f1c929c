package tidy_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/tidy"
)

// mentioned finds a test as documents name it: `server.TestGarbage`.
var mentioned = regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)`")

// TestDocumentsNameTests that there are: a row of what may come in, or of a limit, is as
// true as the test that stands in it.
func TestDocumentsNameTests(t *testing.T) {
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
			}
		}
	}
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
