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
	for _, command := range p.commands() {
		if command.Hidden {
			continue // started by ourselves alone
		}
		for _, flag := range command.Flags {
			documented, ok := flag.(cli.DocGenerationFlag)
			if !ok {
				t.Fatalf("%s: flag %v tells no variables", command.Name, flag.Names())
			}
			variables := documented.GetEnvVars()
			if command.Name == "serve" && len(variables) == 0 {
				continue // read by the configuration
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
