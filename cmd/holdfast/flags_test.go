package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/config"
)

// A daemon is often started in a shell in which a client is set up, so it must know
// every variable that a client's command reads.
func TestVariablesOfClientsAreKnownToServe(t *testing.T) {
	known := config.OtherVariables()
	for _, key := range config.Keys() {
		known = append(known, key.Env)
	}
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	flags := 0
	for _, command := range withSubcommands(p.commands()) {
		if command.Hidden {
			continue // started by ourselves alone
		}
		for _, flag := range command.Flags {
			documented, ok := flag.(cli.DocGenerationFlag)
			if !ok {
				t.Fatalf("%s: flag %v tells no variables", command.Name, flag.Names())
			}
			variables := documented.GetEnvVars()
			isKey := slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Flag == flag.Names()[0] })
			if len(variables) == 0 && (command.Name == "serve" || isKey) {
				continue // read by the configuration, or something else than the key of that name
			}
			if len(variables) == 0 && slices.Contains(saysTooLittle, command.Name+" --"+flag.Names()[0]) {
				continue
			}
			want := "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag.Names()[0], "-", "_"))
			if !slices.Equal(variables, []string{want}) {
				t.Errorf("%s: flag --%s reads %v, want %s", command.Name, flag.Names()[0], variables, want)
			}
			if !slices.Contains(known, want) {
				t.Errorf("%s: serve does not know %s", command.Name, want)
			}
			flags++
		}
	}
	if flags < 20 {
		t.Errorf("%d flags were looked at", flags)
	}
}

// saysTooLittle has the flags whose variables would not say what they are about.
var saysTooLittle = []string{
	"create --file", "list --file", "revoke --file", // of tokens; access check reads HOLDFAST_FILE
	"init --member", "init --client", "init --days",
}

// A switch has no value, and so its help names none. A rule may follow --as-published.
func TestSwitchesHaveNoValue(t *testing.T) {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	switches := 0
	for _, command := range withSubcommands(p.commands()) {
		for _, flag := range command.Flags {
			is, ok := flag.(*cli.BoolFlag)
			if !ok || is.Name == "as-published" {
				continue
			}
			if switches++; strings.Contains(is.Usage, "`") {
				t.Errorf("%s: the help of switch --%s shows a value: %s", command.Name, is.Name, is.Usage)
			}
		}
	}
	if switches < 20 {
		t.Errorf("%d switches were looked at", switches)
	}
}

func withSubcommands(commands []*cli.Command) []*cli.Command {
	var all []*cli.Command
	for _, command := range commands {
		all = append(append(all, command), withSubcommands(command.Commands)...)
	}
	return all
}

// What is meant for a member is not taken by a command that means something else by it. TLS and the permissions of files
// mean the same in both.
func TestVariablesOfKeysMeanOneThing(t *testing.T) {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	for _, command := range withSubcommands(p.commands()) {
		for _, flag := range command.Flags {
			documented, ok := flag.(cli.DocGenerationFlag)
			if !ok || command.Name == "serve" {
				continue
			}
			for _, variable := range documented.GetEnvVars() {
				at := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Env == variable })
				if at >= 0 && !strings.HasPrefix(variable, "HOLDFAST_TLS_") && variable != "HOLDFAST_INSECURE_FILES" {
					t.Errorf("%s: flag --%s reads %s, which is serve's: %s", command.Name, flag.Names()[0], variable, config.Keys()[at].Help)
				}
			}
		}
	}
}

// Every key of the configuration is a flag of serve.
func TestServeHasEveryKey(t *testing.T) {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	serve := p.serveCommand()
	for _, key := range config.Keys() {
		if !slices.ContainsFunc(serve.Flags, func(f cli.Flag) bool { return f.Names()[0] == key.Flag }) {
			t.Errorf("serve has no flag --%s", key.Flag)
		}
	}
}
