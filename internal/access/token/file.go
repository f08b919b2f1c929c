package token

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// Reasons why a secret or a name is refused.
var (
	ErrUnknown = errors.New("the token is not known")
	ErrExpired = errors.New("the token has expired")
	ErrTaken   = errors.New("the name is taken")
)

// Options configures a File.
type Options struct {
	// Path is the path of the file.
	Path string
	// Insecure accepts a file that other users of the machine can access.
	Insecure bool
	// Logger gets a line when a changed file takes effect, and one when it cannot. Nil discards.
	Logger *slog.Logger
}

// File is a file of tokens. It is safe for concurrent use.
type File struct {
	path     string
	insecure bool
	followed *follow.File[set]
	now      func() time.Time // for checks of the file
	writing  sync.Mutex       // held while this File changes the file
}

// set is the records of a file at one moment. It is immutable.
type set struct {
	bySum map[Sum]Record
	names map[string]Sum
}

func newSet(records []Record) set {
	s := set{map[Sum]Record{}, map[string]Sum{}}
	for _, r := range records {
		s.bySum[r.Sum], s.names[r.Name] = r, r.Sum
	}
	return s
}

// Open reads the file. If that fails there are no tokens until it is mended, and Fault returns the reason.
func Open(o Options) *File {
	f := &File{path: o.Path, insecure: o.Insecure, now: time.Now}
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	good := func(now, before set, mended bool) {
		if mended || !maps.Equal(before.bySum, now.bySum) {
			logger.Info("the file of tokens is in use", "file", o.Path, "tokens", len(now.names))
		}
	}
	bad := func(fault error) {
		logger.Error("the file of tokens cannot be used; the previous tokens stay valid", "why", fault.Error())
	}
	var fault error
	f.followed, fault = follow.Open(follow.Options[set]{
		What: what, Path: o.Path, Most: mostBytes, Accept: f.accept, Optional: true, Good: good, Bad: bad,
		Parse: func(data []byte) (set, error) {
			records, err := Parse(data)
			return newSet(records), err
		},
		Now: func() time.Time { return f.now() },
	})
	if fault != nil {
		bad(fault)
	} else {
		good(f.followed.Value(), set{}, false)
	}
	return f
}

// what the file has.
const what = "the tokens"

// Lookup returns the token with that secret. The error is an ErrMalformed, ErrMistyped, ErrUnknown, or an ErrExpired
// that names the token; with an ErrExpired the record is returned, too.
func (f *File) Lookup(secret string, now time.Time) (Record, error) {
	sum, err := SumOf(secret)
	if err != nil {
		return Record{}, err
	}
	f.followed.Look()
	r, known := f.followed.Value().bySum[sum]
	switch {
	case !known:
		return Record{}, fmt.Errorf("%w: it was revoked, or created for other members", ErrUnknown)
	case r.Expired(now):
		return r, &expiredError{r}
	}
	return r, nil
}

// expiredError is an ErrExpired of one token.
type expiredError struct{ of Record }

// Error returns a sentence.
func (e *expiredError) Error() string {
	return fmt.Sprintf("the token %q has expired at %s; create another one", e.of.Name, e.of.Expires.UTC().Format(time.RFC3339))
}

// Is makes it an ErrExpired.
func (e *expiredError) Is(target error) bool { return target == ErrExpired }

// List returns the records, in order of their names.
func (f *File) List() []Record {
	f.followed.Look()
	s := f.followed.Value()
	list := make([]Record, 0, len(s.names))
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		list = append(list, s.bySum[s.names[name]])
	}
	return list
}

// Fault returns why the file as it is now cannot be used; nil if it can. It names the file. The previous records are in
// use until it is nil.
func (f *File) Fault() error {
	f.followed.Look()
	return f.followed.Fault()
}

// accept returns why a file of that kind is not read.
func (f *File) accept(info fs.FileInfo) error {
	if err := follow.Regular(info); err != nil {
		return err
	}
	if wrong := private.OfFile(f.path, info); wrong != nil && !f.insecure {
		return errors.New(wrong.Reason())
	}
	return nil
}
