package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// defaultServer is the default member.
const defaultServer = "127.0.0.1:" + api.DefaultPort

// serverOf returns the member for c.
func serverOf(c *cli.Command) string { return cmp.Or(c.String("server"), defaultServer) }

// spaceOf returns the lockspace for c.
func spaceOf(c *cli.Command) string { return cmp.Or(c.String("space"), holdfast.DefaultSpace) }

// calledAs returns the name of c, including its parent command's.
func calledAs(c *cli.Command) string { return strings.TrimPrefix(c.FullName(), name+" ") }

// timeoutOf returns how long c may wait for an answer.
func timeoutOf(c *cli.Command) (time.Duration, error) {
	if d := c.Duration("timeout"); d > 0 {
		return d, nil
	}
	return 0, usageError(calledAs(c), "flag --timeout: %v: want more than 0", c.Duration("timeout"))
}

// optionsOf returns the client options in c's flags.
func optionsOf(c *cli.Command) ([]client.Option, error) {
	options := []client.Option{client.Space(spaceOf(c))}
	identity, err := tokenOf(c)
	if err != nil {
		return nil, err
	}
	if identity != nil {
		options = append(options, identity)
	}
	files, err := tlsOf(c)
	if err != nil {
		return nil, err
	}
	if files != nil {
		absolute, err := absolutePaths(*files)
		if err != nil {
			return nil, err
		}
		options = append(options, client.TLSFiles(absolute))
	}
	return options, nil
}

// absolutePaths makes the paths absolute: the keeper of acquire reconnects after it has changed its folder.
func absolutePaths(files client.Files) (client.Files, error) {
	for _, path := range []*string{&files.CA, &files.Cert, &files.Key} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return files, fmt.Errorf("find the folder of %q: %w", *path, err)
		}
		*path = absolute
	}
	return files, nil
}

// tlsOf returns the TLS files in c's flags; nil without any. They are read once to check them.
func tlsOf(c *cli.Command) (*client.Files, error) {
	files := client.Files{CA: c.String("tls-ca"), Cert: c.String("tls-cert"), Key: c.String("tls-key"), ServerName: c.String("tls-server-name")}
	switch {
	case files == client.Files{}:
		return nil, nil
	case files.Cert != "" && files.Key == "":
		return nil, misconfigured("%s: --tls-cert needs its private key; give --tls-key FILE", calledAs(c))
	case files.Cert == "" && files.Key != "":
		return nil, misconfigured("%s: --tls-key needs its certificate; give --tls-cert FILE", calledAs(c))
	}
	if _, err := certificate.Read(certificate.Files{Cert: files.Cert, Key: files.Key, Members: files.CA}); err != nil {
		return nil, misconfigured("%s: %w", calledAs(c), badFile(files, err))
	}
	if err := private.CheckFile(files.Key); err != nil && !c.Bool("insecure-files") {
		return nil, misconfigured("%s: --tls-key %w", calledAs(c), err)
	}
	return &files, nil
}

// badFile names the flag of the file in an error.
func badFile(files client.Files, err error) error {
	var bad *certificate.FileError
	if !errors.As(err, &bad) {
		return fmt.Errorf("read the TLS files: %w", err)
	}
	flag := "--tls-ca"
	switch bad.Path {
	case files.Cert:
		flag = "--tls-cert"
	case files.Key:
		flag = "--tls-key"
	}
	return fmt.Errorf("%s %q: %w", flag, bad.Path, bad.Err)
}

// encryptionOf returns the TLS configuration in c's flags for connections other than a client's; nil without any. It
// does not follow the files.
func encryptionOf(c *cli.Command) (*tls.Config, error) {
	files, err := tlsOf(c)
	if files == nil || err != nil {
		return nil, err
	}
	store, err := certificate.Open(certificate.Options{Files: certificate.Files{Cert: files.Cert, Key: files.Key, Members: files.CA}})
	if err != nil {
		return nil, misconfigured("%s: read the TLS files: %w", calledAs(c), err)
	}
	made := store.Dialling()
	made.NextProtos, made.ServerName = nil, files.ServerName
	return made, nil
}

// storeHint is for commands that work without a member.
const storeHint = ", or lock through a store with --store"

// hinted adds advice to an error if no member listens at any address.
func hinted(err error, more string) error {
	var unreachable *client.UnreachableError
	if errors.As(err, &unreachable) && unreachable.Refused() {
		return &hintedError{err, "; start a member with '" + name + " serve'" + more}
	}
	return err
}

// hintedError is an error with advice at its end.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() + e.hint }

func (e *hintedError) Unwrap() error { return e.err }

// beforeHint adds a text to an error, before its advice.
func beforeHint(err error, text string) error {
	var hinted *hintedError
	if errors.As(err, &hinted) {
		return &hintedError{fmt.Errorf("%w%s", hinted.err, text), hinted.hint}
	}
	return fmt.Errorf("%w%s", err, text)
}

// ask asks the member in c's flags a question, within --timeout, and returns the answer.
func ask[T any](ctx context.Context, c *cli.Command, question func(context.Context, *client.Admin) (T, error)) (T, error) {
	return askToChange(ctx, c, "", question)
}

// askToChange is ask for changes that may be under way, or done, when no answer has come in time; more says that.
func askToChange[T any](ctx context.Context, c *cli.Command, more string, question func(context.Context, *client.Admin) (T, error)) (answer T, err error) {
	timeout, err := timeoutOf(c)
	if err != nil {
		return answer, err
	}
	return askFor(ctx, c, timeout, more, question)
}

// askFor is askToChange with its own limit.
func askFor[T any](ctx context.Context, c *cli.Command, limit time.Duration, more string, question func(context.Context, *client.Admin) (T, error)) (answer T, err error) {
	err = askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		return limited(ctx, c, limit, more, func(ctx context.Context) (err error) {
			answer, err = question(ctx, admin)
			return err
		})
	})
	return answer, err
}

// askLong is ask without a limit.
func askLong(ctx context.Context, c *cli.Command, question func(context.Context, *client.Admin) error) error {
	options, err := optionsOf(c)
	if err != nil {
		return err
	}
	admin, err := client.DialAdmin(serverOf(c), options...)
	if err != nil {
		return reworded(calledAs(c), "", err)
	}
	return errors.Join(question(ctx, admin), admin.Close())
}

// askStatus asks the member in c's flags for its status.
func askStatus(ctx context.Context, c *cli.Command) (*schema.Status, error) {
	return ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.Status, error) { return admin.Status(ctx) })
}

// within bounds one question by --timeout.
func within(ctx context.Context, c *cli.Command, question func(context.Context) error) error {
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	return limited(ctx, c, timeout, "", question)
}

// limited bounds one question by timeout. If there is no answer in time, more says what that means, unless empty.
func limited(ctx context.Context, c *cli.Command, timeout time.Duration, more string, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := question(ctx)
	var unreachable *client.UnreachableError
	switch {
	case errors.As(err, &unreachable) && errors.Is(err, context.DeadlineExceeded) && len(unreachable.Attempts) > 1:
		return &holdfast.Error{Op: calledAs(c), Err: fmt.Errorf("%w; asked for %v%s", unreachable, timeout, more)}
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: no answer from %s within %v%s", holdfast.ErrUnavailable, serverOf(c), timeout, more)
		return &holdfast.Error{Op: calledAs(c), Err: err}
	}
	return reworded(calledAs(c), "", err)
}

// reworded turns a client's error into a command's: with the command's name, and without Go's function names when no
// member could be reached. If the error names no lock, the command's lock is used, if any.
func reworded(command, lock string, err error) error {
	var opErr *holdfast.Error
	switch {
	case errors.As(err, &opErr):
	case errors.Is(err, holdfast.ErrDenied): // of a connection, before any call
		return &holdfast.Error{Op: command, Name: lock, Err: err}
	default:
		return err
	}
	return &holdfast.Error{Op: command, Space: opErr.Space, Name: cmp.Or(opErr.Name, lock), Err: opErr.Err}
}
