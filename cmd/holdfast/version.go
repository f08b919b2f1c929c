package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// versionCommand prints build information.
func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version",
		UsageText: name + " version [--output FORMAT]",
		Flags:     deedFlags(),
		Action: func(_ context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return p.printVersion(p.output(c))
		},
	}
}

// version returns the module's build version; "devel" outside a release.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func (p *program) printVersion(o *output) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if o.format != formatTable {
		return o.document(struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{version(), runtime.Version(), platform})
	}
	return written(fmt.Fprintln(p.stdout, name, version(), runtime.Version(), platform))
}
