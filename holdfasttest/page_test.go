package holdfasttest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// reprice is the code under test: it works until its context ends.
func reprice(ctx context.Context, locks holdfast.Locker, order string, working chan<- struct{}) error {
	return holdfast.Do(ctx, locks, order, func(ctx context.Context, _ *holdfast.Lock) error {
		close(working)
		<-ctx.Done()
		return ctx.Err()
	}, holdfast.Hold(time.Hour))
}

func TestRepriceStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // an hour takes no time
		locks := holdfasttest.New(t)
		working := make(chan struct{})
		go func() {
			<-working
			if _, err := locks.Client("another").TryLock(t.Context(), "orders/42"); err == nil {
				t.Error("another client has the lock, too")
			}
			locks.Expire() // as if this program were cut off from the members
		}()
		err := reprice(t.Context(), locks, "orders/42", working)
		if holdfast.Why(err) != holdfast.SessionExpired {
			t.Errorf("the work has ended with %v", err)
		}
	})
}

// TestPage checks that the page for Go users shows TestRepriceStops as it is, in less than 20 lines.
func TestPage(t *testing.T) {
	source, page := string(must(os.ReadFile("page_test.go"))), string(must(os.ReadFile("../docs/go.md")))
	_, test, _ := strings.Cut(source, "func TestRepriceStops")
	test, _, _ = strings.Cut(test, "\n}\n")
	test = "func TestRepriceStops" + test + "\n}\n"
	if lines := strings.Count(test, "\n"); lines < 10 || lines >= 20 {
		t.Errorf("the test has %d lines", lines)
	}
	if !strings.Contains(page, "\n```go\n"+test+"```\n") {
		t.Errorf("docs/go.md does not show\n%s", test)
	}
}
