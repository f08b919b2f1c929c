package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/access/jwt"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/follow"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// A client's token identifies it to the members: a file of --token-file, or the value of HOLDFAST_TOKEN. It is another
// thing than the token of a lock, a number, that --token takes; --token has the same variable, and the two kinds cannot
// be confused.

// tokenVariable has a client's token, or a lock's.
const tokenVariable = "HOLDFAST_TOKEN"

// isBearer reports whether a text is meant as a client's token.
func isBearer(text string) bool { return token.Looks(text) || jwt.Looks(text) }

// tokenOf returns the option for the token of the client in c's flags or in the environment; nil without one. A file is
// read once to check it, and again for each connection and call.
func tokenOf(c *cli.Command) (client.Option, error) {
	if path := c.String("token-file"); path != "" {
		absolute, err := filepath.Abs(path) // the keeper of acquire changes its folder
		if err != nil {
			return nil, fmt.Errorf("find the folder of %q: %w", path, err)
		}
		file := tokenFile{absolute, c.Bool("insecure-files")}
		if _, err := file.read(); err != nil {
			return nil, misconfigured("%s: --token-file %q: %w", calledAs(c), path, err)
		}
		return client.TokenSource(func(context.Context) (string, error) {
			secret, err := file.read()
			if err != nil {
				return "", fmt.Errorf("--token-file %q: %w", absolute, err)
			}
			return secret, nil
		}), nil
	}
	secret := strings.TrimSpace(os.Getenv(tokenVariable))
	switch {
	case secret == "" || isNumber(secret):
		return nil, nil
	case !isBearer(secret):
		return nil, misconfigured("%s: variable %s has neither the token of a client (hft_…, or a JWT) nor that of a lock (a number); set it to one of these, or unset it",
			calledAs(c), tokenVariable)
	}
	if err := checkBearer(secret); err != nil {
		return nil, misconfigured("%s: variable %s: %w", calledAs(c), tokenVariable, err)
	}
	return client.Token(secret), nil
}

// checkBearer returns why no member would accept a client's token. The error does not repeat it.
func checkBearer(secret string) error {
	if token.Looks(secret) {
		_, err := token.SumOf(secret)
		return err
	}
	return client.CheckToken(secret)
}

// isNumber reports whether a text is the token of a lock.
func isNumber(text string) bool {
	_, err := holdfast.ParseToken(text)
	return err == nil
}

// lockTokenSource returns the source of a flag --token: its variable, unless that has a client's token.
func lockTokenSource() cli.ValueSourceChain {
	chain := variables("token")
	for i, source := range chain.Chain {
		chain.Chain[i] = lockToken{source}
	}
	return chain
}

// lockToken is a variable that may have the token of a lock.
type lockToken struct{ cli.ValueSource }

// Lookup returns the token of a lock. Another text is reported without being shown: it may be a part of a secret.
func (s lockToken) Lookup() (string, bool) {
	text, found := s.ValueSource.Lookup()
	switch {
	case found && isBearer(strings.TrimSpace(text)):
		return "", false
	case found && text != "" && !isNumber(text):
		return "(not shown)", true
	}
	return text, found
}

// IsFromEnv makes the help show the variable.
func (lockToken) IsFromEnv() bool { return true }

// Key returns the variable.
func (lockToken) Key() string { return tokenVariable }

// tokenFile is a file with a client's token.
type tokenFile struct {
	path     string
	insecure bool // other users may access it
}

// mostTokenFile bounds the file, in bytes: a token with some white space around it.
const mostTokenFile = 32 << 10

// read returns the token. The error does not name the file.
func (f tokenFile) read() (string, error) {
	data, _, err := follow.Read(f.path, mostTokenFile, f.accept, time.Time{})
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	return secret, checkBearer(secret)
}

// accept returns why the file is not read.
func (f tokenFile) accept(info fs.FileInfo) error {
	if err := follow.Regular(info); err != nil {
		return fmt.Errorf("%w; it is read again for each connection, so a pipe does not do", err)
	}
	if wrong := private.OfFile(f.path, info); wrong != nil && !f.insecure {
		return errors.New(wrong.Reason())
	}
	return nil
}
