package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The marks around the code in page_test.go.
const (
	begin = "\t// page\n"
	end   = "\t// end of page\n"
)

// Most is the maximum number of lines of the code.
const Most = 10

// Check fails the test unless the code between the comments "page" and "end of page" in page_test.go, in the folder of
// the test, has at most so many lines as Most, and each page shows it: a Markdown page as a block of Go, a Go file in
// a comment.
func Check(t testing.TB, pages ...string) {
	t.Helper()
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, begun := strings.Cut(string(source), begin)
	code, _, ended := strings.Cut(code, end)
	if lines := strings.Count(code, "\n"); !begun || !ended || lines < 3 || lines > Most {
		t.Fatalf("page_test.go has %d lines between %q and %q, want 3 to %d", lines, strings.TrimSpace(begin), strings.TrimSpace(end), Most)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := "```go\n" + strings.TrimPrefix(strings.ReplaceAll("\n"+code, "\n\t", "\n"), "\n") + "```\n"
		if filepath.Ext(page) == ".go" {
			want = "//\n//" + strings.TrimSuffix(strings.ReplaceAll(code, "\n", "\n//"), "//") + "//\n"
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not show\n%s", page, want)
		}
	}
}
