package terraform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// Folder is [States] in a folder of a local file system: NAME.tfstate is a state as Terraform writes it, and NAME.token
// the largest token that it has seen. Several processes may use one folder. The tokens are worth something only as long
// as all of them use locks of the same lockspace.
type Folder struct{ root *os.Root }

var _ States = (*Folder)(nil)

// The endings of the files, and how other users may use them: states contain secrets.
const (
	stateEnding = ".tfstate"
	tokenEnding = ".token"
	fileMode    = 0o600
	folderMode  = 0o700
)

// OpenFolder opens a folder of states, and makes it if it is not there. Its parent must be there.
func OpenFolder(folder string) (*Folder, error) {
	if err := os.Mkdir(folder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of states: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of states: %w", err)
	}
	return &Folder{root}, nil
}

// Close closes the folder. It is not used afterwards.
func (f *Folder) Close() error { return f.root.Close() }

// CheckName returns an error unless a state may have this name: parts of letters, digits, dots, hyphens and
// underscores, with slashes between them. No part begins with a dot, nor ends in .tfstate or .token.
func CheckName(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		bad := strings.IndexFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
		})
		switch {
		case part == "":
			return fmt.Errorf("state name %q: a part is empty; give names with single slashes between them", name)
		case bad >= 0:
			return fmt.Errorf("state name %q: %q is not allowed; letters, digits, '-', '_', '.' and '/' are", name, part[bad:bad+1])
		case part[0] == '.', strings.HasSuffix(part, stateEnding), strings.HasSuffix(part, tokenEnding):
			return fmt.Errorf("state name %q: the part %q may not begin with a dot, nor end in %s or %s", name, part, stateEnding, tokenEnding)
		}
	}
	return nil
}

// Read returns a state. See [States].
func (f *Folder) Read(_ context.Context, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	state, err := f.root.ReadFile(name + stateEnding)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("state %q: %w", name, fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("read the state %q: %w", name, err)
	}
	return state, nil
}

// Fence remembers a token. See [States].
func (f *Folder) Fence(ctx context.Context, name string, token holdfast.Token) error {
	return f.under(ctx, name, token, func() error { return nil })
}

// Write replaces a state. See [States].
func (f *Folder) Write(ctx context.Context, name string, token holdfast.Token, state []byte) error {
	return f.under(ctx, name, token, func() error {
		if len(state) == 0 {
			err := f.root.Remove(name + stateEnding)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return errors.Join(err, f.sync(path.Dir(name)))
		}
		return f.replace(name, state)
	})
}

// under calls write while no other process does, unless the state has seen a larger token.
func (f *Folder) under(ctx context.Context, name string, token holdfast.Token, write func() error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := f.root.MkdirAll(path.Dir(name), folderMode); err != nil {
		return fmt.Errorf("make the folder of the state %q: %w", name, err)
	}
	file, err := f.root.OpenFile(name+tokenEnding, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return fmt.Errorf("open the token of the state %q: %w", name, err)
	}
	err = exclude(ctx, file)
	if err == nil {
		err = f.raise(file, name, token)
	}
	if err == nil {
		err = write()
	}
	var stale *StaleError
	if err != nil && !errors.As(err, &stale) {
		err = fmt.Errorf("write the state %q: %w", name, err)
	}
	return errors.Join(err, file.Close())
}

// The pauses between attempts to lock a file. Its holder writes a state, which takes milliseconds.
const (
	leastPause = 2 * time.Millisecond
	mostPause  = 50 * time.Millisecond
)

// exclude locks a file until it is closed. A call of flock that waits cannot be cancelled, so it tries again and again.
func exclude(ctx context.Context, file *os.File) error {
	for pauses := (backoff.Backoff{Least: leastPause, Most: mostPause}); ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := backoff.Sleep(ctx, pauses.Next()); err != nil {
			return err
		}
	}
}

// tokenDigits is the length of a token in its file: always the same, so that one write replaces it.
const tokenDigits = 19

// raise compares a token with the one in its file, and writes it there if it is larger.
func (f *Folder) raise(file *os.File, name string, token holdfast.Token) error {
	text, err := io.ReadAll(io.LimitReader(file, tokenDigits+1))
	if err != nil {
		return err
	}
	seen, err := uint64(0), error(nil)
	if len(text) > 0 {
		seen, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	}
	switch {
	case err != nil || len(text) > 0 && len(text) != tokenDigits+1:
		return fmt.Errorf("%s%s holds %q instead of a token of %d digits; restore the file, or remove it while no lock on the state is held",
			name, tokenEnding, text, tokenDigits)
	case uint64(token) < seen:
		return &StaleError{Name: name, Token: token, Seen: holdfast.Token(seen)}
	case uint64(token) == seen:
		return nil
	}
	if _, err := file.WriteAt(fmt.Appendf(nil, "%0*d\n", tokenDigits, uint64(token)), 0); err != nil {
		return err
	}
	return errors.Join(file.Sync(), f.sync(path.Dir(name)))
}

// replace writes a state into a new file, and gives that its name.
func (f *Folder) replace(name string, state []byte) error {
	// One name is enough: the file of the token is locked. A dot keeps it apart from each state's.
	temporary := path.Join(path.Dir(name), "."+path.Base(name)+stateEnding)
	file, err := f.root.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(state)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, f.root.Remove(temporary))
	}
	if err := f.root.Rename(temporary, name+stateEnding); err != nil {
		return err
	}
	return f.sync(path.Dir(name))
}

// sync makes the names of files in a folder durable.
func (f *Folder) sync(folder string) error {
	opened, err := f.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
