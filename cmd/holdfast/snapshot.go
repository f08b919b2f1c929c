package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// snapshotCommand saves durable spaces, and restores them.
func (p *program) snapshotCommand() *cli.Command {
	return group("snapshot", "save a lockspace to a file, or restore it into a new data folder (protocol consensus)", name+" snapshot save FILE | restore FILE… --data DIR [flags]",
		p.snapshotSaveCommand(), p.snapshotRestoreCommand())
}

func (p *program) snapshotSaveCommand() *cli.Command {
	return &cli.Command{
		Name:      "save",
		Usage:     "write a lockspace of a running cluster to a file",
		UsageText: name + " snapshot save FILE [--space SPACE] [--replace] [--output FORMAT] [flags]",
		Description: "FILE has everything that was acknowledged before the call. Clients go on locking meanwhile. FILE appears only\n" +
			"when it is complete, verified and on the disk, and only its owner can read it. It contains the names of locks,\n" +
			"their holders and their waiters.\n" +
			"\n" +
			"  " + name + " snapshot save --space billing billing.snapshot",
		Flags:  clientFlags(append(deedFlags(), switchFlag("replace", "replace FILE if it exists"))...),
		Action: p.saveSnapshot,
	}
}

func (p *program) saveSnapshot(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 || c.Args().First() == "" {
		return usageError(calledAs(c), "want one file, got %d arguments", c.Args().Len())
	}
	file, space := c.Args().First(), spaceOf(c)
	if _, err := os.Lstat(file); err == nil && !c.Bool("replace") {
		return errFileThere(c, file)
	}
	var saved *snapshot.Summary
	err := askLong(ctx, c, func(ctx context.Context, admin *client.Admin) (err error) {
		saved, err = saveFile(file, c.Bool("replace"), func(to io.Writer) error {
			return reworded(calledAs(c), "", admin.Snapshot(ctx, space, to))
		})
		if errors.Is(err, fs.ErrExist) {
			return errFileThere(c, file)
		}
		return err
	})
	o := p.output(c)
	switch {
	case err != nil:
		return err
	case o.format != formatTable:
		return o.document(saved)
	}
	_, err = fmt.Fprintf(p.stdout, "saved space %q of cluster %s: %d held, %d waiting, reign %d, %d bytes, in %s\n",
		saved.Space, saved.Cluster, saved.Holds, saved.Waiters, saved.Reign, saved.Bytes, file)
	return err
}

func errFileThere(c *cli.Command, file string) error {
	return usageError(calledAs(c), "file %s exists; give another name, or --replace", file)
}

// saveFile writes a snapshot under a temporary name, and renames it when it is complete and on disk.
func saveFile(file string, replace bool, write func(io.Writer) error) (saved *snapshot.Summary, err error) {
	folder := filepath.Dir(file)
	f, err := os.CreateTemp(folder, filepath.Base(file)+".saving-*") // readable only by its owner
	if err != nil {
		return nil, fmt.Errorf("make a file for a snapshot: %w", err)
	}
	defer func() {
		if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("remove what was not saved: %w", gone))
		}
	}()
	saved, err = func() (*snapshot.Summary, error) {
		if err := write(f); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("write snapshot %s: %w", file, err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read snapshot %s: %w", file, err)
		}
		return snapshot.Read(f)
	}()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if replace {
		err = os.Rename(f.Name(), file)
	} else {
		err = os.Link(f.Name(), file) // which, unlike a rename, replaces nothing
	}
	if err != nil {
		return nil, fmt.Errorf("name snapshot %s: %w", file, err)
	}
	if err := cell.SyncFolder(folder); err != nil {
		return nil, fmt.Errorf("sync folder %s: %w", folder, err)
	}
	return saved, nil
}

func (p *program) snapshotRestoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "make a data folder from snapshots, for the first member of a new cluster",
		UsageText: name + " snapshot restore FILE… --data DIR [--above TOKEN] [--grace D] [--output FORMAT]",
		Description: "Asks no member. DIR must be new or empty. Each FILE is one space of the same cluster. Then start the member\n" +
			"with `" + name + " serve --data DIR` and the spaces it had: it is the first member of a new cluster. Stop all\n" +
			"members of the old cluster first: two clusters with one space would both grant its locks.\n" +
			"\n" +
			"Afterwards no lock is held, and no session lives. Tokens are higher than all tokens given before, including\n" +
			"those given after the snapshot: they count from this machine's clock, which must not have been set back. If\n" +
			"it may have been, give the highest known token with --above.\n" +
			"\n" +
			"At first nothing is granted for --grace and 5 % more, because clients of the old cluster may still believe in\n" +
			"their locks. The default is as long as the old cluster allowed; 0 says that no such client is left. Apart\n" +
			"from 0, --grace cannot be shorter than the longest TTL of a session in FILE, which the output names.\n" +
			"\n" +
			"  " + name + " snapshot restore billing.snapshot --data /var/lib/holdfast\n" +
			"\n" +
			"Exits with 65 if a FILE is damaged or no snapshot, and with 78 if DIR is not empty or cannot be made.",
		Flags: append(deedFlags(),
			// $HOLDFAST_DATA is the data folder of a running member.
			&cli.StringFlag{Name: "data", Usage: "`DIR` that is made"},
			textFlag("above", "highest known `TOKEN`"),
			durationFlag("grace", 0, "how long clients of the old cluster may still believe in their locks; 0 if none is left"),
		),
		Action: func(_ context.Context, c *cli.Command) error {
			order, err := restoreOf(c)
			if err != nil {
				return err
			}
			return p.restoreSnapshot(c, order)
		},
	}
}

// restoreOf parses the flags.
func restoreOf(c *cli.Command) (*host.Restore, error) {
	order := &host.Restore{Files: c.Args().Slice(), Data: c.String("data"), Grace: c.Duration("grace")}
	switch {
	case len(order.Files) == 0:
		return nil, usageError(calledAs(c), "name a file, as in '%s snapshot restore billing.snapshot --data DIR'", name)
	case order.Data == "":
		return nil, usageError(calledAs(c), "flag --data is missing: give a folder to create")
	case order.Grace < 0:
		return nil, usageError(calledAs(c), "flag --grace: %v: want 0 or more", order.Grace)
	case c.IsSet("grace") && order.Grace == 0:
		order.Grace = host.NoGrace
	}
	if text := c.String("above"); text != "" {
		token, err := strconv.ParseUint(text, 10, 64)
		if err != nil || token == 0 {
			return nil, usageError(calledAs(c), "flag --above: %q: want a token, as `%s show` prints it", text, name)
		}
		order.Above = holdfast.Token(token)
	}
	return order, nil
}

func (p *program) restoreSnapshot(c *cli.Command, order *host.Restore) error {
	restored, err := order.Run()
	o := p.output(c)
	switch {
	case errors.Is(err, snapshot.ErrInvalid):
		return &exitError{exitBadData, fmt.Errorf("%s: %w", calledAs(c), err)}
	case err != nil:
		return misconfigured("%s: %w", calledAs(c), err)
	case o.format != formatTable:
		return o.document(restored)
	}
	for i := range restored.Spaces {
		s := &restored.Spaces[i]
		_, err := fmt.Fprintf(p.stdout, "restored space %q of cluster %s, saved at %v: tokens above %d, and nothing is granted for the first %v\n",
			s.Space, s.Cluster, s.Saved, s.Above<<32, time.Duration(s.Grace))
		if err != nil {
			return err
		}
	}
	if order.Grace == 0 {
		if err := p.printShorterGrace(restored); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(p.stdout, "start the member: %s serve --data %s\n", name, restored.Data)
	return err
}

// printShorterGrace explains how to shorten the wait of a restore without --grace. That wait is the maximum TTL of the
// former cluster, a day by default: a session opened after the snapshot may have had that much.
func (p *program) printShorterGrace(restored *host.Restored) error {
	var longest api.Duration
	for i := range restored.Spaces {
		longest = max(longest, restored.Spaces[i].Longest)
	}
	if longest > 0 {
		_, err := fmt.Fprintf(p.stdout, "the longest TTL of a session in the snapshots is %v: where no client has asked for a longer one since, restore into another folder with --grace %v\n",
			time.Duration(longest), time.Duration(longest))
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(p.stdout, "where every client of the former cluster has stopped, restore into another folder with --grace 0: then locks are granted at once")
	return err
}
