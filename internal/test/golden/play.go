package golden

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew, with the present output")

// Rewrites reports whether golden files are to be rewritten.
func Rewrites() bool { return *rewrite }

// Play plays each conversation in testdata and its subfolders. For each of them begin returns the function that plays
// its lines.
func Play(t *testing.T, begin func(t *testing.T) func(*Line) string) {
	t.Helper()
	played := 0
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		played++
		name, _ := strings.CutPrefix(filepath.ToSlash(strings.TrimSuffix(path, ".txt")), "testdata/")
		t.Run(name, func(t *testing.T) { PlayFile(t, path, begin(t)) })
		return nil
	})
	if err != nil || played == 0 {
		t.Fatalf("no conversations: %v", err)
	}
}

// PlayFile plays one conversation.
func PlayFile(t *testing.T, path string, play func(*Line) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	Match(t, path, Transcript(t, path, string(text), play))
}

// Transcript plays the inputs of a text, and returns it with the current output.
func Transcript(t *testing.T, path, text string, play func(*Line) string) string {
	t.Helper()
	var now strings.Builder
	number := 0
	for text := range strings.Lines(text) {
		number++
		if strings.HasPrefix(text, "  ") {
			continue // the old output
		}
		now.WriteString(text)
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		l := Read(t, text)
		l.place = fmt.Sprintf("%s:%d: ", path, number)
		for said := range strings.Lines(play(l)) {
			now.WriteString(strings.TrimRight("  "+said, " \n") + "\n")
		}
		l.Done()
	}
	return now.String()
}

// Match compares a file with its expected content, or writes it.
func Match(t testing.TB, path, now string) {
	t.Helper()
	before, err := os.ReadFile(path)
	switch {
	case err == nil && string(before) == now:
	case *rewrite:
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		t.Errorf("%s is otherwise now; look at what -rewrite makes of it:\n%s", path, cmp.Diff(strings.Split(string(before), "\n"), strings.Split(now, "\n")))
	}
}

// Advance lets time pass until to, and ticks each machine at its wake times. A machine that never rests fails the test.
func Advance(t testing.TB, now *protocol.Time, to protocol.Time, next func() (protocol.Time, func())) {
	t.Helper()
	for range restless {
		at, wake := next()
		if at > to {
			*now = to
			return
		}
		*now = max(*now, at)
		wake()
		if again, _ := next(); again == at && at < *now {
			t.Fatalf("a machine still wants to be woken at %v, which it was", at)
		}
	}
	t.Fatalf("the machines never rest before %v", to)
}

// restless is the maximum number of ticks for one line; beyond it a machine counts as never resting.
const restless = 10_000
