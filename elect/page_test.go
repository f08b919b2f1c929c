package elect_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// TestPage checks that the page for Go users shows an election in at most eight lines, and that those work.
func TestPage(t *testing.T) {
	ctx, locks := t.Context(), holdfasttest.New(t)
	var scheduled holdfast.Token
	schedule := func(_ context.Context, token holdfast.Token) error {
		scheduled = token
		return nil
	}

	// page
	err := elect.Run(ctx, locks, "scheduler", func(ctx context.Context, term elect.Term) error {
		return schedule(ctx, term.Token()) // ctx ends before another candidate leads
	}, elect.Value("http://10.0.0.7:8080"))
	// end of page

	if err != nil || scheduled == 0 {
		t.Errorf("%v, under token %v", err, scheduled)
	}
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(source), "\t// page\n")
	shown, _, _ = strings.Cut(shown, "\t// end of page\n")
	shown = strings.ReplaceAll("\n"+shown, "\n\t", "\n")
	if lines := strings.Count(shown, "\n") - 1; lines < 3 || lines > 8 || !strings.Contains(string(page), "```go"+shown+"```\n") {
		t.Errorf("docs/go.md does not show these %d lines:%s", lines, shown)
	}
}
