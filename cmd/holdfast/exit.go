package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/internal/printable"
)

// The exit codes that do not come from a member's error.
const (
	exitFree          = 3  // show: no client holds the name
	exitUsage         = 64 // the command line
	exitBadData       = 65 // a bad name or spec
	exitUnavailable   = 69 // no member reachable
	exitInternal      = 70 // not expected
	exitDenied        = 77 // authentication, permission
	exitDeadlock      = 80 // explain: a deadlock
	exitConfiguration = 78 // configuration or TLS material
)

// exitError is an error with its exit code. Without err the program ends silently.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is an exitError about the use of a command. It adds a hint to the command's help.
func usageError(command, format string, arguments ...any) error {
	hint := name + " help"
	if command != "" && command != name {
		format = command + ": " + format
		hint = name + " " + command + " --help"
	}
	return &exitError{exitUsage, fmt.Errorf(format+"; see '"+hint+"'", arguments...)}
}

// misconfigured is an exitError about configuration or key material.
func misconfigured(format string, arguments ...any) error {
	return &exitError{exitConfiguration, fmt.Errorf(format, arguments...)}
}

// exitCode returns the code for an error; 0 for nil.
func exitCode(err error) int {
	var known *exitError
	var configuration *config.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &configuration):
		return exitConfiguration
	}
	return api.ExitCode(api.Code(err), holdfast.Why(err))
}

// end prints the error, and returns the exit code. An error of several lines (a configuration with several problems)
// becomes a sentence each.
func (p *program) end(err error) int {
	var known *exitError
	if errors.As(err, &known) && known.err == nil {
		return known.code
	}
	if err != nil {
		for line := range strings.Lines(err.Error() + advice(err)) {
			p.say("%s", plain(strings.TrimSuffix(line, "\n")))
		}
	}
	return exitCode(err)
}

// advice returns the end of a sentence with what to do about a denied call, if the sentence does not say it.
func advice(err error) string {
	text := err.Error()
	switch {
	case !errors.Is(err, holdfast.ErrDenied), !strings.Contains(text, " lacks the verb "), strings.Contains(text, "without an access file"):
		return ""
	case api.Code(err) == api.CodeUnauthenticated:
		return "; identify this client with --token-file FILE, or over TLS with --tls-cert FILE"
	}
	return "; '" + name + " access show' shows what this client may do"
}

// plain rewords libraries' errors about connections in plain words. The sentence around it names the address.
func plain(sentence string) string {
	for _, known := range []struct{ pattern, instead string }{
		{`rpc error: code = \w+ desc = `, ""},
		{`connection error: desc = "((?:[^"\\]|\\.)*)"`, "$1"},
		{`transport: Error while dialing: `, ""},
		{`\bdial (?:tcp|unix)(?: [^ ]+)?: (?:connect: |lookup )?`, ""},
		{`\b(?:read|write) (?:tcp|unix) [^ ]+: (?:read: |write: )?`, ""},
		{`error reading server preface: .*`, "it closed the connection at once; a member with TLS needs --tls-ca FILE"},
		{`error reading from server: .*`, "the connection has ended"},
		{`transport: authentication handshake failed: `, "TLS handshake: "},
		{`tls: first record does not look like a TLS handshake`, "it does not speak TLS; leave the TLS flags out"},
		{`context deadline exceeded`, "no answer in time"},
	} {
		sentence = regexp.MustCompile(known.pattern).ReplaceAllString(sentence, known.instead)
	}
	return sentence
}

// say prints one sentence on standard error, without what would control the terminal.
func (p *program) say(format string, arguments ...any) {
	// If standard error fails, there is no way left to report that.
	_, _ = fmt.Fprintln(p.stderr, printable.Text(fmt.Sprintf(name+": "+format, arguments...)))
}

// classify turns the parser's own errors into usage errors. The parser does not pass every error to its handler: those
// of variables are returned directly.
func (p *program) classify(err error, args []string) error {
	if err == nil || !fromVariable().MatchString(err.Error()) {
		return err
	}
	command := ""
	if len(args) > 1 {
		command = args[1]
	}
	return parseError(nil, command, err)
}

// The parser's errors can be recognized only by their texts.
var (
	fromVariable = pattern(`^could not parse (".*") as .* value from environment variable "(\w+)" for flag ([\w-]+): `)
	badValue     = pattern(`^invalid value (".*") for flag -([\w-]+): (.*)$`)
	unknownFlag  = pattern(`^flag provided but not defined: -(.*)$`)
	withoutValue = pattern(`^flag needs an argument: -*(.*)$`)
	notSet       = pattern(`^Required flags? "(.*)" not set$`)
)

// pattern compiles a regular expression when it is first needed: most commands need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// parseError rewords an error of the parser.
func parseError(c *cli.Command, command string, err error) error {
	var known *exitError
	if errors.As(err, &known) {
		return err
	}
	text := err.Error()
	if m := fromVariable().FindStringSubmatch(text); m != nil {
		return usageError(command, "variable %s: %s is no value of --%s", m[2], m[1], m[3])
	}
	if m := badValue().FindStringSubmatch(text); m != nil {
		return usageError(command, "flag %s: %s: %s", dashed(m[2]), m[1], why(m[3]))
	}
	if m := unknownFlag().FindStringSubmatch(text); m != nil {
		return usageError(command, "there is no flag %s%s", dashed(m[1]), suggestion(m[1], flagNames(c), dashed))
	}
	if m := withoutValue().FindStringSubmatch(text); m != nil {
		return usageError(command, "flag %s needs a value", dashed(m[1]))
	}
	if m := notSet().FindStringSubmatch(text); m != nil {
		return usageError(command, "flag %s is missing", dashed(m[1]))
	}
	return usageError(command, "%v", err)
}

func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

// why returns the fault of a value, without the names of Go's functions.
func why(reason string) string {
	switch {
	case strings.HasPrefix(reason, "time: "):
		return "want a duration, as in 500ms, 10s or 1m30s"
	case strings.HasPrefix(reason, "strconv."):
		return "want a number"
	case reason == "parse error":
		return "want true or false"
	case reason == "can't duplicate this flag":
		return "it may be given once"
	}
	return reason
}

// withoutCommand handles arguments that name no command.
func (p *program) withoutCommand(_ context.Context, c *cli.Command) error {
	if c.Bool("version") {
		return p.printVersion(p.screen())
	}
	if !c.Args().Present() {
		return cli.ShowRootCommandHelp(c.Root())
	}
	return noCommand(c, c.Args().First())
}

// noCommand refuses an unknown command.
func noCommand(root *cli.Command, word string) error {
	return usageError("", "there is no command %q%s", word, suggestion(word, commandNames(root), strconv.Quote))
}

// suggestion returns the candidate that is most like a mistyped word, in parentheses, or "" if none is like it.
func suggestion(word string, candidates []string, shown func(string) string) string {
	near := config.Nearest(word, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", shown(near))
}

// commandNames returns the names of the commands that help lists.
func commandNames(root *cli.Command) (names []string) {
	for _, command := range root.Commands {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}

// flagNames returns the long names of the flags of a command, and of those above it. A nil command has none.
func flagNames(c *cli.Command) (names []string) {
	if c == nil {
		return nil
	}
	for _, command := range c.Lineage() {
		for _, flag := range command.Flags {
			names = append(names, flag.Names()[0])
		}
	}
	return names
}
