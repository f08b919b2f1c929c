package elect_test

import (
	"context"
	"errors"
	"os"
	"slices"
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
	pageShows(t, "page")
}

// follow passes the value of each leader to route.
func follow(ctx context.Context, locks holdfast.Locker, route func(string)) error {
	// page of observers
	for leader, err := range elect.Observe(ctx, locks, "scheduler") {
		if err != nil {
			return err
		}
		route(leader.Value) // "" while there is no leader
	}
	// end of page
	return nil
}

// TestPageOfObservers checks the same for an observer of an election.
func TestPageOfObservers(t *testing.T) {
	locks := holdfasttest.New(t)
	term, err := elect.Campaign(t.Context(), locks, "scheduler", elect.Value("http://one"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var routed []string
	err = follow(ctx, locks, func(to string) {
		if routed = append(routed, to); len(routed) == 2 {
			cancel()
		} else if err := term.Resign(ctx); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(routed, []string{"http://one", ""}) {
		t.Errorf("routed to %q, error %v", routed, err)
	}
	pageShows(t, "page of observers")
}

// pageShows checks that the page for Go users shows the lines between a comment and the end of the page.
func pageShows(t *testing.T, comment string) {
	t.Helper()
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(source), "\t// "+comment+"\n")
	shown, _, _ = strings.Cut(shown, "\t// end of page\n")
	shown = strings.TrimRight(strings.ReplaceAll("\n"+shown, "\n\t", "\n"), "\n") + "\n"
	if lines := strings.Count(shown, "\n") - 1; lines < 3 || lines > 8 || !strings.Contains(string(page), "```go"+shown+"```\n") {
		t.Errorf("docs/go.md does not show these %d lines:%s", lines, shown)
	}
}
