package jwt

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// fileKeys are the keys in a file.
type fileKeys struct{ *follow.File[keys] }

// openFile reads the file.
func openFile(path string, insecure bool, logger *slog.Logger, now func() time.Time) (fileKeys, error) {
	f, err := follow.Open(follow.Options[keys]{
		What: "the keys", Path: path, Most: mostKeyBytes, Parse: parseKeys, Now: now,
		Accept: func(info fs.FileInfo) error {
			if wrong := private.OfRules(path, info); wrong != nil && !insecure {
				return errors.New(wrong.Reason())
			}
			return follow.Regular(info)
		},
		Bad: func(fault error) {
			logger.Error("the keys of an issuer cannot be read; the previous ones stay in use", "why", fault.Error())
		},
	})
	return fileKeys{f}, err
}

// find returns the keys that may have signed a token.
func (f fileKeys) find(_ context.Context, u *unverified) (keys, error) {
	f.Look()
	return f.Value().candidates(u), nil
}

// renewed returns none: find has the keys that the file has now.
func (f fileKeys) renewed(context.Context, *unverified) (keys, error) { return nil, nil }

// problem returns why the file as it is now cannot be used.
func (f fileKeys) problem() error {
	f.Look()
	return f.Fault()
}
