package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// variables returns the environment variable of a client's flag: HOLDFAST_ and its name.
func variables(flag string) cli.ValueSourceChain {
	return cli.EnvVars("HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
}

// recordFlag is a flag for an output file. It has no variable: HOLDFAST_TRACE is a member's trace, and a shell that has
// it set must not have that file overwritten.
func recordFlag(flag, usage string) *cli.StringFlag {
	return &cli.StringFlag{Name: flag, Usage: usage}
}

// textFlag is a text flag. Like the other kinds it has a variable.
func textFlag(flag, usage string, aliases ...string) *cli.StringFlag {
	return &cli.StringFlag{Name: flag, Aliases: aliases, Usage: usage, Sources: variables(flag)}
}

// switchFlag is a flag without a value.
func switchFlag(flag, usage string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: flag, Usage: usage, Sources: variables(flag), HideDefault: true}
}

// durationFlag is a duration flag; a default of 0 is not shown.
func durationFlag(flag string, value time.Duration, usage string) *cli.DurationFlag {
	return &cli.DurationFlag{Name: flag, Value: value, Usage: usage, Sources: variables(flag), HideDefault: value == 0}
}

// countFlag is a whole number flag; a default of 0 is not shown.
func countFlag(flag string, value int, usage string, aliases ...string) *cli.IntFlag {
	return &cli.IntFlag{Name: flag, Aliases: aliases, Value: value, Usage: usage, Sources: variables(flag), HideDefault: value == 0}
}

// askTimeout is the default time limit of a client's command.
const askTimeout = 10 * time.Second

// memberFlags are the flags for the member and the connection.
func memberFlags() []cli.Flag {
	return memberFlagsWith(durationFlag("timeout", askTimeout, "how long to wait for a member's answer"))
}

// memberFlagsWith are memberFlags with another --timeout.
func memberFlagsWith(timeout cli.Flag) []cli.Flag {
	server := textFlag("server", "`ADDRESS` of a member: HOST:PORT[,HOST:PORT…] or unix:///PATH")
	server.DefaultText = defaultServer
	return []cli.Flag{
		server,
		timeout,
		textFlag("tls-ca", "PEM `FILE` of the authorities that signed the members' certificates; turns TLS on"),
		textFlag("tls-cert", "PEM `FILE` of this client's certificate; turns TLS on"),
		textFlag("tls-key", "PEM `FILE` of its private key"),
		textFlag("tls-server-name", "`NAME` in the members' certificates, if it is not the host of --server; turns TLS on"),
		textFlag("token-file", "`FILE` of a token that identifies the client; members of this version take none"),
	}
}

// clientFlags are memberFlags, the lockspace, and a command's own flags.
func clientFlags(more ...cli.Flag) []cli.Flag {
	space := textFlag("space", "`NAME` of the lockspace")
	space.DefaultText = "default"
	return append(append(more, space), memberFlags()...)
}
