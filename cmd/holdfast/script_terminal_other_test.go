//go:build !linux && !darwin

package main

import "github.com/rogpeppe/go-internal/testscript"

// scriptTerminal has no terminals to run a command on; scripts skip themselves before it.
func scriptTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no pseudo-terminals here")
}

// scriptDialogue has none, either.
func scriptDialogue(ts *testscript.TestScript, neg bool, args []string) {
	scriptTerminal(ts, neg, args)
}
