package main

import (
	"strconv"
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
func switchFlag(flag, usage string, aliases ...string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: flag, Aliases: aliases, Usage: usage, Sources: variables(flag), HideDefault: true}
}

// durationFlag is a duration flag; a default of 0 is not shown. A number without a unit is seconds, as in flock(1).
func durationFlag(flag string, value time.Duration, usage string, aliases ...string) *timeFlag {
	return &timeFlag{Name: flag, Aliases: aliases, Value: value, Usage: usage, Sources: variables(flag), HideDefault: value == 0}
}

// timeFlag is the type of durationFlag.
type timeFlag = cli.FlagBase[time.Duration, cli.NoConfig, timeValue]

// timeValue parses the value of a timeFlag. It implements cli.ValueCreator and cli.Value.
type timeValue time.Duration

// Create implements cli.ValueCreator.
func (timeValue) Create(value time.Duration, to *time.Duration, _ cli.NoConfig) cli.Value {
	*to = value
	return (*timeValue)(to)
}

// ToString implements cli.ValueCreator.
func (timeValue) ToString(value time.Duration) string { return value.String() }

// Set implements cli.Value.
func (v *timeValue) Set(text string) error {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		*v = timeValue(time.Duration(seconds) * time.Second)
		return nil
	}
	parsed, err := time.ParseDuration(text)
	*v = timeValue(parsed)
	return err
}

// Get implements cli.Value.
func (v *timeValue) Get() any { return time.Duration(*v) }

// String implements cli.Value.
func (v *timeValue) String() string { return time.Duration(*v).String() }

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
		textFlag("token-file", "`FILE` of a token that identifies the client, read again when it changes; or set $"+tokenVariable+" to the token"),
		switchFlag("insecure-files", "accept a --token-file or --tls-key that other users of the machine can access"),
	}
}

// clientFlags are memberFlags, the lockspace, and a command's own flags.
func clientFlags(more ...cli.Flag) []cli.Flag {
	space := textFlag("space", "`NAME` of the lockspace")
	space.DefaultText = "default"
	return append(append(more, space), memberFlags()...)
}
