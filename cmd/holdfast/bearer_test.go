package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/access/token"
)

// TestKeepersToken: the keeper and the heir have the client's token, and no other of our variables.
func TestKeepersToken(t *testing.T) {
	secret, _ := token.New()
	const jot = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"
	for value, want := range map[string]bool{secret: true, jot: true, "12": false, "": false, "secret": false} {
		p := &program{environ: []string{
			"HOME=/root", "HOLDFAST_SESSION=a.b", tokenVariable + "=" + value, tokenVariable + "_FILE=x", "HOLDFAST_STORE=redis://:secret@r",
		}}
		wanted := []string{"HOME=/root"}
		if want {
			wanted = append(wanted, tokenVariable+"="+value)
		}
		if got := p.keeperEnvironment(); !slices.Equal(got, wanted) {
			t.Errorf("the environment is %q, want %q", got, wanted)
		}
	}
}

// TestKeepersTokenFile: the keeper and the heir are given the file by its whole path, and what is accepted of it.
func TestKeepersTokenFile(t *testing.T) {
	t.Chdir(t.TempDir())
	var got []string
	p := &program{}
	c := p.heirCommand()
	c.Action = func(_ context.Context, c *cli.Command) (err error) {
		got, err = memberArguments(c)
		return err
	}
	if err := c.Run(t.Context(), []string{"heir", "--token-file", "ci.token", "--insecure-files"}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !strings.HasPrefix(got[0], "--token-file=/") || !strings.HasSuffix(got[0], "/ci.token") || got[1] != "--insecure-files=true" {
		t.Errorf("the arguments are %q", got)
	}
}
