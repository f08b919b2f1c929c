package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"
)

// TestExploredRunIsPrinted: without --trace the run that breaks a promise is printed, and no file is written.
func TestExploredRunIsPrinted(t *testing.T) {
	t.Chdir(t.TempDir())
	r, w := testPipe(t)
	err := (&program{stdout: w}).exploreBroken(&cli.Command{}, "P1", "two hold it", "protocol=central states=2", time.Second, "a → b\nb → a\n")
	if exitCode(err) != exitViolation {
		t.Errorf("%v has exit code %d, want %d", err, exitCode(err), exitViolation)
	}
	must(t, w.Close())
	said, err := io.ReadAll(r)
	must(t, err)
	if want := "a → b\nb → a\nP1: two hold it\nexplore: VIOLATION protocol=central states=2 in=1.0s\n"; string(said) != want {
		t.Errorf("it prints %q, want %q", said, want)
	}
	files, err := os.ReadDir(".")
	must(t, err)
	if len(files) > 0 {
		t.Errorf("it has written %v", strings.TrimSpace(files[0].Name()))
	}
}
