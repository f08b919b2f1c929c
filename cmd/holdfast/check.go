package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// checkCommand verifies a member's data and its configuration.
func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify the data folder of a stopped member, or the files of its configuration",
		UsageText: name + " check [DIR] [--config FILE]",
		Description: "Reads everything in DIR (serve --data DIR), changes nothing, and prints a line for each fault.\n" +
			"Exits with 0 if there is none, with 65 if there is one, and with 78 if DIR is no data folder or is in use.\n" +
			"\n" +
			"With --config it reads FILE and the environment as serve does, then the access file and the file of tokens that\n" +
			"they name, and prints a line for each fault and for each assertion of the access file that does not hold. Exits\n" +
			"with 78 if there is one. The member need not be stopped for that.",
		Flags: []cli.Flag{
			// Its variable is that of serve, which does not ask for a check.
			&cli.StringFlag{Name: "config", Usage: "the configuration `FILE` of serve"},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 1 || c.Args().Len() == 0 && c.String("config") == "" {
				return usageError(calledAs(c), "want one folder, got %d arguments", c.Args().Len())
			}
			var configuration, data error
			if c.String("config") != "" {
				configuration = p.checkConfiguration(c, c.String("config"))
			}
			if c.Args().Present() {
				data = p.check(c.Args().First())
			}
			if configuration != nil && data != nil {
				p.end(configuration)
				return data
			}
			return cmp.Or(configuration, data)
		},
	}
}

// checkConfiguration reads a configuration, and the files of access control that it names.
func (p *program) checkConfiguration(c *cli.Command, path string) error {
	settings, err := config.Load(config.Sources{Flags: map[string]string{"config": path}, Environ: p.environ})
	if err != nil {
		return err
	}
	var faults []string
	if file := settings.Access; file != "" && file != guard.Anyone {
		found, err := accessFaults(c, file)
		if err != nil {
			return err
		}
		faults = append(faults, found...)
		if open := private.CheckRules(file); open != nil && !settings.InsecureFiles {
			faults = append(faults, open.Error())
		}
	}
	if file := settings.TokensFile(settings.State); file != "" {
		if err := token.Open(token.Options{Path: file, Insecure: settings.InsecureFiles}).Fault(); err != nil {
			faults = append(faults, err.Error())
		}
	}
	for _, fault := range faults {
		if err := written(fmt.Fprintln(p.stdout, fault)); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return misconfigured("check: %d faults in the files of %s; a member with them does not start, or keeps its previous policy and tokens", len(faults), path)
	}
	return nil
}

// accessFaults returns what is wrong with an access file, a line each. The error is about reading it.
func accessFaults(c *cli.Command, file string) (faults []string, err error) {
	policy, err := readAccess(c, file)
	var refused *access.Error
	switch {
	case errors.As(err, &refused):
		return strings.Split(refused.Error(), "\n"), nil
	case err != nil:
		return nil, err
	}
	for _, failure := range policy.Test() {
		faults = append(faults, fmt.Sprintf("%s %v", file, failure))
	}
	return faults, nil
}

func (p *program) check(folder string) error {
	found, err := host.CheckData(folder)
	if err != nil {
		return misconfigured("check: %w", err)
	}
	for _, one := range found {
		if _, err := fmt.Fprintln(p.stdout, one); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return &exitError{exitBadData, fmt.Errorf("check: %d faults in %s; replace this member by a new one, or restore the folder as it was when the member stopped", len(found), folder)}
	}
	return nil
}
