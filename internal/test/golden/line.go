package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Line is one input of a conversation. Its words are read one after the other, its options by name; each is read once.
type Line struct {
	testing.TB
	Verb  string
	place string
	text  string
	words []string // that are not read yet
}

// Read reads one input. A fault in it fails the test.
func Read(t testing.TB, text string) *Line {
	t.Helper()
	words := strings.Fields(text)
	return &Line{TB: t, text: text, Verb: words[0], words: words[1:]}
}

// Text returns the line as written.
func (l *Line) Text() string { return l.text }

// Wrong fails the test because of this line.
func (l *Line) Wrong(format string, args ...any) {
	l.Helper()
	l.Fatalf("%s%s: %s", l.place, l.text, fmt.Sprintf(format, args...))
}

// Done fails the test if a word was not read.
func (l *Line) Done() {
	l.Helper()
	if len(l.words) > 0 {
		l.Wrong("unknown word %q", l.words[0])
	}
}

// Unknown fails the test: the verb is unknown.
func (l *Line) Unknown() {
	l.Helper()
	l.Wrong("unknown verb %q", l.Verb)
}

func (l *Line) take(i int) string {
	word := l.words[i]
	l.words = slices.Delete(l.words, i, i+1)
	return word
}

func plain(word string) bool { return !strings.Contains(word, "=") }

// More reports whether a word is left.
func (l *Line) More() bool { return slices.ContainsFunc(l.words, plain) }

// Next reads the next word.
func (l *Line) Next() string {
	l.Helper()
	i := slices.IndexFunc(l.words, plain)
	if i < 0 {
		l.Wrong("a word is missing")
	}
	return l.take(i)
}

// Words reads all remaining words.
func (l *Line) Words() (list []string) {
	for l.More() {
		list = append(list, l.Next())
	}
	return list
}

// Rest reads everything that is left, including options, in order.
func (l *Line) Rest() []string {
	rest := l.words
	l.words = nil
	return rest
}

// Inner reads everything that is left as a separate line.
func (l *Line) Inner() *Line {
	l.Verb = l.Next()
	return l
}

// Flag reads a word that may stand anywhere.
func (l *Line) Flag(name string) bool {
	i := slices.Index(l.words, name)
	if i >= 0 {
		l.take(i)
	}
	return i >= 0
}

// Value reads an option, "" where there is none.
func (l *Line) Value(key string) string {
	i := slices.IndexFunc(l.words, func(word string) bool { return strings.HasPrefix(word, key+"=") })
	if i < 0 {
		return ""
	}
	return l.take(i)[len(key)+1:]
}

// List reads an option whose values have commas between them.
func (l *Line) List(key string) []string {
	return strings.FieldsFunc(l.Value(key), func(r rune) bool { return r == ',' })
}

// Duration reads an option that is a time, 0 where there is none.
func (l *Line) Duration(key string) time.Duration {
	l.Helper()
	return l.DurationOr(key, 0)
}

// DurationOr reads an option that is a time, or returns another where there is none.
func (l *Line) DurationOr(key string, otherwise time.Duration) time.Duration {
	l.Helper()
	if text := l.Value(key); text != "" {
		return l.ToDuration(text)
	}
	return otherwise
}

// Number reads an option that is a number, 0 where there is none.
func (l *Line) Number(key string) uint64 {
	l.Helper()
	if text := l.Value(key); text != "" {
		return l.ToNumber(text)
	}
	return 0
}

// Token reads the option token, 0 where there is none.
func (l *Line) Token() holdfast.Token {
	l.Helper()
	if text := l.Value("token"); text != "" {
		return l.ToToken(text)
	}
	return 0
}

// Time reads the next word, which is a time.
func (l *Line) Time() time.Duration {
	l.Helper()
	return l.ToDuration(l.Next())
}

// Count reads the next word, which is a number.
func (l *Line) Count() uint64 {
	l.Helper()
	return l.ToNumber(l.Next())
}

// Request reads the next word where it is the number of a request, as #1; else it is 0.
func (l *Line) Request() uint64 {
	l.Helper()
	if i := slices.IndexFunc(l.words, plain); i >= 0 && l.words[i][0] == '#' {
		return l.ToNumber(l.take(i)[1:])
	}
	return 0
}

// Name reads the next word, which is the name of a lock; "" with its quotes is that of the whole space.
func (l *Line) Name() string {
	l.Helper()
	if name := l.Next(); name != whole {
		return name
	}
	return lock.SpaceLock
}

// Asked reads the next word: a member, and the number of a client that asks it, if it has one.
func (l *Line) Asked() (member string, client uint64) {
	l.Helper()
	word := l.Next()
	if len(word) > 1 {
		client = l.ToNumber(word[1:])
	}
	return word[:1], client
}

// ToDuration reads a time.
func (l *Line) ToDuration(text string) time.Duration {
	l.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		l.Wrong("%v", err)
	}
	return d
}

// ToNumber reads a number that is not negative.
func (l *Line) ToNumber(text string) uint64 {
	l.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		l.Wrong("%v", err)
	}
	return n
}

// ToToken reads a token.
func (l *Line) ToToken(text string) holdfast.Token {
	l.Helper()
	var reign uint64
	var count uint32
	if _, err := fmt.Sscanf(text, "%d:%d", &reign, &count); err != nil {
		l.Wrong("%s: %v", text, err)
	}
	return lock.Token(reign, count)
}
