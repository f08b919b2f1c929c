package location_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/location"
)

// TestParse takes a URL apart, and gives what is not said what is usual.
func TestParse(t *testing.T) {
	l, err := location.Parse("Etcds://us%65r:p%40ss%3Aword@one,[::1]:7,three:8/a%20b?timeout=3s&n=4&on&off=false&text=x&text=y", "99", "etcd", "etcds")
	if err != nil {
		t.Fatal(err)
	}
	if l.Scheme != "etcds" || l.User != "user" || l.Password != "p@ss:word" || l.Path != "/a b" {
		t.Errorf("%+v", l)
	}
	if want := []string{"one:99", "[::1]:7", "three:8"}; !slices.Equal(l.Hosts, want) {
		t.Errorf("%q, want %q", l.Hosts, want)
	}
	if l.Duration("timeout", time.Second, 0) != 3*time.Second || l.Duration("pause", time.Second, 0) != time.Second ||
		l.Int("n", 1, 0, 9) != 4 || l.Int("m", 1, 0, 9) != 1 || !l.Flag("on") || l.Flag("off") || l.Flag("neither") ||
		l.Text("text", "") != "y" || l.Text("other", "z") != "z" {
		t.Errorf("%+v", l)
	}
	if err := l.Err(); err != nil {
		t.Error(err)
	}
}

// TestWhatIsRefused says what is wrong, and has no password in it.
func TestWhatIsRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		"":                                "begins with none of redis://",
		"http://u:secret@host":            "begins with none of redis://",
		"redis:/u:secret@host":            "begins with none of redis://",
		"redis://":                        `has "" where HOST:PORT is allowed`,
		"redis://u:secret@":               `has "" where HOST:PORT is allowed`,
		"redis://u:secret@host:port":      `has "host:port" where`,
		"redis://u:secret@host:0":         `has "host:0" where`,
		"redis://u:secret@a:1,:2":         `has ":2" where`,
		"redis://u:secret%zz@host":        "has a user or password that",
		"redis://u:sec:ret@host":          "has a user or password that",
		"redis://u:1/secret@host":         "has a path that",
		"redis://u:secret@host/%zz":       "has a path that",
		"redis://u:secret@host?a=%zz":     "has options that are not NAME=VALUE",
		"redis://u:secret@host?timeout=3": "has timeout=3; a time of at least 1ms is allowed, as in timeout=5s",
		"redis://host?timeout=1us":        "has timeout=1us",
		"redis://host?n=10":               "has n=10; 1 to 9 is allowed",
		"redis://host?on=perhaps":         "has on=perhaps; true or false is allowed",
		"redis://host?tiemout=3s":         `has options that are not known: ["tiemout"]; known are ca, cert, key, n, on, server_name, timeout`,
		"redis://host?ca=/nowhere":        "has ca=/nowhere, which cannot be read",
		"redis://host?ca=" + empty:        "in which no certificate is",
		"redis://host?cert=" + empty:      "which make no certificate",
	} {
		l, err := location.Parse(text, "1", "redis")
		if err == nil {
			l.Duration("timeout", 5*time.Second, time.Millisecond)
			l.Int("n", 1, 1, 9)
			l.Flag("on")
			l.TLS()
			err = l.Err()
		}
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q in it", text, err, says)
		}
	}
}

// TestRedacted hides passwords, at every place where they may stand.
func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"redis://host:1/2?a=b":                        "redis://host:1/2?a=b",
		"redis://u:secret@host:1/2":                   "redis://u:xxxxx@host:1/2",
		"redis://u@host:1/2":                          "redis://u@host:1/2",
		"redis://:secret@host":                        "redis://:xxxxx@host",
		"redis://u:sec/ret@host":                      "redis://u:xxxxx@host",
		"redis://u:sec?ret@host":                      "redis://u:xxxxx@host",
		"redis://u:sec@ret@host":                      "redis://u:xxxxx@host",
		"postgres://h/d?user=u&password=secret&a=b":   "postgres://h/d?user=u&password=xxxxx&a=b",
		"postgres://h/d?user=u&Pass%77ord=secret&a=b": "postgres://h/d?user=u&password=xxxxx&a=b",
		"u:secret@host":                               "xxxxx",
		"//u:secret@host":                             "xxxxx",
		"/u:secret@host":                              "xxxxx",
		"/var/my locks?":                              "folder:///var/my%20locks%3F",
		"":                                            "xxxxx",
	} {
		if got := location.Redacted(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestSecrets finds them as they are written and as they are meant.
func TestSecrets(t *testing.T) {
	for text, want := range map[string][]string{
		"redis://host":                          nil,
		"redis://u@host":                        nil,
		"redis://u:ab@host":                     nil, // is in many a text by chance
		"redis://u:secret@host?a=b":             {"secret"},
		"redis://u:se%63ret@host?token=a%20b+c": {"se%63ret", "a%20b+c", "secret", "a b c"},
	} {
		got := location.Secrets(text)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
