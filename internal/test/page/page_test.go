package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a testing.TB that keeps what was reported.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, values ...any) {
	r.said = append(r.said, fmt.Sprintf(format, values...))
}

// TestCheck compares pages with code that stands between the marks of this file.
func TestCheck(t *testing.T) {
	// page
	if sum := 1 + 1; sum != 2 {
		t.Error(sum)
	}
	// end of page

	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	markdown := "Text.\n\n```go\nif sum := 1 + 1; sum != 2 {\n\tt.Error(sum)\n}\n```\n"
	comment := "// Text.\n//\n//\tif sum := 1 + 1; sum != 2 {\n//\t\tt.Error(sum)\n//\t}\n//\npackage a\n"
	page.Check(t, write("a.md", markdown), write("a.go", comment))
	bad := &recorder{TB: t}
	page.Check(bad, write("b.md", strings.ReplaceAll(markdown, "1 + 1", "1 + 2")), write("b.go", strings.ReplaceAll(comment, "\t\t", "\t")))
	if len(bad.said) != 2 || !strings.Contains(bad.said[0], "b.md does not show") || !strings.Contains(bad.said[1], "b.go does not show") {
		t.Errorf("two pages that differ: %q", bad.said)
	}
}
