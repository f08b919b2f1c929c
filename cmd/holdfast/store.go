package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
	"github.com/holdfast-locks/holdfast/storelock"
)

// storeCommand shows the settings stored in a store with the locks.
func (p *program) storeCommand() *cli.Command {
	return group("store", "show or forget the settings that a store keeps with the locks (protocol claim)", name+" store show|forget-settings URL [flags]",
		p.storeShowCommand(), p.storeForgetCommand())
}

func (p *program) storeShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show the lock settings kept in a store",
		UsageText: name + " store show URL [--store-options OPTION=VALUE[,…]] [--output FORMAT] [flags]",
		Description: "A process that locks in a store compares its settings with those kept there, and is refused if they differ.\n" +
			"\"agreed\" settings are in force; \"asked\" settings belong to a process that is just starting, or that ended\n" +
			"before they were agreed. With --store-options it reports whether a process with these options would be\n" +
			"refused, and exits with 78 if so.\n" +
			"Process lists show a password in a URL: put such a URL into $HOLDFAST_STORE.",
		Flags: settingsFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			return p.withSettings(ctx, c, func(_ context.Context, _ storage.Store, found *storedSettings) error {
				return p.showSettings(c, found)
			})
		},
	}
}

func (p *program) storeForgetCommand() *cli.Command {
	return &cli.Command{
		Name:      "forget-settings",
		Usage:     "delete the lock settings kept in a store, so that they can change",
		UsageText: name + " store forget-settings URL [--confirm CODE] [--store-options OPTION=VALUE[,…]] [--output FORMAT] [flags]",
		Description: "The next process that locks in the store writes its own settings there, and all others must have the same.\n" +
			"The locks and their tokens stay as they are.\n" +
			"\n" +
			"THE DANGER: a process that still runs keeps its old settings, and two processes with different settings can\n" +
			"both get one lock. The store does not know its users. First stop all of them, members with such spaces and\n" +
			"commands alike, and wait until their locks have expired.\n" +
			"\n" +
			"On a terminal the command asks whether they are stopped. Without a terminal, a first run prints what would\n" +
			"be removed and a code, changes nothing, and exits with 64; a second run with --confirm CODE does it, unless\n" +
			"the settings have changed meanwhile. With --store-options, nothing is removed if those are in force already.\n" +
			"Process lists show a password in a URL: put such a URL into $HOLDFAST_STORE.",
		Flags: append([]cli.Flag{textFlag("confirm", "`CODE` that a first run has printed: go ahead")}, settingsFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			return p.withSettings(ctx, c, func(ctx context.Context, store storage.Store, found *storedSettings) error {
				return p.forgetSettings(ctx, c, store, found)
			})
		},
	}
}

// settingsFlags select the store, and the settings to compare.
func settingsFlags() []cli.Flag {
	flags := lockStoreFlags()
	flags[0] = textFlag("store", "`URL` of the store, instead of the argument: postgres://…, redis://…, etcd://…, cassandra://…, or /FOLDER")
	return slices.Concat(flags, tableFlags(), []cli.Flag{durationFlag("timeout", askTimeout, "how long to wait for the store's answer")})
}

// storedSettings are the settings stored with the locks, and the user's wanted ones. It is the document of --output.
type storedSettings struct {
	Store    string          `json:"store"`
	Settings []storeSettings `json:"settings"`
	Wanted   string          `json:"wanted,omitempty"` // from --store-options
	Matches  *bool           `json:"agrees,omitempty"` // whether a process with those would be accepted
	Code     string          `json:"code,omitempty"`   // for --confirm
	Forgot   bool            `json:"forgotten,omitempty"`
}

type storeSettings struct {
	Settings string `json:"settings"`
	State    string `json:"state"` // agreed or asked
	By       string `json:"by"`
}

// storeOf parses the store for c. The options are nil if none were given.
func (p *program) storeOf(c *cli.Command) (url string, wanted protocol.Options, err error) {
	called, options := calledAs(c), c.String("store-options")
	url = c.Args().First()
	switch {
	case c.Args().Len() > 1:
		return "", nil, usageError(called, "give one store, not %d", c.Args().Len())
	case url != "" && p.typed("store"):
		return "", nil, usageError(called, "a store is given by an argument and by --store; give it once")
	case url == "":
		url = c.String("store")
	}
	if url == "" {
		return "", nil, usageError(called, "no store given; name its URL, as in '%s %s redis://localhost', or set %s", name, called, storeVariable)
	}
	claims, err := config.StoreSettings(url, options)
	switch {
	case err != nil:
		return "", nil, misconfigured("%s: %w", called, err)
	case strings.TrimSpace(options) == "":
		return url, nil, nil
	}
	// Options that are not given have their defaults, as in a process that starts; its name does not matter.
	if err := claims.Resolve(&protocol.Setup{Space: holdfast.DefaultSpace, Process: name}); err != nil {
		return "", nil, misconfigured("%s: %w", called, err)
	}
	return url, claims, nil
}

// withSettings opens the store for c, reads the settings, and passes them to a function, within --timeout.
func (p *program) withSettings(ctx context.Context, c *cli.Command, do func(context.Context, storage.Store, *storedSettings) error) (err error) {
	url, wanted, err := p.storeOf(c)
	if err != nil {
		return err
	}
	limit, err := timeoutOf(c)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, calledAs(c), url, limit)
	if err != nil {
		return err
	}
	defer func() {
		if closing := store.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("%s: close store %s: %w", calledAs(c), open.Redacted(url), closing))
		}
	}()
	reading, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	written, err := storelock.StoredSettings(reading, store)
	if err != nil {
		return unanswered(ctx, c, open.Redacted(url), err)
	}
	return do(ctx, store, settingsIn(open.Redacted(url), written, wanted))
}

// unanswered gives an error of a request to a store its exit code.
func unanswered(ctx context.Context, c *cli.Command, where string, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err() // ended by a signal
	case errors.Is(err, storage.ErrInvalid):
		return misconfigured("%s: store %s: %w", calledAs(c), where, err)
	}
	return &exitError{exitUnavailable, fmt.Errorf("%s: store %s: %w: %w", calledAs(c), where, holdfast.ErrUnavailable, err)}
}

// settingsIn combines the stored settings with their comparison with the wanted ones.
func settingsIn(where string, written []storelock.Written, wanted protocol.Options) *storedSettings {
	b := &storedSettings{Store: where, Settings: []storeSettings{}}
	matches := true
	if wanted != nil {
		b.Wanted, b.Matches = wanted.Settings(), &matches
	}
	for _, w := range written {
		state := "asked"
		if w.Accepted {
			state = "agreed"
			matches = matches && w.Settings == b.Wanted
		}
		b.Settings = append(b.Settings, storeSettings{w.Settings, state, w.RID})
	}
	return b
}

// holds reports whether the wanted settings are already in force, with no other requested.
func (b *storedSettings) holds() bool {
	return b.Matches != nil && *b.Matches &&
		slices.ContainsFunc(b.Settings, func(s storeSettings) bool { return s.State == "agreed" }) &&
		!slices.ContainsFunc(b.Settings, func(s storeSettings) bool { return s.Settings != b.Wanted })
}

// code identifies the stored settings: a user that confirms it has seen them, and nothing else is removed.
func (b *storedSettings) code() string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, b.Store, b.Settings)))[:8]
}

func (p *program) showSettings(c *cli.Command, b *storedSettings) error {
	if err := p.printSettings(c, b); err != nil || b.Matches == nil || *b.Matches {
		return err
	}
	return misconfigured("%s: store %s: a process with %q would be refused; start it with what is agreed or, when the locks are not in use, remove that: %s store forget-settings",
		calledAs(c), b.Store, b.Wanted, name)
}

// printSettings prints the stored settings, or that there are none.
func (p *program) printSettings(c *cli.Command, b *storedSettings) error {
	o := p.output(c)
	switch {
	case o.format != formatTable:
		return o.document(b)
	case len(b.Settings) == 0:
		return written(fmt.Fprintf(p.stdout, "%s keeps no settings: the first process to start writes its own.\n", visible(b.Store)))
	}
	t := newTable("STORE", "STATE", "BY", "SETTINGS").states("STATE")
	for _, s := range b.Settings {
		t.row(b.Store, s.State, s.By, s.Settings)
	}
	return o.print(t)
}

// forgetSettings has the caller confirm the removal of the settings, and removes them.
func (p *program) forgetSettings(ctx context.Context, c *cli.Command, store storage.Store, b *storedSettings) error {
	if len(b.Settings) == 0 || b.holds() {
		return p.printSettings(c, b) // nothing to do
	}
	switch given := strings.TrimSpace(c.String("confirm")); {
	case c.IsSet("confirm") && given == "":
		return usageError(calledAs(c), "flag --confirm is empty: give the code that a run without it prints")
	case given == "":
		b.Code = b.code()
		if err := p.printSettings(c, b); err != nil {
			return err
		}
		if err := p.confirmForgetting(c, b); err != nil {
			return err
		}
	case given != b.code():
		return &holdfast.Error{Op: calledAs(c), Err: fmt.Errorf("%w: --confirm %s is not the code of the current settings of store %s; run it again without --confirm to see them", holdfast.ErrConflict, given, b.Store)}
	}
	limit, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := storelock.ForgetSettings(ctx, store); err != nil {
		return unanswered(ctx, c, b.Store, err)
	}
	b.Code, b.Wanted, b.Matches, b.Forgot = "", "", nil, true
	if o := p.output(c); o.format != formatTable {
		return o.document(b)
	}
	return written(fmt.Fprintf(p.stdout, "The settings of %s are forgotten: the first process to start writes its own.\n", visible(b.Store)))
}

// confirmForgetting asks, or explains how to confirm without a terminal.
func (p *program) confirmForgetting(c *cli.Command, b *storedSettings) error {
	if !p.interactive(c) {
		return usageError(calledAs(c), "nothing was changed: the command asks whether all users of the store are stopped, and this is no terminal; if they are, run it again with --confirm %s", b.Code)
	}
	answer, err := p.question(bufio.NewReader(p.stdin), "THE DANGER: if a process still locks there, two can hold one lock.\nAre all these processes stopped? (yes or no) ")
	if err != nil {
		return err
	}
	if strings.ToLower(answer) != "yes" {
		return &exitError{exitUsage, fmt.Errorf("%s: %w", calledAs(c), errNotConfirmed)}
	}
	return nil
}
